//! One argument of a frame: a string, JSON, or raw bytes.
//!
//! Told apart by the first two bytes, as in `amp-message` 0.1.2: `s:` is UTF-8 text, `j:` is JSON,
//! anything else is raw.

use std::borrow::Cow;
use std::fmt;

use bytes::{Buf, Bytes};

use crate::value::Value;
use crate::{FrameWriter, json};

pub(crate) const TEXT: &[u8] = b"s:";
pub(crate) const JSON: &[u8] = b"j:";

/// One argument of a frame.
#[derive(Clone, Debug, PartialEq)]
pub enum Argument {
    /// Text, `s:` on the wire.
    Text(String),
    /// Anything that JSON can say, `j:` on the wire. Buffers in it travel in the JSON form of Node.
    Json(Value),
    /// Bytes as they are.
    Raw(Bytes),
}

impl Argument {
    /// What `bytes` say.
    ///
    /// Bytes that are not UTF-8 are replaced by U+FFFD in text and in JSON, as Node does.
    ///
    /// # Errors
    ///
    /// [`ArgumentError`] if the bytes begin with `j:` and no JSON follows. The frame's other
    /// arguments and the stream are not affected.
    pub fn read(mut bytes: Bytes) -> Result<Self, ArgumentError> {
        if bytes.starts_with(TEXT) {
            return Ok(Self::Text(String::from_utf8_lossy(&bytes[2..]).into_owned()));
        }
        if !bytes.starts_with(JSON) {
            return Ok(Self::Raw(bytes));
        }
        bytes.advance(2);
        json::read_node(&bytes).map(Self::Json).map_err(ArgumentError::Json)
    }

    /// The argument that carries `value` to a peer of which only AMP is known: text as text, a
    /// buffer as raw bytes, everything else as JSON.
    ///
    /// # Errors
    ///
    /// A buffer that begins with `s:` or `j:` would be text or JSON for every reader (F054), and
    /// AMP has no way to say otherwise.
    pub fn of(value: Value) -> Result<Self, ArgumentError> {
        match value {
            Value::String(text) => Ok(Self::Text(text)),
            Value::Buffer(bytes) if bytes.starts_with(TEXT) || bytes.starts_with(JSON) => {
                Err(ArgumentError::Ambiguous)
            }
            Value::Buffer(bytes) => Ok(Self::Raw(bytes)),
            other => Ok(Self::Json(other)),
        }
    }

    /// The value that came.
    pub fn into_value(self) -> Value {
        match self {
            Self::Text(text) => Value::String(text),
            Self::Json(value) => value,
            Self::Raw(bytes) => Value::Buffer(bytes),
        }
    }

    /// The text of the argument, as JavaScript's `String(…)` would tell it where it is no text.
    pub fn to_text(&self) -> Cow<'_, str> {
        match self {
            Self::Text(text) => Cow::Borrowed(text),
            Self::Json(value) => Cow::Owned(value.to_string()),
            Self::Raw(bytes) => String::from_utf8_lossy(bytes),
        }
    }

    pub(crate) fn write(&self, out: &mut FrameWriter) {
        match self {
            Self::Text(text) => out.parts(&[TEXT, text.as_bytes()]),
            Self::Json(value) => out.appended(|buffer| {
                buffer.extend_from_slice(JSON);
                json::write_node(value, buffer);
            }),
            Self::Raw(bytes) => out.raw(bytes),
        }
    }
}

impl From<&str> for Argument {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<Value> for Argument {
    /// As JSON, whatever the value is.
    fn from(value: Value) -> Self {
        Self::Json(value)
    }
}

/// Why an argument cannot be read or written.
#[derive(Debug)]
#[non_exhaustive]
pub enum ArgumentError {
    /// It is announced as JSON and is none.
    Json(serde_json::Error),
    /// A buffer that every reader would take for text or JSON.
    Ambiguous,
}

impl fmt::Display for ArgumentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Json(error) => write!(f, "an argument begins with j: and is not JSON: {error}"),
            Self::Ambiguous => f.write_str(
                "a buffer that begins with s: or j: is text or JSON for this peer: put it into an \
                 array or object, or change how it begins",
            ),
        }
    }
}

impl std::error::Error for ArgumentError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Json(error) => Some(error),
            Self::Ambiguous => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &'static [u8]) -> Result<Value, ArgumentError> {
        Argument::read(Bytes::from_static(bytes)).map(Argument::into_value)
    }

    #[test]
    fn the_first_two_bytes_tell_what_it_is() {
        assert_eq!(read(b"s:").expect("text"), Value::from(""));
        assert_eq!(read(b"s:j:1").expect("text"), Value::from("j:1"));
        assert_eq!(read(b"j: 1 ").expect("JSON"), Value::from(1));
        assert_eq!(read(b"s").expect("raw"), Value::from(Bytes::from_static(b"s")));
        assert_eq!(read(b"").expect("raw"), Value::from(Bytes::new()));
        assert_eq!(read(b"i:5").expect("raw"), Value::from(Bytes::from_static(b"i:5")));
        assert_eq!(read(b"s:\xff").expect("text"), Value::from("\u{fffd}"));
        assert_eq!(read(b"j:\"\xff\"").expect("JSON"), Value::from("\u{fffd}"));
    }

    #[test]
    fn f061_json_that_is_none_is_an_error_of_this_argument() {
        for bytes in [&b"j:"[..], b"j:x", b"j:undefined", b"j:1 2", b"j:\xef\xbb\xbf1"] {
            let error = read(bytes).expect_err("no JSON");
            assert!(error.to_string().starts_with("an argument begins with j: and is not JSON"));
        }
    }

    #[test]
    fn f054_a_buffer_that_would_be_read_as_something_else_is_refused() {
        for bytes in [&b"s:hi"[..], b"j:{}", b"s:", b"j:x"] {
            let buffer = Value::from(Bytes::from_static(bytes));
            assert!(matches!(Argument::of(buffer), Err(ArgumentError::Ambiguous)));
        }
        for bytes in [&b""[..], b"s", b"j", b"sj:", b"\0s:"] {
            Argument::of(Value::from(Bytes::from_static(bytes))).expect("unambiguous");
        }
    }
}
