//! Values into JSON.

use std::cell::RefCell;

use bytes::Bytes;
use serde::ser::{Serialize, SerializeMap, Serializer};

use super::WHOLE_BUFFERS;
use crate::value::Value;

/// Appends `value` as `JSON.stringify` would write it: undefined as null in arrays and left out of
/// objects, a buffer as `{"type":"Buffer","data":[…]}`, NaN and the infinities as null.
pub(crate) fn write_node(value: &Value, out: &mut Vec<u8>) {
    append(&Node(value), out);
}

/// Whether Node's JSON would lose or change something of `value`.
pub(crate) fn loses(value: &Value) -> bool {
    match value {
        Value::Undefined => true,
        Value::Number(number) => !number.as_f64().is_finite(),
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
    append(&Lossless::Elements(values, &skeleton), out);
    skeleton.into_inner()
}

fn append(value: &impl Serialize, out: &mut Vec<u8>) {
    // Writing into memory does not fail, and every key here is text.
    let written = serde_json::to_writer(out, value);
    debug_assert!(written.is_ok(), "{written:?}");
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
