//! `docs/wire.md` says what is written.

use bytes::Bytes;
use warmwire_amp::message::{Call, Dialect, Reply, Request, write_id};
use warmwire_amp::{FrameWriter, Value};

const PAGE: &str = include_str!("../../../../docs/wire.md");

/// The bytes of the page's line `name`.
fn line(name: &str) -> Vec<u8> {
    let line = PAGE.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    let digits: Vec<u8> =
        line.unwrap_or_else(|| panic!("no line {name}")).bytes().filter(|b| *b != b' ').collect();
    let byte = |pair: &[u8]| {
        let pair = std::str::from_utf8(pair).expect("ASCII");
        u8::from_str_radix(pair, 16).expect("hexadecimal")
    };
    digits.chunks(2).map(byte).collect()
}

fn request(request: &Request, dialect: Dialect) -> Vec<u8> {
    let mut out = FrameWriter::default();
    request.write(dialect, &mut out);
    write_id(0, &mut out);
    out.to_vec()
}

fn call(method: &str, arguments: Vec<Value>) -> Request {
    Request::Call(Call { method: method.into(), arguments, ..Call::default() })
}

fn reply(reply: &Reply, dialect: Dialect) -> Vec<u8> {
    let mut out = FrameWriter::default();
    reply.write(&Bytes::from_static(b"s:0"), dialect, &mut out);
    out.to_vec()
}

#[test]
fn the_page_shows_what_is_written() {
    let add = call("add", vec![1.into(), 2.into()]);
    let echo = call("echo", vec![Bytes::from_static(b"\x01\x02").into()]);
    let three = Reply::Results(vec![3.into()]);
    for (name, written) in [
        ("offer", request(&add, Dialect::Axon)),
        ("axon result", reply(&three, Dialect::Axon)),
        ("extended call", request(&echo, Dialect::Extended)),
        ("extended result", reply(&three, Dialect::Extended)),
        ("cancel", request(&Request::Cancel, Dialect::Extended)),
        ("ping", request(&Request::Ping, Dialect::Extended)),
        ("pong", reply(&Reply::Pong, Dialect::Extended)),
    ] {
        assert_eq!(written, line(name), "{name}");
    }
    // This one only axon writes.
    let mut input = bytes::BytesMut::from(&line("axon call")[..]);
    let frame = warmwire_amp::FrameReader::new(1000).next(&mut input).expect("a frame");
    let received = Request::read(frame.expect("whole")).expect("a request");
    assert_eq!((received.message, received.dialect), (add, Dialect::Axon));
}
