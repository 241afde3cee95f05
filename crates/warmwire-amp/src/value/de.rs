//! Any `Deserialize` from a [`Value`].

use std::fmt;

use serde::de::value::{MapDeserializer, SeqDeserializer, StringDeserializer};
use serde::de::{
    Deserialize, DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, Error as _,
    IntoDeserializer, VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;

use super::number::Kind;
use super::{Object, Value, ValueError, lend};
use crate::json::{Any, NodeBuffers};

/// The Rust value that `value` is for serde.
///
/// Undefined and null are `None` and `()`, a buffer is bytes (and, for types that ask for text, text
/// if it is UTF-8), whole floats are integers where an integer is asked for. A [`Value`] is moved
/// and not copied.
///
/// # Errors
///
/// Where the type does not fit; the message says what was asked for and what there is.
pub fn from_value<T: DeserializeOwned>(value: Value) -> Result<T, ValueError> {
    T::deserialize(FromValue(value))
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_newtype_struct(lend::NAME, Taken)
    }
}

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::Object(object) => Ok(object),
            other => Err(D::Error::custom(format!("expected an object, got {}", other.kind()))),
        }
    }
}

/// Takes a whole value if it is offered, and builds it from its parts if not.
struct Taken;

impl<'de> Visitor<'de> for Taken {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, parts: D) -> Result<Value, D::Error> {
        match lend::take() {
            Some(value) => Ok(value),
            None => parts.deserialize_any(Any(NodeBuffers)),
        }
    }
}

struct FromValue(Value);

impl<'de> Deserializer<'de> for FromValue {
    type Error = ValueError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        match self.0 {
            Value::Undefined | Value::Null => visitor.visit_unit(),
            Value::Bool(value) => visitor.visit_bool(value),
            Value::Number(number) => match number.kind() {
                Kind::Signed(value) => visitor.visit_i64(value),
                Kind::Unsigned(value) => visitor.visit_u64(value),
                Kind::Float(value) => visitor.visit_f64(value),
            },
            Value::String(text) => visitor.visit_string(text),
            Value::Buffer(bytes) => visitor.visit_byte_buf(bytes.into()),
            Value::Array(elements) => sequence(elements.into_iter().map(FromValue), visitor),
            Value::Object(object) => {
                let mut entries = MapDeserializer::new(
                    object.into_iter().map(|(key, value)| (key, FromValue(value))),
                );
                let value = visitor.visit_map(&mut entries)?;
                entries.end()?;
                Ok(value)
            }
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        if self.0.is_nothing() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, ValueError> {
        if name == lend::NAME {
            lend::offer(self.0, || visitor.visit_newtype_struct(FromValue(Value::Undefined)))
        } else {
            visitor.visit_newtype_struct(self)
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ValueError> {
        match self.0 {
            Value::String(variant) => visitor.visit_enum(variant.into_deserializer()),
            Value::Object(object) if object.len() == 1 => match object.into_iter().next() {
                Some((variant, content)) => visitor.visit_enum(Tagged { variant, content }),
                None => Err(ValueError::custom("an empty object")),
            },
            other => Err(ValueError::custom(format!(
                "an enum is text or an object with one entry, not {}",
                other.kind()
            ))),
        }
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        self.deserialize_string(visitor)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        match self.0 {
            Value::Buffer(bytes) => match String::from_utf8(bytes.into()) {
                Ok(text) => visitor.visit_string(text),
                Err(error) => Err(ValueError::custom(format!(
                    "invalid type: a buffer that is not UTF-8 ({error}), expected text"
                ))),
            },
            other => Self(other).deserialize_any(visitor),
        }
    }

    fn deserialize_i64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        whole(self.0, visitor)
    }

    fn deserialize_u64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        whole(self.0, visitor)
    }

    fn deserialize_i32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        whole(self.0, visitor)
    }

    fn deserialize_u32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        whole(self.0, visitor)
    }

    fn deserialize_i16<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        whole(self.0, visitor)
    }

    fn deserialize_u16<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        whole(self.0, visitor)
    }

    fn deserialize_i8<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        whole(self.0, visitor)
    }

    fn deserialize_u8<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        whole(self.0, visitor)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        match self.0 {
            // A `Vec<u8>` asks for a sequence and means bytes.
            Value::Buffer(bytes) => sequence(bytes.into_iter(), visitor),
            other => Self(other).deserialize_any(visitor),
        }
    }

    forward_to_deserialize_any! {
        bool i128 u128 f32 f64 char bytes byte_buf unit unit_struct tuple tuple_struct map struct
        identifier ignored_any
    }
}

/// A number for a type that asks for an integer: Node's and other peers' `1.0` is one.
fn whole<'de, V: Visitor<'de>>(value: Value, visitor: V) -> Result<V::Value, ValueError> {
    match (value.as_i64(), value.as_u64()) {
        (Some(value), _) => visitor.visit_i64(value),
        (_, Some(value)) => visitor.visit_u64(value),
        _ => FromValue(value).deserialize_any(visitor),
    }
}

fn sequence<'de, V, T>(
    elements: impl Iterator<Item = T>,
    visitor: V,
) -> Result<V::Value, ValueError>
where
    V: Visitor<'de>,
    T: IntoDeserializer<'de, ValueError>,
{
    let mut elements = SeqDeserializer::new(elements);
    let value = visitor.visit_seq(&mut elements)?;
    elements.end()?;
    Ok(value)
}

impl<'de> IntoDeserializer<'de, ValueError> for FromValue {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

/// An enum's variant with what belongs to it.
struct Tagged {
    variant: String,
    content: Value,
}

impl<'de> EnumAccess<'de> for Tagged {
    type Error = ValueError;
    type Variant = FromValue;

    fn variant_seed<T: DeserializeSeed<'de>>(
        self,
        seed: T,
    ) -> Result<(T::Value, FromValue), ValueError> {
        let variant: StringDeserializer<ValueError> = self.variant.into_deserializer();
        Ok((seed.deserialize(variant)?, FromValue(self.content)))
    }
}

impl<'de> VariantAccess<'de> for FromValue {
    type Error = ValueError;

    fn unit_variant(self) -> Result<(), ValueError> {
        <()>::deserialize(self)
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(
        self,
        seed: T,
    ) -> Result<T::Value, ValueError> {
        seed.deserialize(self)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, ValueError> {
        self.deserialize_any(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ValueError> {
        self.deserialize_any(visitor)
    }
}
