//! Section 6 for requests: framing of the body, trailers, `Expect`.

use bytes::BytesMut;
use http::{HeaderMap, Method};
use warmwire_h1::{BodyLength, RequestErrorKind};

use crate::support::{Request, headers, receive};

#[test]
fn rfc9110_8_6_a_length_is_said_where_it_means_something() {
    for (method, length, line) in [
        (Method::GET, BodyLength::None, ""),
        (Method::HEAD, BodyLength::None, ""),
        (Method::DELETE, BodyLength::None, ""),
        (Method::OPTIONS, BodyLength::None, ""),
        (Method::POST, BodyLength::None, "content-length: 0\r\n"),
        (Method::PUT, BodyLength::None, "content-length: 0\r\n"),
        (Method::PATCH, BodyLength::None, "content-length: 0\r\n"),
        (Method::GET, BodyLength::Known(7), "content-length: 7\r\n"),
        (Method::POST, BodyLength::Known(u64::MAX), "content-length: 18446744073709551615\r\n"),
        (Method::POST, BodyLength::Chunked, "transfer-encoding: chunked\r\n"),
    ] {
        let text = Request::new(method.clone()).body(length).text();
        assert!(text.ends_with(&format!("host: example.test\r\n{line}\r\n")), "{text}");
    }
}

#[test]
fn the_callers_framing_headers_must_fit_the_body() {
    use RequestErrorKind::*;
    let refused = |lines: &[(&str, &str)], length| {
        Request::new(Method::POST).with(lines).body(length).refused()
    };
    let known = BodyLength::Known(5);
    let mismatch = |header, body| ContentLengthMismatch { header, body };
    assert_eq!(refused(&[("content-length", "6")], known), mismatch(6, 5));
    assert_eq!(refused(&[("content-length", "6")], BodyLength::None), mismatch(6, 0));
    let twice = [("content-length", "5"), ("content-length", "6")];
    assert_eq!(refused(&twice, known), mismatch(6, 5));
    assert_eq!(refused(&[("content-length", "5")], BodyLength::Chunked), ContentLengthWithChunks);
    assert_eq!(refused(&[("content-length", "+5")], known), InvalidContentLength);
    let gzip = [("transfer-encoding", "gzip, chunked")];
    assert_eq!(refused(&gzip, BodyLength::Chunked), UnsupportedTransferEncoding);
    let chunked = [("transfer-encoding", "chunked")];
    assert_eq!(refused(&chunked, known), TransferEncodingWithoutChunks);
    assert_eq!(refused(&chunked, BodyLength::None), TransferEncodingWithoutChunks);
}

#[test]
fn framing_headers_that_fit_are_written_once() {
    let five = [("content-length", "5"), ("content-length", "5")];
    let text = Request::new(Method::POST).with(&five).body(BodyLength::Known(5)).text();
    assert_eq!(text.matches("content-length").count(), 1, "{text}");
    let chunked = [("transfer-encoding", "Chunked")];
    let text = Request::new(Method::POST).with(&chunked).body(BodyLength::Chunked).text();
    assert_eq!(text.matches("transfer-encoding").count(), 1, "{text}");
}

#[test]
fn rfc9110_9_3_6_connect_has_no_body() {
    let text = Request::new(Method::CONNECT).text();
    assert_eq!(text, "CONNECT example.test:443 HTTP/1.1\r\nhost: example.test\r\n\r\n");
    for length in [BodyLength::Known(0), BodyLength::Known(1), BodyLength::Chunked] {
        let refused = Request::new(Method::CONNECT).body(length).refused();
        assert_eq!(refused, RequestErrorKind::ConnectWithBody);
    }
}

#[test]
fn rfc9110_7_8_an_upgrade_is_named_in_connection() {
    let request = Request::get().with(&[("upgrade", "h2c"), ("connection", "keep-alive")]);
    assert_eq!(request.refused(), RequestErrorKind::UpgradeWithoutConnection);
}

#[test]
fn a_body_of_known_length_is_neither_shorter_nor_longer() {
    let mut exchange = Request::new(Method::PUT).body(BodyLength::Known(5)).sent();
    let mut out = BytesMut::new();
    let frame = exchange.frame(3).unwrap();
    assert!(frame.prefix().is_empty() && frame.suffix().is_empty());
    let short = exchange.finish(None, &mut out).unwrap_err().kind();
    assert_eq!(short, RequestErrorKind::BodyTooShort { declared: 5, framed: 3 });
    let long = exchange.frame(3).unwrap_err().kind();
    assert_eq!(long, RequestErrorKind::BodyTooLong { declared: 5 });
    exchange.frame(2).unwrap();
    exchange.frame(0).unwrap();
    assert_eq!(exchange.frame(1).unwrap_err().kind(), long);
    exchange.finish(Some(&HeaderMap::new()), &mut out).unwrap();
    assert!(out.is_empty());

    exchange.wrote(4);
    assert!(!exchange.request_complete());
    exchange.wrote(1);
    assert!(exchange.request_complete());
}

#[test]
fn section_7_1_chunks_and_trailers() {
    let mut exchange = Request::new(Method::POST).body(BodyLength::Chunked).sent();
    for (len, prefix) in [(1, "1\r\n"), (255, "ff\r\n"), (4096, "1000\r\n")] {
        let frame = exchange.frame(len).unwrap();
        assert_eq!((frame.prefix(), frame.suffix()), (prefix.as_bytes(), &b"\r\n"[..]));
        exchange.wrote(prefix.len() + len + 2);
    }
    let nothing = exchange.frame(0).unwrap();
    assert!(nothing.prefix().is_empty(), "a chunk of no bytes would end the body");
    assert!(!exchange.request_complete());

    let mut out = BytesMut::new();
    let trailers = headers(&[("checksum", "abc")]);
    exchange.finish(Some(&trailers), &mut out).unwrap();
    assert_eq!(out, "0\r\nchecksum: abc\r\n\r\n");
    exchange.wrote(out.len());
    assert!(exchange.request_complete());
    let again = exchange.finish(None, &mut out).unwrap_err().kind();
    assert_eq!(again, RequestErrorKind::OutOfOrder);
}

#[test]
fn the_largest_chunk_has_sixteen_digits() {
    let mut exchange = Request::new(Method::POST).body(BodyLength::Chunked).sent();
    assert_eq!(exchange.frame(usize::MAX).unwrap().prefix(), b"ffffffffffffffff\r\n");
}

#[test]
fn rfc9110_6_5_1_trailers_cannot_frame_or_authorise() {
    for name in ["content-length", "transfer-encoding", "host", "authorization", "keep-alive"] {
        let mut exchange = Request::new(Method::POST).body(BodyLength::Chunked).sent();
        let mut out = BytesMut::new();
        let trailers = headers(&[("fine", "1"), (name, "1")]);
        let refused = exchange.finish(Some(&trailers), &mut out).unwrap_err();
        assert_eq!(refused.kind(), RequestErrorKind::ForbiddenTrailer);
        assert!(refused.to_string().contains(name) && out.is_empty());
    }
    let mut exchange = Request::new(Method::POST).body(BodyLength::Known(0)).sent();
    let trailers = headers(&[("fine", "1")]);
    let refused = exchange.finish(Some(&trailers), &mut BytesMut::new()).unwrap_err().kind();
    assert_eq!(refused, RequestErrorKind::TrailersWithoutChunks);
}

#[test]
fn rfc9110_10_1_1_expect_waits_for_100_a_final_head_or_the_callers_patience() {
    let request = || {
        let expect = Request::new(Method::POST).with(&[("expect", "100-Continue")]);
        let exchange = expect.body(BodyLength::Known(3)).sent();
        assert!(exchange.awaiting_continue());
        exchange
    };
    let mut exchange = request();
    let mut input = BytesMut::from("HTTP/1.1 102 Processing\r\n\r\n");
    while exchange.decode(&mut input).unwrap().is_some() {}
    assert!(exchange.awaiting_continue(), "only a 100 is the server's word");
    input.extend_from_slice(b"HTTP/1.1 100 Continue\r\n\r\n");
    while exchange.decode(&mut input).unwrap().is_some() {}
    assert!(!exchange.awaiting_continue());

    let mut exchange = request();
    receive(&mut exchange, [&b"HTTP/1.1 417 Expectation Failed\r\ncontent-length: 0\r\n\r\n"[..]]);
    assert!(!exchange.awaiting_continue());

    let mut exchange = request();
    exchange.skip_wait_for_continue();
    assert!(!exchange.awaiting_continue());

    let bodiless = Request::get().with(&[("expect", "100-continue")]);
    assert_eq!(bodiless.refused(), RequestErrorKind::ExpectWithoutBody);
    assert!(!Request::new(Method::POST).body(BodyLength::Known(3)).sent().awaiting_continue());
}

#[test]
fn calls_out_of_order_are_refused() {
    let mut exchange = warmwire_h1::Exchange::new(Default::default());
    let out_of_order = RequestErrorKind::OutOfOrder;
    assert_eq!(exchange.frame(1).unwrap_err().kind(), out_of_order);
    assert_eq!(exchange.finish(None, &mut BytesMut::new()).unwrap_err().kind(), out_of_order);
    Request::get().start(&mut exchange).unwrap();
    assert_eq!(Request::get().start(&mut exchange).unwrap_err().kind(), out_of_order);
}
