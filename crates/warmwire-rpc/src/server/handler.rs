//! Functions that can be exposed.

use std::future::{Future, ready};
use std::pin::Pin;

use serde::Serialize;
use serde::de::DeserializeOwned;
use warmwire_amp::{Fault, Value, from_value, to_result};

use super::{Caller, Context};

/// What a handler does with one call.
pub(crate) type Invocation = Pin<Box<dyn Future<Output = Result<Value, Fault>> + Send>>;

/// An async function that can be exposed: of up to eight parameters that serde can read, with or
/// without a [`Context`] before them, and with a `Result<_, Fault>` of what serde can write.
///
/// `M` only tells the forms apart; it is never named.
pub trait Handler<M>: Send + Sync + 'static {
    /// Runs it.
    #[doc(hidden)]
    fn invoke(&self, caller: &Caller<'_>, arguments: Vec<Value>) -> Invocation;

    /// The types of its parameters, for the list of methods.
    #[doc(hidden)]
    fn parameters() -> Vec<&'static str>;
}

/// Marks handlers that want a [`Context`].
#[derive(Debug)]
pub struct WithContext<M>(std::marker::PhantomData<M>);

macro_rules! handlers {
    ($count:literal $($arg:ident)*) => {
        impl<Function, Outcome, Output, $($arg),*> Handler<($($arg,)*)> for Function
        where
            Function: Fn($($arg),*) -> Outcome + Send + Sync + 'static,
            Outcome: Future<Output = Result<Output, Fault>> + Send + 'static,
            Output: Serialize,
            $($arg: DeserializeOwned,)*
        {
            fn invoke(&self, _: &Caller<'_>, arguments: Vec<Value>) -> Invocation {
                handlers!(read $count, arguments, $($arg)*);
                finish(self($($arg),*))
            }

            fn parameters() -> Vec<&'static str> {
                vec![$(short_name::<$arg>()),*]
            }
        }

        impl<Function, Outcome, Output, $($arg),*> Handler<WithContext<($($arg,)*)>> for Function
        where
            Function: Fn(Context, $($arg),*) -> Outcome + Send + Sync + 'static,
            Outcome: Future<Output = Result<Output, Fault>> + Send + 'static,
            Output: Serialize,
            $($arg: DeserializeOwned,)*
        {
            fn invoke(&self, caller: &Caller<'_>, arguments: Vec<Value>) -> Invocation {
                handlers!(read $count, arguments, $($arg)*);
                finish(self(caller.context(), $($arg),*))
            }

            fn parameters() -> Vec<&'static str> {
                vec![$(short_name::<$arg>()),*]
            }
        }
    };
    (read $count:literal, $arguments:ident, $($arg:ident)*) => {
        let mut arguments = match Arguments::of($arguments, $count) {
            Ok(arguments) => arguments,
            Err(fault) => return Box::pin(ready(Err(fault))),
        };
        $(
            #[expect(non_snake_case, reason = "named as their types")]
            let $arg = match arguments.next::<$arg>() {
                Ok(value) => value,
                Err(fault) => return Box::pin(ready(Err(fault))),
            };
        )*
        let _ = &mut arguments;
    };
}

handlers!(0);
handlers!(1 A);
handlers!(2 A B);
handlers!(3 A B C);
handlers!(4 A B C D);
handlers!(5 A B C D E);
handlers!(6 A B C D E F);
handlers!(7 A B C D E F G);
handlers!(8 A B C D E F G H);

/// The code of the fault for arguments that do not fit.
const BAD_ARGUMENTS: &str = "bad_arguments";

/// The arguments of a call while they are read. As in JavaScript, missing ones are undefined.
struct Arguments {
    given: std::vec::IntoIter<Value>,
    count: usize,
    number: usize,
}

impl Arguments {
    fn of(given: Vec<Value>, expected: usize) -> Result<Arguments, Fault> {
        let count = given.len();
        if count > expected {
            return Err(bad(format!("{expected} arguments are expected and {count} were given")));
        }
        Ok(Arguments { given: given.into_iter(), count, number: 0 })
    }

    fn next<T: DeserializeOwned>(&mut self) -> Result<T, Fault> {
        self.number += 1;
        let value = self.given.next().unwrap_or_default();
        from_value(value).map_err(|error| {
            let number = self.number;
            bad(match number > self.count {
                true => format!("argument {number} is missing: {}", short_name::<T>()),
                false => format!("argument {number}: {error}"),
            })
        })
    }
}

fn bad(message: String) -> Fault {
    Fault::new(message).code(BAD_ARGUMENTS)
}

fn finish<F, R>(outcome: F) -> Invocation
where
    F: Future<Output = Result<R, Fault>> + Send + 'static,
    R: Serialize,
{
    Box::pin(async move {
        let result = outcome.await?;
        to_result(&result).map_err(|error| Fault::new(format!("the result: {error}")))
    })
}

/// The name of a type without its path: what a caller has to give.
fn short_name<T>() -> &'static str {
    let name = std::any::type_name::<T>();
    let end = name.find('<').unwrap_or(name.len());
    name[..end].rfind("::").map_or(name, |at| &name[at + 2..])
}
