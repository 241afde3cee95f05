//! The bytes of an RPC connection.

use bytes::{Bytes, BytesMut};
use warmwire_amp::message::{Dialect, Reply, Request, write_id};
use warmwire_amp::{Argument, Frame, FrameError, FrameReader, FrameWriter};

/// Small, so that inputs reach it.
const MAX_MESSAGE: usize = 4096;

/// However a connection's bytes are cut, the same frames come out; every frame is a message or an
/// error; and a message that was read is read again from what is written for it.
///
/// # Panics
///
/// When that is not so.
pub fn amp(data: &[u8]) {
    let (frames, end) = read(data.chunks(data.len().max(1)));
    assert_eq!(read(data.chunks(1)), (frames.clone(), end.clone()), "{}", data.escape_ascii());
    assert_eq!(read(data.chunks(7)), (frames.clone(), end), "{}", data.escape_ascii());
    for frame in frames {
        for argument in frame.clone().into_arguments() {
            let _ = Argument::read(argument);
        }
        if let Ok(read) = Request::read(frame.clone()) {
            again(&read.message);
        }
        if let Ok(read) = Reply::read(frame) {
            again_reply(&read.message);
        }
    }
}

fn read<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> (Vec<Frame>, Option<FrameError>) {
    let mut reader = FrameReader::new(MAX_MESSAGE);
    let mut input = BytesMut::new();
    let mut frames = Vec::new();
    for piece in pieces {
        input.extend_from_slice(piece);
        loop {
            match reader.next(&mut input) {
                Ok(Some(frame)) => frames.push(frame),
                Ok(None) => break,
                Err(error) => return (frames, Some(error)),
            }
        }
    }
    (frames, None)
}

fn again(request: &Request) {
    for dialect in [Dialect::Axon, Dialect::Extended] {
        let mut out = FrameWriter::default();
        request.write(dialect, &mut out);
        write_id(1, &mut out);
        let read = Request::read(frame(&out)).expect("what was written");
        assert_eq!(text(&read.message), text(request));
    }
}

fn again_reply(reply: &Reply) {
    let mut out = FrameWriter::default();
    reply.write(&Bytes::from_static(b"s:1"), Dialect::Extended, &mut out);
    let read = Reply::read(frame(&out)).expect("what was written");
    // The stack of a Node peer is not passed on.
    if !matches!(reply, Reply::Fault(fault) if fault.stack().is_some()) {
        assert_eq!(text(&read.message), text(reply));
    }
}

/// A NaN equals nothing, not even itself, but it looks the same.
fn text(message: &impl std::fmt::Debug) -> String {
    format!("{message:?}")
}

fn frame(out: &FrameWriter) -> Frame {
    let mut input = BytesMut::from(&out.to_vec()[..]);
    FrameReader::new(usize::MAX).next(&mut input).expect("a frame").expect("whole")
}
