//! What a client asks.

use std::time::Duration;

use bytes::{Buf, Bytes};

use super::extended::{self, Kind};
use super::{Dialect, Received, Unreadable, milliseconds};
use crate::argument::{Argument, JSON};
use crate::json::{loses, read_skeleton, write_node, write_skeleton};
use crate::value::{Object, Value};
use crate::{Fault, Frame, FrameWriter};

/// A call of a method.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Call {
    /// The method's name.
    pub method: String,
    /// The arguments.
    pub arguments: Vec<Value>,
    /// How long the caller will wait; a Warmwire server gives up by itself then.
    pub deadline: Option<Duration>,
    /// Nobody waits for an answer. An axon server answers nevertheless.
    pub notify: bool,
}

/// What a client asks.
#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    /// To call a method.
    Call(Call),
    /// Which methods there are.
    Methods,
    /// Whether anybody is there. An axon server says that it has no method `ww:ping`, which answers
    /// the question.
    Ping,
    /// To stop the call of the same id. Written to a Warmwire server only.
    Cancel,
}

/// The method that a ping is for an axon server: one that nobody exposes. (Asking for its methods
/// instead ends a server of Node that exposes an arrow function.)
const PING: &str = "ww:ping";

impl Request {
    /// Writes all of the frame but its id, which is to follow by [`write_id`](super::write_id).
    pub fn write(&self, dialect: Dialect, out: &mut FrameWriter) {
        match (self, dialect) {
            (Self::Call(call), Dialect::Extended) => {
                let kind = if call.notify { Kind::Notify } else { Kind::Call };
                let deadline = call.deadline.map_or(0, milliseconds).to_be_bytes();
                let more = [&deadline[..], call.method.as_bytes()];
                extended::write(kind, &more, &call.arguments, out);
            }
            (Self::Methods, Dialect::Extended) => extended::write_bare(Kind::Methods, out),
            (Self::Ping, Dialect::Extended) => extended::write_bare(Kind::Ping, out),
            (Self::Cancel, _) => extended::write_bare(Kind::Cancel, out),
            (Self::Call(call), Dialect::Axon) => write_axon(call, &Offer::of(call), out),
            (Self::Methods, Dialect::Axon) => {
                let methods = Object::from_iter([
                    ("type", Value::from("methods")),
                    ("ww", Offer::default().into()),
                ]);
                write_json(&methods.into(), out);
            }
            (Self::Ping, Dialect::Axon) => {
                let call = Call { method: PING.to_owned(), ..Call::default() };
                let offer = Offer { ping: true, ..Offer::default() };
                write_axon(&call, &offer, out);
            }
        }
    }

    /// Reads what a client sent.
    ///
    /// # Errors
    ///
    /// [`Unreadable`], to be answered with its fault where it has an id. Without one the peer has
    /// lost step, or never spoke AMP, and the connection is of no further use.
    pub fn read(mut frame: Frame) -> Result<Received<Self>, Unreadable> {
        let id = frame.pop();
        let is_extended = extended::is_extended(&frame);
        let dialect = if is_extended { Dialect::Extended } else { Dialect::Axon };
        let Some(id) = id else {
            let fault = Fault::new("a frame without arguments is no request");
            return Err(Unreadable { id, dialect, fault });
        };
        let read = if is_extended { read_extended(&frame) } else { read_axon(&frame) };
        match read {
            Ok((message, dialect)) => Ok(Received { id, message, dialect }),
            Err(fault) => Err(Unreadable { id: Some(id), dialect, fault }),
        }
    }
}

fn read_extended(frame: &Frame) -> Result<(Request, Dialect), Fault> {
    let mut parts = extended::read(frame)?;
    let request = match parts.kind {
        Kind::Call | Kind::Notify => {
            let left =
                parts.more.try_get_u32().map_err(|_| Fault::new("a call without deadline"))?;
            Request::Call(Call {
                method: text(&parts.more)?,
                arguments: parts.values,
                deadline: (left > 0).then(|| Duration::from_millis(left.into())),
                notify: parts.kind == Kind::Notify,
            })
        }
        Kind::Cancel => Request::Cancel,
        Kind::Ping => Request::Ping,
        Kind::Methods => Request::Methods,
        reply => return Err(Fault::new(format!("a {reply:?} is a reply and no request"))),
    };
    Ok((request, Dialect::Extended))
}

fn text(bytes: &Bytes) -> Result<String, Fault> {
    let text = std::str::from_utf8(bytes).map_err(|_| Fault::new("a method's name is UTF-8"))?;
    Ok(text.to_owned())
}

fn read_axon(frame: &Frame) -> Result<(Request, Dialect), Fault> {
    let mut message = object(frame)?;
    let offer = message.remove("ww").map(Offer::read).transpose()?;
    let dialect = if offer.is_some() { Dialect::Extended } else { Dialect::Axon };
    let offer = offer.unwrap_or_default();
    if message.get("type").and_then(Value::as_str) == Some("methods") {
        return Ok((Request::Methods, dialect));
    }
    if offer.ping {
        return Ok((Request::Ping, dialect));
    }
    // The texts of axon-rpc. A message without a type is a call there.
    let method = match message.remove("method") {
        Some(Value::String(method)) if !method.is_empty() => method,
        None | Some(Value::Null | Value::String(_)) => return Err(Fault::new(".method required")),
        Some(other) => {
            return Err(Fault::new(format!(".method must be a string, not {}", other.kind())));
        }
    };
    let arguments = match (offer.arguments, message.remove("args")) {
        (Some(exact), _) => exact,
        (None, Some(Value::Array(arguments))) => arguments,
        (None, None | Some(Value::Null)) => return Err(Fault::new(".args required")),
        (None, Some(other)) => {
            return Err(Fault::new(format!(".args must be an array, not {}", other.kind())));
        }
    };
    let call = Call { method, arguments, deadline: offer.deadline, notify: offer.notify };
    Ok((Request::Call(call), dialect))
}

/// The one JSON object that a request or reply of axon-rpc is.
pub(super) fn object(frame: &Frame) -> Result<Object, Fault> {
    let count = frame.len();
    let message = frame.bytes(0).filter(|_| count == 1);
    let message = message.ok_or_else(|| {
        Fault::new(format!("a message is one argument and an id, not {count} arguments and an id"))
    })?;
    match Argument::read(message) {
        Ok(Argument::Json(Value::Object(message))) => Ok(message),
        Ok(other) => {
            Err(Fault::new(format!("a message is an object, not {}", other.into_value().kind())))
        }
        Err(error) => Err(Fault::new(error.to_string())),
    }
}

fn write_axon(call: &Call, offer: &Offer, out: &mut FrameWriter) {
    // In the order in which axon-rpc writes them.
    let message = Object::from_iter([
        ("type", Value::from("call")),
        ("method", call.method.as_str().into()),
        ("args", call.arguments.clone().into()),
        ("ww", offer.into()),
    ]);
    write_json(&message.into(), out);
}

/// Begins a frame of one JSON argument and an id.
pub(super) fn write_json(message: &Value, out: &mut FrameWriter) {
    let begun = out.head(2);
    debug_assert!(begun.is_ok(), "{begun:?}");
    out.appended(|buffer| {
        buffer.extend_from_slice(JSON);
        write_node(message, buffer);
    });
}

/// What a Warmwire client says beside the message of axon-rpc.
#[derive(Debug, Default)]
struct Offer {
    deadline: Option<Duration>,
    notify: bool,
    ping: bool,
    /// The arguments without loss, where Node's JSON loses something.
    arguments: Option<Vec<Value>>,
}

impl Offer {
    fn of(call: &Call) -> Self {
        Self {
            deadline: call.deadline,
            notify: call.notify,
            ping: false,
            arguments: call.arguments.iter().any(loses).then(|| call.arguments.clone()),
        }
    }

    fn read(offer: Value) -> Result<Self, Fault> {
        let Value::Object(offer) = offer else {
            return Err(Fault::new(format!(".ww must be an object, not {}", offer.kind())));
        };
        let is = |key| offer.get(key).and_then(Value::as_bool).unwrap_or(false);
        Ok(Self {
            deadline: offer.get("deadline").and_then(Value::as_u64).map(Duration::from_millis),
            notify: is("notify"),
            ping: is("ping"),
            arguments: offer
                .get("args")
                .map(|args| exact(args, offer.get("buffers")))
                .transpose()?,
        })
    }
}

/// The arguments that the skeleton `args` stands for.
fn exact(args: &Value, buffers: Option<&Value>) -> Result<Vec<Value>, Fault> {
    let buffers = buffers.and_then(Value::as_array).unwrap_or_default();
    let buffers: Vec<_> = buffers.iter().filter_map(|buffer| buffer.as_buffer().cloned()).collect();
    let buffer = |number: usize| buffers.get(number).cloned();
    match args.as_str().map(|skeleton| read_skeleton(skeleton.as_bytes(), &buffer)) {
        Some(Ok(Value::Array(arguments))) => Ok(arguments),
        Some(Err(error)) => Err(Fault::new(format!(".ww.args: {error}"))),
        _ => Err(Fault::new(".ww.args must be text with the skeleton of an array")),
    }
}

impl From<&Offer> for Value {
    fn from(offer: &Offer) -> Self {
        let mut object = Object::from_iter([("v", 1)]);
        if let Some(deadline) = offer.deadline {
            object.insert("deadline", milliseconds(deadline));
        }
        for (key, set) in [("notify", offer.notify), ("ping", offer.ping)] {
            if set {
                object.insert(key, true);
            }
        }
        if let Some(arguments) = &offer.arguments {
            let mut text = Vec::new();
            let skeleton = write_skeleton(arguments, &mut text);
            object.insert("args", String::from_utf8_lossy(&text).into_owned());
            let buffers = skeleton.addressed();
            if !buffers.is_empty() {
                object.insert("buffers", buffers.into_iter().map(Self::from).collect::<Vec<_>>());
            }
        }
        object.into()
    }
}

impl From<Offer> for Value {
    fn from(offer: Offer) -> Self {
        Self::from(&offer)
    }
}
