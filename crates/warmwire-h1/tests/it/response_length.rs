//! Section 6: where the body of a response ends.

use bytes::BytesMut;
use http::Method;
use warmwire_h1::{BodyKind, CloseReason, Cut, KeepAlive, Received, ResponseErrorKind, Verdict};

use crate::support::{Request, cut, get, receive};

fn body_of(headers: &str, body: &str) -> Result<String, ResponseErrorKind> {
    let outcome = get(format!("HTTP/1.1 200 OK\r\n{headers}\r\n{body}").as_bytes());
    match outcome.error {
        Some(error) => Err(error.kind()),
        None => Ok(String::from_utf8(outcome.body).unwrap()),
    }
}

#[test]
fn section_6_3_content_length_is_one_number() {
    let invalid = Err(ResponseErrorKind::InvalidContentLength);
    for (headers, expected) in [
        ("content-length: 2\r\n", Ok("ok")),
        ("Content-Length:  002 \r\n", Ok("ok")),
        ("content-length: 2, 2\r\n", Ok("ok")),
        ("content-length: 2\r\ncontent-length: 2\r\n", Ok("ok")),
        ("content-length: 2\r\ncontent-length: 02\r\n", Ok("ok")),
        ("content-length: 2, 3\r\n", invalid),
        ("content-length: 2\r\ncontent-length: 3\r\n", invalid),
        ("content-length: 3\r\ncontent-length: 2\r\n", invalid),
        ("content-length: 2,\r\n", invalid),
        ("content-length:\r\n", invalid),
        ("content-length: +2\r\n", invalid),
        ("content-length: -2\r\n", invalid),
        ("content-length: 0x2\r\n", invalid),
        ("content-length: 2 2\r\n", invalid),
        ("content-length: 2;q=1\r\n", invalid),
        ("content-length: \"2\"\r\n", invalid),
        ("content-length: 18446744073709551616\r\n", invalid),
        ("content-length: 2\r\ncontent-length: x\r\n", invalid),
    ] {
        assert_eq!(body_of(headers, "ok"), expected.map(str::to_owned), "{headers:?}");
    }
}

#[test]
fn section_6_1_only_chunked_alone_is_understood() {
    use ResponseErrorKind::{LengthAndEncoding, UnsupportedTransferEncoding};
    let unsupported = Err(UnsupportedTransferEncoding);
    for (headers, expected) in [
        ("transfer-encoding: chunked\r\n", Ok("ok")),
        ("Transfer-Encoding: CHUNKED \r\n", Ok("ok")),
        ("transfer-encoding: gzip, chunked\r\n", unsupported),
        ("transfer-encoding: chunked, gzip\r\n", unsupported),
        ("transfer-encoding: chunked, chunked\r\n", unsupported),
        ("transfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n", unsupported),
        ("transfer-encoding: gzip\r\ntransfer-encoding: chunked\r\n", unsupported),
        ("transfer-encoding: gzip\r\n", unsupported),
        ("transfer-encoding: identity\r\n", unsupported),
        ("transfer-encoding:\r\n", unsupported),
        ("transfer-encoding: ,chunked\r\n", unsupported),
        ("transfer-encoding: \"chunked\"\r\n", unsupported),
        ("transfer-encoding: chunked;a=b\r\n", unsupported),
        ("transfer-encoding: xchunked\r\n", unsupported),
        ("transfer-encoding: \x0bchunked\r\n", Err(ResponseErrorKind::InvalidHeader)),
        ("transfer-encoding: chunked\r\ncontent-length: 2\r\n", Err(LengthAndEncoding)),
        ("content-length: 2\r\ntransfer-encoding: chunked\r\n", Err(LengthAndEncoding)),
        ("content-length: 2\r\ntransfer-encoding: x\r\n", Err(LengthAndEncoding)),
    ] {
        let body = body_of(headers, "2\r\nok\r\n0\r\n\r\n");
        assert_eq!(body, expected.map(str::to_owned), "{headers:?}");
    }
}

#[test]
fn section_6_1_http_1_0_knows_no_transfer_encoding() {
    let outcome = get(b"HTTP/1.0 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n");
    assert_eq!(outcome.error_kind(), Some(ResponseErrorKind::EncodingInHttp10));
}

#[test]
fn section_6_3_some_responses_have_no_body_whatever_they_say() {
    let kept = Verdict::Reuse(KeepAlive::default());
    for framing in ["content-length: 9", "transfer-encoding: chunked", "content-length: x", "a: b"]
    {
        for (method, status) in [
            (Method::HEAD, "200 OK"),
            (Method::HEAD, "404 Not Found"),
            (Method::GET, "204 No Content"),
            (Method::GET, "304 Not Modified"),
            (Method::POST, "204 No Content"),
        ] {
            let response = format!("HTTP/1.1 {status}\r\n{framing}\r\n\r\n");
            let mut exchange = Request::new(method).sent();
            let outcome = receive(&mut exchange, [response.as_bytes()]);
            assert_eq!((outcome.error, outcome.verdict), (None, kept), "{response}");
        }
    }
}

#[test]
fn a_body_of_known_length_is_complete_with_its_last_byte() {
    let mut exchange = Request::get().sent();
    let mut input = BytesMut::from("HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nab");
    let Some(Received::Head(head)) = exchange.decode(&mut input).unwrap() else { panic!() };
    assert_eq!((head.body, head.body.length()), (BodyKind::Length(3), Some(3)));
    exchange.decode(&mut input).unwrap();
    assert_eq!((exchange.remaining(), exchange.response_complete()), (Some(1), false));
    input.extend_from_slice(b"c");
    exchange.decode(&mut input).unwrap();
    assert_eq!((exchange.remaining(), exchange.response_complete()), (Some(0), true));
}

#[test]
fn an_empty_body_is_complete_with_the_head() {
    let mut exchange = Request::get().sent();
    let mut input = BytesMut::from("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
    exchange.decode(&mut input).unwrap();
    assert!(exchange.response_complete());
}

#[test]
fn a_cut_body_says_how_much_came() {
    let outcome = get(b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhello");
    assert_eq!(cut(&outcome), Some(Cut::Body { received: 5, expected: 10 }));
    assert_eq!(outcome.verdict, Verdict::Close(CloseReason::Failed));
    let text = outcome.error.unwrap().to_string();
    assert_eq!(text, "the peer closed after 5 of 10 bytes of the body");
}

#[test]
fn a_huge_length_allocates_nothing_and_is_cut_like_any_other() {
    let outcome = get(b"HTTP/1.1 200 OK\r\ncontent-length: 18446744073709551615\r\n\r\nx");
    assert_eq!(cut(&outcome), Some(Cut::Body { received: 1, expected: u64::MAX }));
}

#[test]
fn a_large_body_comes_whole_in_large_and_in_small_reads() {
    let body: Vec<u8> = (0..200_000u32).map(|i| i as u8).collect();
    let response = [&b"HTTP/1.1 200 OK\r\ncontent-length: 200000\r\n\r\n"[..], &body[..]].concat();
    for size in [200_100, 32_768, 4_097, 4_096, 513, 512, 100] {
        let outcome = receive(&mut Request::get().sent(), response.chunks(size));
        assert_eq!(outcome.error, None);
        assert!(outcome.body == body, "reads of {size} bytes");
    }
}

#[test]
fn a_small_read_leaves_the_buffer_with_the_caller_and_a_large_one_takes_it() {
    let response = |len| {
        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {len}\r\n\r\n");
        [head.into_bytes(), vec![b'x'; len]].concat()
    };
    for (len, keeps) in [(2_000, true), (20_000, false)] {
        let mut input = BytesMut::with_capacity(32 * 1024);
        input.extend_from_slice(&response(len));
        let mut exchange = Request::get().sent();
        exchange.decode(&mut input).unwrap();
        assert!(input.is_empty());
        assert_eq!(input.capacity() == 32 * 1024, keeps, "a body of {len} bytes");
        let Some(Received::Data(data)) = exchange.decode(&mut input).unwrap() else { panic!() };
        assert_eq!(data.len(), len);
    }
}
