//! Any `Serialize` as a [`Value`].

use bytes::Bytes;
use serde::ser::{self, Serialize, Serializer};

use super::{Number, Object, Value, ValueError, lend};

/// The value that `value` is for serde.
///
/// Bytes (`Bytes`, `serde_bytes`) become a buffer, options and unit null, enum variants objects with
/// one entry as in serde's JSON, keys that are numbers, booleans or characters text. A [`Value`] in
/// `value`, and the bytes in it, are shared and not copied.
///
/// # Errors
///
/// Where `Serialize` itself fails, for keys that are no text, and for integers beyond 64 bits.
pub fn to_value<T: Serialize + ?Sized>(value: &T) -> Result<Value, ValueError> {
    value.serialize(ToValue { unit: Value::Null })
}

/// What a handler's `result` is as a value: as [`to_value`], but `()` is undefined, which is what a
/// JavaScript function without a result gives.
///
/// # Errors
///
/// As [`to_value`].
pub fn to_result<T: Serialize + ?Sized>(result: &T) -> Result<Value, ValueError> {
    result.serialize(ToValue { unit: Value::Undefined })
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_newtype_struct(lend::NAME, &Lent(self))
    }
}

impl Serialize for Object {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

struct Lent<'a>(&'a Value);

impl Serialize for Lent<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if lend::put(|| self.0.clone()) {
            return serializer.serialize_unit();
        }
        match self.0 {
            Value::Undefined => serializer.serialize_unit_struct(lend::UNDEFINED),
            Value::Null => serializer.serialize_unit(),
            Value::Bool(value) => serializer.serialize_bool(*value),
            Value::Number(number) => number.serialize(serializer),
            Value::String(text) => serializer.serialize_str(text),
            Value::Buffer(bytes) => serializer.serialize_bytes(bytes),
            Value::Array(elements) => serializer.collect_seq(elements),
            Value::Object(object) => object.serialize(serializer),
        }
    }
}

struct ToValue {
    /// What unit is.
    unit: Value,
}

macro_rules! numbers {
    ($($method:ident $type:ty)*) => {$(
        fn $method(self, value: $type) -> Result<Value, ValueError> {
            Ok(Value::from(value))
        }
    )*};
}

impl Serializer for ToValue {
    type Ok = Value;
    type Error = ValueError;
    type SerializeSeq = Elements;
    type SerializeTuple = Elements;
    type SerializeTupleStruct = Elements;
    type SerializeTupleVariant = Elements;
    type SerializeMap = Entries;
    type SerializeStruct = Entries;
    type SerializeStructVariant = Entries;

    numbers! {
        serialize_bool bool
        serialize_i8 i8 serialize_i16 i16 serialize_i32 i32 serialize_i64 i64
        serialize_u8 u8 serialize_u16 u16 serialize_u32 u32 serialize_u64 u64
        serialize_f32 f32 serialize_f64 f64
        serialize_str &str
    }

    fn serialize_i128(self, value: i128) -> Result<Value, ValueError> {
        match (i64::try_from(value), u64::try_from(value)) {
            (Ok(value), _) => Ok(value.into()),
            (_, Ok(value)) => Ok(value.into()),
            _ => Err(beyond_64_bits(value)),
        }
    }

    fn serialize_u128(self, value: u128) -> Result<Value, ValueError> {
        let value = u64::try_from(value).map_err(|_| beyond_64_bits(value))?;
        Ok(value.into())
    }

    fn serialize_char(self, value: char) -> Result<Value, ValueError> {
        Ok(Value::String(value.into()))
    }

    fn serialize_bytes(self, bytes: &[u8]) -> Result<Value, ValueError> {
        Ok(Value::Buffer(Bytes::copy_from_slice(bytes)))
    }

    fn serialize_none(self) -> Result<Value, ValueError> {
        Ok(Value::Null)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<Value, ValueError> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<Value, ValueError> {
        Ok(self.unit)
    }

    fn serialize_unit_struct(self, name: &'static str) -> Result<Value, ValueError> {
        Ok(if name == lend::UNDEFINED { Value::Undefined } else { Value::Null })
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<Value, ValueError> {
        Ok(variant.into())
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        value: &T,
    ) -> Result<Value, ValueError> {
        if name != lend::NAME {
            return value.serialize(self);
        }
        let (serialized, lent) = lend::receive(|| value.serialize(self));
        lent.map_or(serialized, Ok)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<Value, ValueError> {
        Ok(tagged(Some(variant), to_value(value)?))
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Elements, ValueError> {
        Ok(Elements::of(None))
    }

    fn serialize_tuple(self, _: usize) -> Result<Elements, ValueError> {
        Ok(Elements::of(None))
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Elements, ValueError> {
        Ok(Elements::of(None))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Elements, ValueError> {
        Ok(Elements::of(Some(variant)))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Entries, ValueError> {
        Ok(Entries::of(None))
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Entries, ValueError> {
        Ok(Entries::of(None))
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Entries, ValueError> {
        Ok(Entries::of(Some(variant)))
    }
}

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use super::number::Kind;
        match self.kind() {
            Kind::Signed(value) => serializer.serialize_i64(value),
            Kind::Unsigned(value) => serializer.serialize_u64(value),
            Kind::Float(value) => serializer.serialize_f64(value),
        }
    }
}

fn beyond_64_bits(value: impl std::fmt::Display) -> ValueError {
    ser::Error::custom(format!("{value} does not fit into 64 bits: send it as text"))
}

/// `{"variant": value}`, as serde's JSON tags enums, or the value itself.
fn tagged(variant: Option<&'static str>, value: Value) -> Value {
    match variant {
        Some(variant) => Value::Object(Object::from_iter([(variant, value)])),
        None => value,
    }
}

struct Elements {
    variant: Option<&'static str>,
    elements: Vec<Value>,
}

impl Elements {
    fn of(variant: Option<&'static str>) -> Self {
        Self { variant, elements: Vec::new() }
    }

    fn add<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), ValueError> {
        self.elements.push(to_value(value)?);
        Ok(())
    }

    fn done(self) -> Result<Value, ValueError> {
        Ok(tagged(self.variant, Value::Array(self.elements)))
    }
}

macro_rules! elements {
    ($($of:ident $add:ident),*) => {$(
        impl ser::$of for Elements {
            type Ok = Value;
            type Error = ValueError;

            fn $add<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), ValueError> {
                self.add(value)
            }

            fn end(self) -> Result<Value, ValueError> {
                self.done()
            }
        }
    )*};
}

elements!(
    SerializeSeq serialize_element,
    SerializeTuple serialize_element,
    SerializeTupleStruct serialize_field,
    SerializeTupleVariant serialize_field
);

struct Entries {
    variant: Option<&'static str>,
    key: Option<String>,
    object: Object,
}

impl Entries {
    fn of(variant: Option<&'static str>) -> Self {
        Self { variant, key: None, object: Object::new() }
    }

    fn done(self) -> Result<Value, ValueError> {
        Ok(tagged(self.variant, Value::Object(self.object)))
    }
}

impl ser::SerializeMap for Entries {
    type Ok = Value;
    type Error = ValueError;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), ValueError> {
        self.key = Some(match to_value(key)? {
            Value::String(text) => text,
            Value::Number(number) => number.to_string(),
            Value::Bool(value) => value.to_string(),
            other => {
                let kind = other.kind();
                return Err(ser::Error::custom(format!("an object's key is text, not {kind}")));
            }
        });
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), ValueError> {
        let key = self.key.take().unwrap_or_default();
        self.object.insert(key, to_value(value)?);
        Ok(())
    }

    fn end(self) -> Result<Value, ValueError> {
        self.done()
    }
}

macro_rules! entries {
    ($($of:ident),*) => {$(
        impl ser::$of for Entries {
            type Ok = Value;
            type Error = ValueError;

            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                key: &'static str,
                value: &T,
            ) -> Result<(), ValueError> {
                self.object.insert(key, to_value(value)?);
                Ok(())
            }

            fn end(self) -> Result<Value, ValueError> {
                self.done()
            }
        }
    )*};
}

entries!(SerializeStruct, SerializeStructVariant);
