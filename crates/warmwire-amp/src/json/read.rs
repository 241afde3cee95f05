//! Values out of JSON.

use std::fmt;

use bytes::Bytes;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::ONE_BUFFER;
use super::surrogates::replace_lone;
use crate::value::{Object, Value};

/// The value that `json` says. Bytes that are not UTF-8 are replaced, and Node's form of a buffer is
/// read as one.
pub(crate) fn read_node(json: &[u8]) -> Result<Value, serde_json::Error> {
    let text = String::from_utf8_lossy(json);
    match whole(&text, NodeBuffers) {
        // The one kind of JSON that Node writes and serde_json refuses.
        Err(error) if text.contains("\\u") => {
            whole(&replace_lone(&text), NodeBuffers).map_err(|_| error)
        }
        result => result,
    }
}

/// The buffer that came beside a skeleton under a number.
type BufferAt<'a> = &'a dyn Fn(usize) -> Option<Bytes>;

/// The value whose skeleton is `json`, with the buffers that came beside it.
pub(crate) fn read_skeleton(json: &[u8], buffer: BufferAt<'_>) -> Result<Value, serde_json::Error> {
    if json == ONE_BUFFER
        && let Some(bytes) = buffer(0)
    {
        return Ok(vec![Value::Buffer(bytes)].into());
    }
    let text = std::str::from_utf8(json).map_err(serde_json::Error::custom)?;
    whole(text, Skeleton { buffer })
}

fn whole<R: Reading>(json: &str, reading: R) -> Result<Value, serde_json::Error> {
    let mut json = serde_json::Deserializer::from_str(json);
    let value = json.deserialize_any(Any(reading))?;
    json.end()?;
    Ok(value)
}

/// What strings and objects mean.
pub(crate) trait Reading: Copy {
    fn text<E: Error>(self, text: &str) -> Result<Value, E>;

    /// Whether an object of `type` and `data` may be a buffer.
    const NODE_BUFFERS: bool;
}

/// As Node's packages write it.
#[derive(Clone, Copy)]
pub(crate) struct NodeBuffers;

impl Reading for NodeBuffers {
    const NODE_BUFFERS: bool = true;

    fn text<E: Error>(self, text: &str) -> Result<Value, E> {
        Ok(Value::from(text))
    }
}

/// As two Warmwire ends write it.
#[derive(Clone, Copy)]
struct Skeleton<'a> {
    buffer: BufferAt<'a>,
}

impl Reading for Skeleton<'_> {
    const NODE_BUFFERS: bool = false;

    fn text<E: Error>(self, text: &str) -> Result<Value, E> {
        let Some(special) = text.strip_prefix('~') else {
            return Ok(Value::from(text));
        };
        Ok(match special {
            "u" => Value::Undefined,
            "nan" => Value::from(f64::NAN),
            "inf" => Value::from(f64::INFINITY),
            "-inf" => Value::from(f64::NEG_INFINITY),
            _ if special.starts_with('~') => Value::from(special),
            _ => {
                let buffer = special.strip_prefix('b').and_then(|place| self.at(place));
                Value::Buffer(buffer.ok_or_else(|| {
                    E::custom(format!("{text:?} refers to no buffer of the message"))
                })?)
            }
        })
    }
}

impl Skeleton<'_> {
    fn at(self, place: &str) -> Option<Bytes> {
        let mut numbers = place.split(':').map(|number| number.parse::<usize>().ok());
        let buffer = (self.buffer)(numbers.next()??)?;
        let Some(offset) = numbers.next() else {
            return Some(buffer);
        };
        let (offset, length) = (offset?, numbers.next()??);
        let end = offset.checked_add(length)?;
        (end <= buffer.len() && numbers.next().is_none()).then(|| buffer.slice(offset..end))
    }
}

/// Reads any value.
#[derive(Clone, Copy)]
pub(crate) struct Any<R>(pub(crate) R);

impl<'de, R: Reading> DeserializeSeed<'de> for Any<R> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, R: Reading> Visitor<'de> for Any<R> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Value, E> {
        self.0.text(text)
    }

    fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Value, E> {
        Ok(Value::Buffer(Bytes::copy_from_slice(bytes)))
    }

    fn visit_byte_buf<E>(self, bytes: Vec<u8>) -> Result<Value, E> {
        Ok(Value::Buffer(bytes.into()))
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, inner: D) -> Result<Value, D::Error> {
        inner.deserialize_any(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut elements = Vec::new();
        while let Some(element) = seq.next_element_seed(self)? {
            elements.push(element);
        }
        Ok(Value::Array(elements))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut object = Object::new();
        while let Some(key) = map.next_key::<String>()? {
            let value = if R::NODE_BUFFERS && key == "data" && says_buffer(&object) {
                map.next_value_seed(Data)?
            } else {
                map.next_value_seed(self)?
            };
            object.insert(key, value);
        }
        if R::NODE_BUFFERS && object.len() == 2 && says_buffer(&object) {
            return Ok(match object.remove("data") {
                Some(buffer @ Value::Buffer(_)) => buffer,
                Some(data) => Object::from_iter([("type", "Buffer".into()), ("data", data)]).into(),
                None => object.into(),
            });
        }
        Ok(object.into())
    }
}

fn says_buffer(object: &Object) -> bool {
    object.get("type").and_then(Value::as_str) == Some("Buffer")
}

/// The `data` of what may be a buffer. Numbers that are bytes are kept as bytes while they come: a
/// [`Value`] for each would take over thirty times the room.
struct Data;

impl<'de> DeserializeSeed<'de> for Data {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Data {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the bytes of a buffer")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut bytes = Vec::new();
        while let Some(element) = seq.next_element_seed(Any(NodeBuffers))? {
            match element.as_u64().and_then(|byte| u8::try_from(byte).ok()) {
                Some(byte) => bytes.push(byte),
                None => return rest_of_array(bytes, element, seq),
            }
        }
        Ok(Value::Buffer(bytes.into()))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Value, A::Error> {
        Any(NodeBuffers).visit_map(map)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }
}

/// The array that `bytes` and `element` are the beginning of: it is no buffer after all.
fn rest_of_array<'de, A: SeqAccess<'de>>(
    bytes: Vec<u8>,
    element: Value,
    mut seq: A,
) -> Result<Value, A::Error> {
    let mut elements: Vec<Value> = bytes.into_iter().map(Value::from).collect();
    elements.push(element);
    while let Some(element) = seq.next_element_seed(Any(NodeBuffers))? {
        elements.push(element);
    }
    Ok(Value::Array(elements))
}
