//! The extended form.
//!
//! ```text
//! argument 1        77 77 01 KIND, then what the kind adds
//! argument 2        j: and a skeleton, for the kinds that carry values
//! arguments 3 to n  the buffers
//! the last          the id
//! ```

use bytes::Bytes;

use crate::argument::JSON;
use crate::json::{buffer_arguments, read_skeleton, write_skeleton};
use crate::value::Value;
use crate::{Fault, Frame, FrameWriter};

/// `ww` and the version. No argument of axon begins so: it writes `s:` or `j:`.
const MAGIC: &[u8] = b"ww\x01";

/// What a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Call = 0x01,
    Notify = 0x02,
    Cancel = 0x03,
    Ping = 0x04,
    Methods = 0x05,
    Result = 0x81,
    Fault = 0x82,
    Pong = 0x84,
    MethodList = 0x85,
}

const KINDS: [Kind; 9] = [
    Kind::Call,
    Kind::Notify,
    Kind::Cancel,
    Kind::Ping,
    Kind::Methods,
    Kind::Result,
    Kind::Fault,
    Kind::Pong,
    Kind::MethodList,
];

/// Whether a frame is of this form.
pub(super) fn is_extended(frame: &Frame) -> bool {
    frame.get(0).is_some_and(|head| head.starts_with(MAGIC))
}

/// A frame of this form, taken apart.
#[derive(Debug)]
pub(super) struct Parts {
    pub(super) kind: Kind,
    /// What the head has behind the kind.
    pub(super) more: Bytes,
    pub(super) values: Vec<Value>,
}

/// Takes a frame apart whose id has been taken off.
pub(super) fn read(frame: &Frame) -> Result<Parts, Fault> {
    let head = frame.bytes(0).unwrap_or_default();
    let code = head.get(MAGIC.len()).copied().unwrap_or_default();
    let Some(kind) = KINDS.into_iter().find(|kind| *kind as u8 == code) else {
        return Err(Fault::new(format!("no message is of the kind {code:#04x}")));
    };
    let values = frame.get(1).map_or(Ok(Vec::new()), |skeleton| values(skeleton, frame))?;
    Ok(Parts { kind, more: head.slice(MAGIC.len() + 1..), values })
}

fn values(skeleton: &[u8], frame: &Frame) -> Result<Vec<Value>, Fault> {
    let Some(json) = skeleton.strip_prefix(JSON) else {
        return Err(Fault::new("the second argument of an extended message begins with j:"));
    };
    match read_skeleton(json, &|number| frame.bytes(number.checked_add(2)?)) {
        Ok(Value::Array(values)) => Ok(values),
        Ok(other) => Err(Fault::new(format!("a skeleton is an array, not {}", other.kind()))),
        Err(error) => Err(Fault::new(format!("a skeleton is not JSON: {error}"))),
    }
}

/// Writes a message without values, but for its id.
pub(super) fn write_bare(kind: Kind, out: &mut FrameWriter) {
    head(kind, 2, &[], out);
}

/// Writes a message with `values`, but for its id.
pub(super) fn write(kind: Kind, more: &[&[u8]], values: &[Value], out: &mut FrameWriter) {
    head(kind, 3 + buffer_arguments(values), more, out);
    let buffers = out.appended(|skeleton| {
        skeleton.extend_from_slice(JSON);
        write_skeleton(values, skeleton)
    });
    let (whole, shared) = buffers.split();
    for buffer in whole {
        out.raw(buffer);
    }
    if !shared.is_empty() {
        out.joined(shared);
    }
}

fn head(kind: Kind, arguments: usize, more: &[&[u8]], out: &mut FrameWriter) {
    // Head, skeleton, eleven buffers, those that share an argument, and the id are fifteen.
    let begun = out.head(arguments);
    debug_assert!(begun.is_ok(), "{begun:?}");
    let kind = [kind as u8];
    match more {
        [] => out.parts(&[MAGIC, &kind]),
        [one] => out.parts(&[MAGIC, &kind, one]),
        [one, two, ..] => out.parts(&[MAGIC, &kind, one, two]),
    }
}
