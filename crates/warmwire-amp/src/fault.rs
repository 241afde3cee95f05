//! What a handler answers when it has no result.

use std::fmt;

use crate::value::{Object, Value};

/// A handler's refusal, as its caller gets it.
///
/// Any error becomes a fault with its text as the message, so `?` works in handlers. Between two
/// Warmwire ends and towards Node the code and the data arrive as they are. A stack trace is never
/// sent; one that a Node peer sent is in [`stack`](Self::stack).
// Boxed, since it stands in the error of a `Result` nearly everywhere.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault(Box<Parts>);

#[derive(Clone, Debug, PartialEq)]
struct Parts {
    message: String,
    code: Value,
    data: Value,
    stack: Option<String>,
}

impl Fault {
    /// A fault that says `message`.
    pub fn new(message: impl Into<String>) -> Self {
        Self(Box::new(Parts {
            message: message.into(),
            code: Value::Undefined,
            data: Value::Undefined,
            stack: None,
        }))
    }

    /// With a code for programs to tell faults apart; text or a number as a rule.
    #[must_use]
    pub fn code(mut self, code: impl Into<Value>) -> Self {
        self.0.code = code.into();
        self
    }

    /// With more that the caller may need.
    #[must_use]
    pub fn data(mut self, data: impl Into<Value>) -> Self {
        self.0.data = data.into();
        self
    }

    /// What went wrong, for people.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The code; [`Value::Undefined`] if none was given.
    pub fn code_value(&self) -> &Value {
        &self.0.code
    }

    /// The code, if it is text.
    pub fn code_str(&self) -> Option<&str> {
        self.0.code.as_str()
    }

    /// The data; [`Value::Undefined`] if none was given. Where an axon peer gave an error that is
    /// no text, that is here.
    pub fn data_value(&self) -> &Value {
        &self.0.data
    }

    /// The stack trace that an axon peer sent.
    pub fn stack(&self) -> Option<&str> {
        self.0.stack.as_deref()
    }

    /// The reply of axon-rpc, with code and data beside its `error`.
    pub(crate) fn to_object(&self) -> Object {
        let mut object = Object::new();
        object.insert("error", self.0.message.as_str());
        for (key, value) in [("code", &self.0.code), ("data", &self.0.data)] {
            if *value != Value::Undefined {
                object.insert(key, value.clone());
            }
        }
        object
    }

    /// The fault in a reply of axon-rpc. Its `error` need not be text (pm2-axon-rpc passes any
    /// value), and may be empty.
    pub(crate) fn from_object(mut object: Object) -> Self {
        let mut take = |key| object.remove(key).unwrap_or(Value::Undefined);
        let (message, mut data) = match take("error") {
            Value::String(message) => (message, take("data")),
            other => (other.to_string(), other),
        };
        if data == Value::Undefined {
            data = take("data");
        }
        Self(Box::new(Parts {
            message,
            code: take("code"),
            data,
            stack: match take("stack") {
                Value::String(stack) => Some(stack),
                _ => None,
            },
        }))
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl<E: std::error::Error> From<E> for Fault {
    fn from(error: E) -> Self {
        Self::new(error.to_string())
    }
}
