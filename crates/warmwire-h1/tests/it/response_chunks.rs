//! Section 7: bodies in chunks, and their trailers.

use bytes::BytesMut;
use warmwire_h1::{Cut, KeepAlive, Limits, Received, ResponseErrorKind, Verdict};

use crate::support::{Outcome, Request, cut, get, receive};

const HEAD: &str = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";

fn chunked(body: &str) -> Outcome {
    get(format!("{HEAD}{body}").as_bytes())
}

fn chunked_within(limits: Limits, body: &str) -> Option<ResponseErrorKind> {
    let response = format!("{HEAD}{body}");
    receive(&mut Request::get().sent_within(limits), [response.as_bytes()]).error_kind()
}

#[test]
fn section_7_1_chunks_of_every_spelling() {
    for body in [
        "5\r\nhello\r\n0\r\n\r\n",
        "2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n",
        "0000000000000005\r\nhello\r\n000\r\n\r\n",
        "5;a=b;c=\"d;e\"\r\nhello\r\n0;last\r\n\r\n",
        "5 \t\r\nhello\r\n0 ; x\r\n\r\n",
    ] {
        let outcome = chunked(body);
        assert_eq!((outcome.error, &outcome.body[..]), (None, &b"hello"[..]), "{body:?}");
        assert_eq!(outcome.verdict, Verdict::Reuse(KeepAlive::default()));
    }
    let upper = chunked("A\r\n0123456789\r\n0\r\n\r\n");
    let lower = chunked("a\r\n0123456789\r\n0\r\n\r\n");
    assert_eq!((upper.error, upper.body), (None, lower.body));
}

#[test]
fn section_7_1_malformed_chunks() {
    use ResponseErrorKind::*;
    for (body, expected) in [
        ("\r\n", InvalidChunkSize),
        (" 5\r\nhello\r\n", InvalidChunkSize),
        ("x\r\n", InvalidChunkSize),
        ("-1\r\n", InvalidChunkSize),
        ("0x5\r\nhello\r\n", InvalidChunkSize),
        ("5 5\r\nhello\r\n", InvalidChunkSize),
        (";a=b\r\n", InvalidChunkSize),
        ("00000000000000005\r\nhello\r\n", InvalidChunkSize),
        ("ffffffffffffffff0\r\n", InvalidChunkSize),
        ("5\nhello\r\n", InvalidChunkLine),
        ("5;a\nhello\r\n", InvalidChunkLine),
        ("5\rhello\r\n", InvalidChunkLine),
        ("5;a\rb\r\nhello\r\n", InvalidChunkLine),
        ("5\r\nhello0\r\n\r\n", InvalidChunkEnd),
        ("5\r\nhello\n0\r\n\r\n", InvalidChunkEnd),
        ("5\r\nhello\r0\r\n\r\n", InvalidChunkEnd),
        ("5\r\nhello!\r\n", InvalidChunkEnd),
        ("0\r\n\n", InvalidTrailer),
        ("0\r\na: b\n\r\n", InvalidTrailer),
        ("0\r\na : b\r\n\r\n", InvalidTrailer),
        ("0\r\n a: b\r\n\r\n", InvalidTrailer),
        ("0\r\na: b\r\n c\r\n\r\n", InvalidTrailer),
        ("0\r\na\r\n\r\n", InvalidTrailer),
        ("0\r\na: \0\r\n\r\n", InvalidTrailer),
    ] {
        assert_eq!(chunked(body).error_kind(), Some(expected), "{body:?}");
    }
}

#[test]
fn a_malformed_chunk_is_quoted_with_its_place() {
    let error = chunked("5\r\nhello\r\nzz\r\n").error.unwrap();
    assert_eq!(error.to_string(), r"malformed chunk size, at byte 10: `zz\r\n`");
}

#[test]
fn size_lines_and_extensions_are_bounded() {
    let limits = Limits { max_chunk_line: 10, max_chunk_extensions: 20, ..Limits::default() };
    assert_eq!(chunked_within(limits, "5;12345678\r\nhello\r\n0\r\n\r\n"), None);
    let too_long = Some(ResponseErrorKind::ChunkLineTooLong);
    assert_eq!(chunked_within(limits, "5;123456789\r\nhello\r\n0\r\n\r\n"), too_long);
    assert_eq!(chunked_within(limits, "5          \r\nhello\r\n0\r\n\r\n"), too_long);

    let chunk = "1;12345\r\nx\r\n";
    assert_eq!(chunked_within(limits, &format!("{}0\r\n\r\n", chunk.repeat(4))), None);
    let too_much = Some(ResponseErrorKind::ChunkExtensionsTooLong);
    assert_eq!(chunked_within(limits, &format!("{}0\r\n\r\n", chunk.repeat(5))), too_much);
}

#[test]
fn section_7_1_2_trailers_are_handed_out_after_the_body() {
    let outcome = chunked("2\r\nok\r\n0\r\nChecksum: abc\r\nx: 1\r\nx: 2\r\n\r\n");
    assert_eq!(outcome.error, None);
    assert_eq!(outcome.trailers["checksum"], "abc");
    assert_eq!(outcome.trailers.get_all("x").iter().count(), 2);
}

#[test]
fn rfc9110_6_5_1_fields_that_frame_or_authorise_are_left_out_of_trailers() {
    let outcome = chunked("0\r\nContent-Length: 5\r\nSet-Cookie: a\r\nfine: 1\r\n\r\n");
    assert_eq!((outcome.error, outcome.trailers.len()), (None, 1));
    let outcome = chunked("0\r\nConnection: close\r\n\r\n");
    assert_eq!((outcome.error, outcome.trailers.len()), (None, 0));
}

#[test]
fn trailers_are_bounded_in_bytes_and_in_lines() {
    let limits = Limits { max_trailer_bytes: 8, ..Limits::default() };
    assert_eq!(chunked_within(limits, "0\r\na: b\r\n\r\n"), None);
    let too_large = Some(ResponseErrorKind::TrailersTooLarge);
    assert_eq!(chunked_within(limits, "0\r\na: bc\r\n\r\n"), too_large);
    let limits = Limits { max_headers: 1, ..Limits::default() };
    assert_eq!(chunked_within(limits, "0\r\na: b\r\nc: d\r\n\r\n"), too_large);
}

#[test]
fn a_cut_says_whether_data_or_trailers_are_missing() {
    assert_eq!(cut(&chunked("")), Some(Cut::Chunks { received: 0 }));
    assert_eq!(cut(&chunked("5\r\nhel")), Some(Cut::Chunks { received: 3 }));
    assert_eq!(cut(&chunked("5\r\nhello\r\n0\r")), Some(Cut::Chunks { received: 5 }));
    assert_eq!(cut(&chunked("5\r\nhello\r\n0\r\n")), Some(Cut::Trailers));
    assert_eq!(cut(&chunked("0\r\na: b\r\n\r")), Some(Cut::Trailers));
}

#[test]
fn what_came_with_the_head_is_decoded_before_what_came_later() {
    let mut exchange = Request::get().sent();
    let mut input = BytesMut::from(&format!("{HEAD}5\r\nhel")[..]);
    assert!(matches!(exchange.decode(&mut input).unwrap(), Some(Received::Head(_))));
    input.extend_from_slice(b"lo\r\n0\r\n\r\n");
    let mut body = Vec::new();
    while let Some(Received::Data(data)) = exchange.decode(&mut input).unwrap() {
        body.extend_from_slice(&data);
    }
    assert_eq!(body, b"hello");
    assert!(exchange.response_complete());
}

#[test]
fn framing_that_came_with_the_head_does_not_hold_up_what_came_later() {
    let mut exchange = Request::get().sent();
    let mut input = BytesMut::from(&format!("{HEAD}5")[..]);
    assert!(matches!(exchange.decode(&mut input).unwrap(), Some(Received::Head(_))));
    input.extend_from_slice(b"\r\nhello");
    let Some(Received::Data(data)) = exchange.decode(&mut input).unwrap() else { panic!() };
    assert_eq!(data, "hello");
}
