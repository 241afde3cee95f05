//! The arguments of a call.

use serde::Serialize;
use warmwire_amp::{Value, ValueError, to_value};

/// What a call can be given: a tuple of up to eight values that serde knows, such as `(5,)`,
/// `("a", 1.5)` or `()`, or a `Vec<Value>`.
///
/// A [`Value`] in it is shared and not copied, [`Bytes`](bytes::Bytes) are copied once.
pub trait Args: Send {
    /// The arguments as values.
    ///
    /// # Errors
    ///
    /// Where serde cannot make a value of one.
    fn into_values(self) -> Result<Vec<Value>, ValueError>;
}

impl Args for () {
    fn into_values(self) -> Result<Vec<Value>, ValueError> {
        Ok(Vec::new())
    }
}

impl Args for Vec<Value> {
    fn into_values(self) -> Result<Vec<Value>, ValueError> {
        Ok(self)
    }
}

macro_rules! tuples {
    ($($name:ident)+) => {
        impl<$($name: Serialize + Send),+> Args for ($($name,)+) {
            fn into_values(self) -> Result<Vec<Value>, ValueError> {
                #[expect(non_snake_case, reason = "named as their types")]
                let ($($name,)+) = self;
                Ok(vec![$(to_value(&$name)?),+])
            }
        }
    };
}

tuples!(A);
tuples!(A B);
tuples!(A B C);
tuples!(A B C D);
tuples!(A B C D E);
tuples!(A B C D E F);
tuples!(A B C D E F G);
tuples!(A B C D E F G H);
