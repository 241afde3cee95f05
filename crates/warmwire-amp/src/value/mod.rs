//! What calls carry: JavaScript's values, with buffers.

mod convert;
mod de;
mod lend;
mod number;
mod object;
mod ser;

use std::fmt;

use bytes::Bytes;

pub use de::from_value;
pub(crate) use number::Kind;
pub use number::Number;
pub use object::Object;
pub use ser::{to_result, to_value};

/// A value of a call, of its result, or of a message.
///
/// Conversions exist from the plain types (`Value::from(5)`, `Value::from("text")`, …), and from
/// and to everything that serde knows by [`to_value`] and [`from_value`].
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Value {
    /// JavaScript's `undefined`. A peer that is not Warmwire gets `null` for it in arrays and
    /// arguments, and nothing at all for an object's entry, as from Node.
    #[default]
    Undefined,
    /// Null.
    Null,
    /// A boolean.
    Bool(bool),
    /// A number: every `i64`, `u64` and `f64`, without loss.
    Number(Number),
    /// Text.
    String(String),
    /// Bytes.
    Buffer(Bytes),
    /// An array.
    Array(Vec<Value>),
    /// An object, its entries in their order.
    Object(Object),
}

impl Value {
    /// Whether there is nothing: undefined or null.
    pub fn is_nothing(&self) -> bool {
        matches!(self, Self::Undefined | Self::Null)
    }

    /// The boolean, if it is one.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(value) => Some(*value),
            _ => None,
        }
    }

    /// The number as an `i64`, if it is one and is whole and in range.
    pub fn as_i64(&self) -> Option<i64> {
        match self {
            Self::Number(number) => number.as_i64(),
            _ => None,
        }
    }

    /// The number as a `u64`, if it is one and is whole and in range.
    pub fn as_u64(&self) -> Option<u64> {
        match self {
            Self::Number(number) => number.as_u64(),
            _ => None,
        }
    }

    /// The number as an `f64`, rounded if need be.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(number.as_f64()),
            _ => None,
        }
    }

    /// The text, if it is text.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// The bytes, if it is a buffer.
    pub fn as_buffer(&self) -> Option<&Bytes> {
        match self {
            Self::Buffer(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// The elements, if it is an array.
    pub fn as_array(&self) -> Option<&[Value]> {
        match self {
            Self::Array(elements) => Some(elements),
            _ => None,
        }
    }

    /// The entries, if it is an object.
    pub fn as_object(&self) -> Option<&Object> {
        match self {
            Self::Object(object) => Some(object),
            _ => None,
        }
    }

    /// The entry `key`, if it is an object and has one.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.as_object()?.get(key)
    }

    /// What kind of value it is, for messages: `a number`, `an object`, …
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Undefined => "undefined",
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Number(_) => "a number",
            Self::String(_) => "a string",
            Self::Buffer(_) => "a buffer",
            Self::Array(_) => "an array",
            Self::Object(_) => "an object",
        }
    }
}

impl fmt::Display for Value {
    /// As JSON; buffers in the form that Node gives them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = Vec::new();
        crate::json::write_node(self, &mut text);
        f.write_str(&String::from_utf8_lossy(&text))
    }
}

/// Why a Rust value and a [`Value`] do not fit together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueError(Box<str>);

impl fmt::Display for ValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ValueError {}

impl serde::ser::Error for ValueError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self(message.to_string().into())
    }
}

impl serde::de::Error for ValueError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self(message.to_string().into())
    }
}
