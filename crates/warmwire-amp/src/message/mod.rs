//! What an RPC peer means by a frame: requests and replies.
//!
//! Two forms of the same messages. **axon**: one JSON argument and the id, as `axon-rpc` 0.0.3 and
//! `pm2-axon-rpc` 0.7.1 write and read them. **Extended**: a binary head, a skeleton, buffers as raw
//! arguments and the id, which only Warmwire understands.
//!
//! A client begins with the first and puts a key `ww` beside `method` and `args`, which axon's server
//! ignores. A Warmwire server that reads it answers in the extended form, and with that answer the
//! client knows. So nobody asks, nobody waits, and an axon peer notices nothing.

mod extended;
pub mod plain;
mod reply;
mod request;

use std::fmt;
use std::time::Duration;

use bytes::Bytes;

pub use reply::Reply;
pub use request::{Call, Request};

use crate::argument::TEXT;
use crate::{Fault, FrameWriter};

/// Which form the other end understands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// That of npm's axon-rpc: JSON.
    Axon,
    /// That of Warmwire, too: values without loss, deadlines, cancellation, pings.
    Extended,
}

/// A message as it came, with the id that its answer carries.
#[derive(Clone, Debug, PartialEq)]
pub struct Received<T> {
    /// Chosen by who asked, and echoed byte for byte.
    pub id: Bytes,
    /// The message.
    pub message: T,
    /// What its sender understands.
    pub dialect: Dialect,
}

/// A frame that is no message.
#[derive(Clone, Debug, PartialEq)]
pub struct Unreadable {
    /// The id, if it can be told: a request is answered by the fault then, and a reply ends its
    /// call.
    pub id: Option<Bytes>,
    /// What the sender understands.
    pub dialect: Dialect,
    /// What is wrong.
    pub fault: Fault,
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fault.fmt(f)
    }
}

/// Adds the id of a call of ours to a frame that waits for nothing else.
pub fn write_id(id: u64, out: &mut FrameWriter) {
    let mut digits = [0; 20];
    let mut start = digits.len();
    let mut rest = id;
    loop {
        start -= 1;
        // Below ten.
        digits[start] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    out.parts(&[TEXT, &digits[start..]]);
}

/// The call of ours that `id` belongs to.
pub fn read_id(id: &[u8]) -> Option<u64> {
    let digits = id.strip_prefix(TEXT)?;
    let digits = std::str::from_utf8(digits).ok()?;
    // `parse` takes a plus sign, which we never write.
    digits.as_bytes().first()?.is_ascii_digit().then(|| digits.parse().ok())?
}

/// A deadline on the wire: whole milliseconds that are left, at least one.
fn milliseconds(left: Duration) -> u32 {
    u32::try_from(left.as_millis()).unwrap_or(u32::MAX).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_text_that_node_echoes() {
        for id in [0, 7, 10, 4096, u64::MAX] {
            let mut out = FrameWriter::default();
            write_id(id, &mut out);
            let written = out.to_vec();
            assert_eq!(written[4..], *format!("s:{id}").as_bytes());
            assert_eq!(read_id(&written[4..]), Some(id));
        }
    }

    #[test]
    fn ids_that_are_not_ours_belong_to_no_call() {
        for id in [&b""[..], b"s:", b"s:x", b"j:1", b"s:+1", b"s:1 ", b"s:99999999999999999999"] {
            assert_eq!(read_id(id), None);
        }
    }
}
