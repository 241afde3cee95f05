//! Values from the plain types.

use bytes::Bytes;

use super::{Number, Object, Value};

macro_rules! from_integers {
    ($($small:ty => $wide:ty),*) => {$(
        impl From<$small> for Value {
            fn from(value: $small) -> Self {
                Self::Number(Number::from(<$wide>::from(value)))
            }
        }
    )*};
}

from_integers!(i8 => i64, i16 => i64, i32 => i64, i64 => i64);
from_integers!(u8 => u64, u16 => u64, u32 => u64, u64 => u64);
from_integers!(f32 => f64, f64 => f64);

impl From<usize> for Value {
    fn from(value: usize) -> Self {
        // No machine of today has more than 64 bits.
        Self::from(value as u64)
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<Number> for Value {
    fn from(value: Number) -> Self {
        Self::Number(value)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::String(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::String(text)
    }
}

impl From<Bytes> for Value {
    fn from(bytes: Bytes) -> Self {
        Self::Buffer(bytes)
    }
}

impl From<Vec<Value>> for Value {
    fn from(elements: Vec<Value>) -> Self {
        Self::Array(elements)
    }
}

impl From<Object> for Value {
    fn from(object: Object) -> Self {
        Self::Object(object)
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    /// Null for `None`.
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl From<()> for Value {
    /// Undefined, as a JavaScript function without a result gives it.
    fn from((): ()) -> Self {
        Self::Undefined
    }
}
