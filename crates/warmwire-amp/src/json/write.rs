//! Values into JSON.

use std::cell::RefCell;
use std::io;

use bytes::Bytes;
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::ser::Formatter;

use super::WHOLE_BUFFERS;
use crate::value::Value;

/// Appends `value` as `JSON.stringify` would write it: undefined as null in arrays and left out of
/// objects, a buffer as `{"type":"Buffer","data":[…]}`, NaN and the infinities as null.
pub(crate) fn write_node(value: &Value, out: &mut Vec<u8>) {
    let mut serializer = serde_json::Serializer::with_formatter(out, NodeNumbers);
    written(&Node(value).serialize(&mut serializer));
}

/// Whether Node's JSON would lose or change something of `value`.
pub(crate) fn loses(value: &Value) -> bool {
    match value {
        Value::Undefined => true,
        Value::Number(number) => {
            let number = number.as_f64();
            !number.is_finite() || (number == 0.0 && number.is_sign_negative())
        }
        Value::Array(elements) => elements.iter().any(loses),
        Value::Object(object) => {
            // It would be read as a buffer.
            object.get("type").is_some_and(|kind| kind.as_str() == Some("Buffer"))
                || object.iter().any(|(_, value)| loses(value))
        }
        Value::Null | Value::Bool(_) | Value::String(_) | Value::Buffer(_) => false,
    }
}

/// The buffers that a skeleton refers to.
#[derive(Debug, Default)]
pub(crate) struct Skeleton {
    pub(crate) buffers: Vec<Bytes>,
    /// Bytes in the buffers after the first [`WHOLE_BUFFERS`].
    shared: usize,
}

impl Skeleton {
    fn refer_to(&mut self, bytes: &Bytes) -> String {
        let number = self.buffers.len();
        self.buffers.push(bytes.clone());
        if number < WHOLE_BUFFERS {
            return format!("~b{number}");
        }
        let offset = self.shared;
        self.shared += bytes.len();
        format!("~b{WHOLE_BUFFERS}:{offset}:{}", bytes.len())
    }
}

impl Skeleton {
    /// The buffers as the skeleton's numbers count them: those after the first
    /// [`WHOLE_BUFFERS`] are one.
    pub(crate) fn addressed(mut self) -> Vec<Bytes> {
        let shared = self.buffers.split_off(self.buffers.len().min(WHOLE_BUFFERS));
        if !shared.is_empty() {
            self.buffers.push(shared.concat().into());
        }
        self.buffers
    }
}

/// Appends the skeleton of an array of `values`, and returns their buffers.
pub(crate) fn write_skeleton(values: &[Value], out: &mut Vec<u8>) -> Skeleton {
    let skeleton = RefCell::default();
    written(&serde_json::to_writer(out, &Lossless::Elements(values, &skeleton)));
    skeleton.into_inner()
}

/// Writing into memory does not fail, and every key here is text.
fn written(result: &Result<(), serde_json::Error>) {
    debug_assert!(result.is_ok(), "{result:?}");
}

/// Numbers as `JSON.stringify` writes them: `1` and not `1.0`, `1e+21` and not `1e21`.
struct NodeNumbers;

impl Formatter for NodeNumbers {
    fn write_f64<W: ?Sized + io::Write>(&mut self, out: &mut W, value: f64) -> io::Result<()> {
        let magnitude = value.abs();
        if magnitude >= 1e21 {
            out.write_all(format!("{value:e}").replace('e', "e+").as_bytes())
        } else if magnitude < 1e-6 && magnitude > 0.0 {
            write!(out, "{value:e}")
        } else {
            // Adding zero makes the negative zero positive, as it is in JavaScript's JSON.
            write!(out, "{}", value + 0.0)
        }
    }
}

struct Node<'a>(&'a Value);

impl Serialize for Node<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Undefined | Value::Null => serializer.serialize_unit(),
            Value::Bool(value) => serializer.serialize_bool(*value),
            Value::Number(number) => number.serialize(serializer),
            Value::String(text) => serializer.serialize_str(text),
            Value::Buffer(bytes) => {
                let mut map = serializer.serialize_map(Some(2))?;
                map.serialize_entry("type", "Buffer")?;
                map.serialize_entry("data", &bytes[..])?;
                map.end()
            }
            Value::Array(elements) => serializer.collect_seq(elements.iter().map(Node)),
            Value::Object(object) => serializer.collect_map(
                object
                    .iter()
                    .filter(|(_, value)| **value != Value::Undefined)
                    .map(|(key, value)| (key, Node(value))),
            ),
        }
    }
}

enum Lossless<'a> {
    Value(&'a Value, &'a RefCell<Skeleton>),
    Elements(&'a [Value], &'a RefCell<Skeleton>),
}

impl Serialize for Lossless<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (value, skeleton) = match self {
            Self::Value(value, skeleton) => (*value, *skeleton),
            Self::Elements(elements, skeleton) => {
                let elements = elements.iter().map(|value| Self::Value(value, skeleton));
                return serializer.collect_seq(elements);
            }
        };
        match value {
            Value::Undefined => serializer.serialize_str("~u"),
            Value::Null => serializer.serialize_unit(),
            Value::Bool(value) => serializer.serialize_bool(*value),
            Value::Number(number) => match special(number.as_f64()) {
                Some(name) => serializer.serialize_str(name),
                None => number.serialize(serializer),
            },
            Value::String(text) if text.starts_with('~') => {
                serializer.serialize_str(&format!("~{text}"))
            }
            Value::String(text) => serializer.serialize_str(text),
            Value::Buffer(bytes) => {
                let reference = skeleton.borrow_mut().refer_to(bytes);
                serializer.serialize_str(&reference)
            }
            Value::Array(elements) => Self::Elements(elements, skeleton).serialize(serializer),
            Value::Object(object) => serializer
                .collect_map(object.iter().map(|(key, value)| (key, Self::Value(value, skeleton)))),
        }
    }
}

/// The name of a number that JSON has no word for.
fn special(number: f64) -> Option<&'static str> {
    if number.is_nan() {
        Some("~nan")
    } else if number.is_infinite() {
        Some(if number > 0.0 { "~inf" } else { "~-inf" })
    } else {
        None
    }
}
