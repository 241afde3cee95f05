//! However the bytes of a response are cut into reads, the outcome is the same.

use http::Method;

use crate::support::{Outcome, Request, receive};

/// A request by its kind, and what the server sends.
const CORPUS: &[(Kind, &[u8])] = &[
    (Kind::Get, b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"),
    (Kind::Get, b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
    (Kind::Get, b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel"),
    (Kind::Get, b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello, too much"),
    (Kind::Get, b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok"),
    (Kind::Get, b"HTTP/1.0 200 OK\r\n\r\nuntil close"),
    (Kind::Get, b"HTTP/1.1 200\nServer: x\nContent-Length: 2\n\nok"),
    (Kind::Get, b"HTTP/1.1 200 OK\r\nServer: a\r\n b\r\n\tc\r\nContent-Length: 2\r\n\r\nok"),
    (Kind::Get, b"HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n"),
    (Kind::Get, b"HTTP/1.1 304 Not Modified\r\nKeep-Alive: timeout=5, max=3\r\n\r\n"),
    (Kind::Get, b"HTTP/1.1 404 Nothing here\r\nConnection: close\r\nContent-Length: 1\r\n\r\n!"),
    (Kind::Get, b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"),
    (
        Kind::Get,
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\
          1;ext=\"a b\"\r\nh\r\nA \r\n0123456789\r\n00\r\nSum: 1\r\nHost: x\r\n\r\nsurplus",
    ),
    (Kind::Get, b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel"),
    (
        Kind::Get,
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\na: b\r\n",
    ),
    (Kind::Get, b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhelloXX"),
    (Kind::Get, b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\nhello\r\n0\r\n\r\n"),
    (Kind::Get, b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nbad trailer\r\n\r\n"),
    (Kind::Get, b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"),
    (
        Kind::Get,
        b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 103 x\r\n\r\n\
          HTTP/1.1 204 No Content\r\n\r\n",
    ),
    (Kind::Get, b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 2xx OK\r\n\r\n"),
    (Kind::Get, b"HTTP/1.1 101 Switching Protocols\r\n\r\nbytes"),
    (Kind::Get, b"HTTP/1.1 2x0 OK\r\nbad header\r\n\r\n"),
    (Kind::Get, b"HTTP/1.1 200 OK\r\nbad header\r\nfine: 1\r\n\r\n"),
    (Kind::Get, b"HTTP/1.1 200 OK\r\nbad header\r\nfine: 1\r\n"),
    (Kind::Get, b"HTTP/1.1 200 OK\r\na: b\r\n"),
    (Kind::Get, b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello"),
    (Kind::Get, b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n"),
    (Kind::Get, b"HTTP/2.0 200 OK\r\n\r\n"),
    (Kind::Get, b"\r\nHTTP/1.1 200 OK\r\n\r\n"),
    (Kind::Get, b"ICY 200 OK\r\n\r\n"),
    (Kind::Get, b""),
    (Kind::Head, b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"),
    (Kind::Head, b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    (Kind::Connect, b"HTTP/1.1 200 Connection established\r\n\r\ntls bytes"),
    (Kind::Connect, b"HTTP/1.1 407 Who?\r\nContent-Length: 2\r\n\r\nno"),
    (Kind::Upgrade, b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\nframes"),
    (Kind::Upgrade, b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"),
];

#[derive(Clone, Copy, Debug)]
enum Kind {
    Get,
    Head,
    Connect,
    Upgrade,
}

fn outcome<'a>(kind: Kind, pieces: impl IntoIterator<Item = &'a [u8]>) -> Outcome {
    let request = match kind {
        Kind::Get => Request::get(),
        Kind::Head => Request::new(Method::HEAD),
        Kind::Connect => Request::new(Method::CONNECT),
        Kind::Upgrade => Request::get().with(&[("connection", "upgrade"), ("upgrade", "x")]),
    };
    let mut outcome = receive(&mut request.sent(), pieces);
    // What an error quotes ends with the read, its kind and place do not.
    if let Some(error) = outcome.error.take() {
        outcome.reason = Some(format!("{:?} {:?}", error.kind(), error.offset()).into_bytes());
    }
    outcome
}

#[test]
fn one_cut_at_every_place() {
    for &(kind, response) in CORPUS {
        let whole = outcome(kind, [response]);
        for at in 0..=response.len() {
            let (first, second) = response.split_at(at);
            let cut = outcome(kind, [first, second]);
            assert_eq!(cut, whole, "{} cut at {at}", response.escape_ascii());
        }
    }
}

#[test]
fn byte_by_byte() {
    for &(kind, response) in CORPUS {
        let bytes = outcome(kind, response.chunks(1));
        assert_eq!(bytes, outcome(kind, [response]), "{}", response.escape_ascii());
    }
}

#[test]
fn a_head_of_many_small_reads_costs_linear_time() {
    // 512 KiB in reads of one byte: with a scan from the start at each read it
    // would be 10^11 steps, and this test would not end.
    let limits = warmwire_h1::Limits { max_head_bytes: 1 << 20, ..warmwire_h1::Limits::default() };
    let mut response = b"HTTP/1.1 204 No Content\r\nx: ".to_vec();
    response.resize(512 * 1024, b'y');
    response.extend_from_slice(b"\r\n\r\n");
    let outcome = receive(&mut Request::get().sent_within(limits), response.chunks(1));
    assert_eq!(outcome.error, None);
}
