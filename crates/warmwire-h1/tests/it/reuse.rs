//! Section 9: may the connection be used again, and why not.

use std::time::Duration;

use bytes::BytesMut;
use http::Method;
use warmwire_h1::{BodyLength, CloseReason, KeepAlive, Sent, Verdict};

use crate::support::{Request, get, headers, receive};

fn kept() -> Verdict {
    Verdict::Reuse(KeepAlive::default())
}

#[test]
fn persistence_follows_version_and_connection_header() {
    use CloseReason::{Http10, ServerAsked};
    for (version, connection, expected) in [
        ("HTTP/1.1", "", kept()),
        ("HTTP/1.1", "Connection: keep-alive\r\n", kept()),
        ("HTTP/1.1", "Connection: close\r\n", Verdict::Close(ServerAsked)),
        ("HTTP/1.1", "connection: Keep-Alive, CLOSE\r\n", Verdict::Close(ServerAsked)),
        (
            "HTTP/1.1",
            "Connection: close\r\nConnection: keep-alive\r\n",
            Verdict::Close(ServerAsked),
        ),
        ("HTTP/1.1", "Connection: closed\r\n", kept()),
        ("HTTP/1.0", "", Verdict::Close(Http10)),
        ("HTTP/1.0", "Connection: Keep-Alive\r\n", kept()),
        ("HTTP/1.0", "Connection: keep-alive, close\r\n", Verdict::Close(ServerAsked)),
    ] {
        let response = format!("{version} 200 OK\r\n{connection}Content-Length: 2\r\n\r\nok");
        let outcome = get(response.as_bytes());
        assert_eq!((outcome.error, outcome.verdict), (None, expected), "{response}");
        assert_eq!(outcome.body, b"ok");
    }
}

#[test]
fn a_request_that_asks_to_close_is_obeyed() {
    let mut exchange = Request::get().with(&[("connection", "x, Close")]).sent();
    let outcome = receive(&mut exchange, [&b"HTTP/1.1 204 No Content\r\n\r\n"[..]]);
    assert_eq!(outcome.verdict, Verdict::Close(CloseReason::ClientAsked));
}

#[test]
fn a_body_that_ends_with_the_connection_ends_the_connection() {
    let outcome = get(b"HTTP/1.1 200 OK\r\n\r\nuntil close");
    assert_eq!((outcome.error, &outcome.body[..]), (None, &b"until close"[..]));
    assert_eq!(outcome.verdict, Verdict::Close(CloseReason::UntilClose));
}

#[test]
fn f074_bytes_after_the_response_are_counted_and_never_reused() {
    for (response, surplus) in [
        ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\n\r\n", 19),
        ("HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello", 5),
        ("HTTP/1.1 304 Not Modified\r\n\r\n\r\n", 2),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n!", 1),
    ] {
        let outcome = get(response.as_bytes());
        let expected = Verdict::Close(CloseReason::SurplusBytes(surplus));
        assert_eq!((outcome.error, outcome.verdict), (None, expected), "{response}");
    }
}

#[test]
fn f074_bytes_that_come_later_are_surplus_too() {
    let mut exchange = Request::get().sent();
    let outcome = receive(&mut exchange, [&b"HTTP/1.1 204 No Content\r\n\r\n"[..], b"abc", b"d"]);
    assert_eq!(outcome.verdict, Verdict::Close(CloseReason::SurplusBytes(4)));
}

#[test]
fn f027_an_early_response_waits_for_the_rest_of_the_request() {
    let mut exchange = Request::new(Method::POST).body(BodyLength::Known(10)).sent();
    let response = b"HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\n\r\n";
    let outcome = receive(&mut exchange, [&response[..]]);
    assert!(exchange.response_complete() && !exchange.request_complete());
    assert_eq!(outcome.verdict, Verdict::Close(CloseReason::RequestIncomplete));

    exchange.frame(10).unwrap();
    exchange.wrote(9);
    assert_eq!(exchange.verdict(), Verdict::Close(CloseReason::RequestIncomplete));
    exchange.wrote(1);
    assert_eq!(exchange.verdict(), kept());
}

#[test]
fn the_verdict_before_the_end_names_the_response() {
    let mut exchange = Request::get().sent();
    assert_eq!(exchange.verdict(), Verdict::Close(CloseReason::ResponseIncomplete));
    let mut input = BytesMut::from(&b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no"[..]);
    while exchange.decode(&mut input).unwrap().is_some() {}
    assert_eq!(exchange.remaining(), Some(1));
    assert_eq!(exchange.verdict(), Verdict::Close(CloseReason::ResponseIncomplete));
}

#[test]
fn sent_says_what_the_server_may_have_seen() {
    let mut exchange = Request::get().sent();
    assert_eq!(exchange.sent(), Sent::Maybe);
    exchange.decode(&mut BytesMut::from(&b"H"[..])).unwrap();
    assert_eq!(exchange.sent(), Sent::Yes);
    assert_eq!(warmwire_h1::Exchange::new(Default::default()).sent(), Sent::No);
}

#[test]
fn f008_keep_alive_is_read_in_every_spelling() {
    let seconds = |n| Some(Duration::from_secs(n));
    for (lines, timeout, max) in [
        (&["timeout=5"][..], seconds(5), None),
        (&["Timeout = 2, MAX=5"], seconds(2), Some(5)),
        (&["timeout=\"5\"; max=\" 7 \""], seconds(5), Some(7)),
        (&["timeout=9", "timeout=3, max=8", "max=4"], seconds(3), Some(4)),
        (&["timeout=0, max=0"], seconds(0), Some(0)),
        (&["timeout=99999999999999999999999"], seconds(u32::MAX.into()), None),
        (&["max=99999999999999999999999"], None, Some(u64::MAX)),
        (
            &["timeout=-1", "timeout=5s", "timeout=1.5", "timeout", "=", "timeout=", "\"", ",;,"],
            None,
            None,
        ),
        (&["300"], None, None),
    ] {
        let lines: Vec<_> = lines.iter().map(|line| ("keep-alive", *line)).collect();
        let expected = KeepAlive { timeout, max };
        assert_eq!(KeepAlive::from_headers(&headers(&lines)), expected, "{lines:?}");
    }
}

#[test]
fn f008_the_verdict_carries_the_hint() {
    let outcome =
        get(b"HTTP/1.1 204 No Content\r\nKeep-Alive: timeout=2\r\nKEEP-ALIVE: max=9\r\n\r\n");
    let hint = KeepAlive { timeout: Some(Duration::from_secs(2)), max: Some(9) };
    assert_eq!(outcome.verdict, Verdict::Reuse(hint));
}

#[test]
fn f103_an_upgrade_takes_the_connection_with_what_was_read_past_the_head() {
    let request = Request::get().with(&[("connection", "Upgrade"), ("upgrade", "websocket")]);
    let mut exchange = request.sent();
    let response = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\nframes";
    let outcome = receive(&mut exchange, [&response[..]]);
    assert_eq!((outcome.error, outcome.verdict), (None, Verdict::Upgraded));
    assert_eq!(exchange.take_leftover(), "frames");
    assert!(exchange.take_leftover().is_empty());

    let mut input = BytesMut::from(&b"later"[..]);
    assert!(exchange.decode(&mut input).unwrap().is_none());
    assert_eq!(input, "later", "bytes of another protocol stay with the caller");
}

#[test]
fn f103_a_tunnel_opens_with_2xx_only() {
    let mut exchange = Request::new(Method::CONNECT).sent();
    let outcome = receive(&mut exchange, [&b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhi"[..]]);
    assert_eq!((outcome.error, outcome.verdict), (None, Verdict::Upgraded));
    assert_eq!(exchange.take_leftover(), "hi");

    let refusal = b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 2\r\n\r\nno";
    let outcome = receive(&mut Request::new(Method::CONNECT).sent(), [&refusal[..]]);
    assert_eq!((&outcome.body[..], outcome.verdict), (&b"no"[..], kept()));
}

#[test]
fn an_exchange_and_what_it_hands_out_move_between_threads() {
    fn check<T: Send + Sync + 'static>() {}
    check::<warmwire_h1::Exchange>();
    check::<warmwire_h1::Received>();
    check::<warmwire_h1::RequestError>();
    check::<warmwire_h1::ResponseError>();
}
