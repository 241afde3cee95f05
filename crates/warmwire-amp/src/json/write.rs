//! Values into JSON.

use std::cell::RefCell;
use std::{fmt, io};

use bytes::Bytes;
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::ser::Formatter;
use smallvec::{SmallVec, smallvec};

use super::{ONE_BUFFER, WHOLE_BUFFERS};
use crate::value::{Kind, Value};

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
        Value::Number(number) => match number.kind() {
            Kind::Float(number) => {
                !number.is_finite()
                    || (number == 0.0 && number.is_sign_negative())
                    || is_written_as_another_integer(number)
            }
            Kind::Signed(_) | Kind::Unsigned(_) => false,
        },
        Value::Array(elements) => elements.iter().any(loses),
        Value::Object(object) => {
            // It would be read as a buffer.
            object.get("type").is_some_and(|kind| kind.as_str() == Some("Buffer"))
                || object.iter().any(|(_, value)| loses(value))
        }
        Value::Null | Value::Bool(_) | Value::String(_) | Value::Buffer(_) => false,
    }
}

/// Whether `JSON.stringify` may write digits that name another number to a reader of integers.
///
/// It writes the fewest that tell doubles apart, which above 2⁵³ is no longer the whole number that the
/// double is. Beyond 2⁶⁴ no reader here takes digits for an integer.
fn is_written_as_another_integer(number: f64) -> bool {
    (2f64.powi(53)..2f64.powi(64)).contains(&number.abs())
}

/// The buffers that a skeleton refers to. Most messages have one at most.
#[derive(Debug, Default)]
pub(crate) struct Buffers {
    all: SmallVec<[Bytes; 2]>,
    /// Bytes in those after the first [`WHOLE_BUFFERS`].
    shared: usize,
}

/// Where a buffer is, as a skeleton says it.
enum Place {
    Whole(usize),
    Part { offset: usize, length: usize },
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole(number) => write!(f, "~b{number}"),
            Self::Part { offset, length } => write!(f, "~b{WHOLE_BUFFERS}:{offset}:{length}"),
        }
    }
}

impl Buffers {
    fn add(&mut self, bytes: &Bytes) -> Place {
        let number = self.all.len();
        self.all.push(bytes.clone());
        if number < WHOLE_BUFFERS {
            return Place::Whole(number);
        }
        let offset = self.shared;
        self.shared += bytes.len();
        Place::Part { offset, length: bytes.len() }
    }

    /// Those that get an argument each, and those that share one.
    pub(crate) fn split(&self) -> (&[Bytes], &[Bytes]) {
        self.all.split_at(self.all.len().min(WHOLE_BUFFERS))
    }

    /// The buffers as the skeleton's numbers count them: those that share an argument are one.
    pub(crate) fn addressed(&self) -> Vec<Bytes> {
        let (whole, shared) = self.split();
        let shared = Some(shared).filter(|shared| !shared.is_empty());
        whole.iter().cloned().chain(shared.map(|shared| shared.concat().into())).collect()
    }
}

/// How many arguments the buffers of `values` take.
pub(crate) fn buffer_arguments(values: &[Value]) -> usize {
    fn count(value: &Value) -> usize {
        match value {
            Value::Buffer(_) => 1,
            Value::Array(elements) => elements.iter().map(count).sum(),
            Value::Object(object) => object.iter().map(|(_, value)| count(value)).sum(),
            _ => 0,
        }
    }
    values.iter().map(count).sum::<usize>().min(WHOLE_BUFFERS + 1)
}

/// Appends the skeleton of an array of `values`, and returns their buffers.
pub(crate) fn write_skeleton(values: &[Value], out: &mut Vec<u8>) -> Buffers {
    if let [Value::Buffer(bytes)] = values {
        out.extend_from_slice(ONE_BUFFER);
        return Buffers { all: smallvec![bytes.clone()], shared: 0 };
    }
    let buffers = RefCell::default();
    written(&serde_json::to_writer(out, &Lossless::Elements(values, &buffers)));
    buffers.into_inner()
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
    Value(&'a Value, &'a RefCell<Buffers>),
    Elements(&'a [Value], &'a RefCell<Buffers>),
}

impl Serialize for Lossless<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (value, buffers) = match self {
            Self::Value(value, buffers) => (*value, *buffers),
            Self::Elements(elements, buffers) => {
                let elements = elements.iter().map(|value| Self::Value(value, buffers));
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
                let place = buffers.borrow_mut().add(bytes);
                serializer.collect_str(&place)
            }
            Value::Array(elements) => Self::Elements(elements, buffers).serialize(serializer),
            Value::Object(object) => serializer
                .collect_map(object.iter().map(|(key, value)| (key, Self::Value(value, buffers)))),
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
