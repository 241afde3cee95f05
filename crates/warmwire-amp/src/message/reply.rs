//! What a server answers.

use bytes::Bytes;

use super::extended::{self, Kind};
use super::request::{object, write_json};
use super::{Dialect, Received, Unreadable};
use crate::value::{Object, Value};
use crate::{Fault, Frame, FrameWriter};

/// What a server answers.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    /// The results of a call. There may be none, and in Node several.
    Results(Vec<Value>),
    /// Why there is no result.
    Fault(Fault),
    /// The methods: for each name an object with `name` and `params`.
    Methods(Object),
    /// An answer to a ping.
    Pong,
}

impl Reply {
    /// Writes the frame that answers the request `id` of a peer that understands `dialect`.
    pub fn write(&self, id: &Bytes, dialect: Dialect, out: &mut FrameWriter) {
        match (self, dialect) {
            (Self::Results(results), Dialect::Extended) => {
                extended::write(Kind::Result, &[], results, out);
            }
            (Self::Fault(fault), Dialect::Extended) => {
                let fault = [
                    fault.message().into(),
                    fault.code_value().clone(),
                    fault.data_value().clone(),
                ];
                extended::write(Kind::Fault, &[], &fault, out);
            }
            (Self::Methods(methods), Dialect::Extended) => {
                extended::write(Kind::MethodList, &[], &[methods.clone().into()], out);
            }
            (Self::Pong, _) => extended::write_bare(Kind::Pong, out),
            (Self::Results(results), Dialect::Axon) => {
                write_entry("args", results.clone().into(), out);
            }
            (Self::Fault(fault), Dialect::Axon) => write_json(&fault.to_object().into(), out),
            (Self::Methods(methods), Dialect::Axon) => {
                write_entry("methods", methods.clone().into(), out);
            }
        }
        out.raw(id);
    }

    /// Reads what a server answered.
    ///
    /// # Errors
    ///
    /// [`Unreadable`], which ends the call that it belongs to where it has an id. Without one the
    /// peer has lost step, or never spoke AMP.
    pub fn read(mut frame: Frame) -> Result<Received<Self>, Unreadable> {
        let id = frame.pop();
        let is_extended = extended::is_extended(&frame);
        let dialect = if is_extended { Dialect::Extended } else { Dialect::Axon };
        let Some(id) = id else {
            let fault = Fault::new("a frame without arguments is no reply");
            return Err(Unreadable { id, dialect, fault });
        };
        let read = if is_extended { read_extended(&frame) } else { read_axon(&frame) };
        match read {
            Ok(message) => Ok(Received { id, message, dialect }),
            Err(fault) => Err(Unreadable { id: Some(id), dialect, fault }),
        }
    }
}

fn write_entry(key: &str, value: Value, out: &mut FrameWriter) {
    write_json(&Object::from_iter([(key, value)]).into(), out);
}

fn read_extended(frame: &Frame) -> Result<Reply, Fault> {
    let parts = extended::read(frame)?;
    match parts.kind {
        Kind::Result => Ok(Reply::Results(parts.values)),
        Kind::Fault => {
            let mut values = parts.values.into_iter();
            let mut next = || values.next().unwrap_or_default();
            let Value::String(message) = next() else {
                return Err(Fault::new("a fault begins with its message"));
            };
            Ok(Reply::Fault(Fault::new(message).code(next()).data(next())))
        }
        Kind::MethodList => match parts.values.into_iter().next() {
            Some(Value::Object(methods)) => Ok(Reply::Methods(methods)),
            _ => Err(Fault::new("a list of methods is an object")),
        },
        Kind::Pong => Ok(Reply::Pong),
        request => Err(Fault::new(format!("a {request:?} is a request and no reply"))),
    }
}

fn read_axon(frame: &Frame) -> Result<Reply, Fault> {
    let mut reply = object(frame)?;
    // The key decides and not what it holds: an empty message is an error too.
    if reply.contains_key("error") {
        return Ok(Reply::Fault(Fault::from_object(reply)));
    }
    match (reply.remove("args"), reply.remove("methods")) {
        (Some(Value::Array(results)), _) => Ok(Reply::Results(results)),
        (None, Some(Value::Object(methods))) => Ok(Reply::Methods(methods)),
        (None, None) => {
            Err(Fault::new("a reply has args, methods or error, and this one has none"))
        }
        _ => Err(Fault::new("args of a reply is an array, and methods an object")),
    }
}
