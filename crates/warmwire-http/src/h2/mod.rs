//! HTTP/2: one connection that carries many requests at once, by hyper.
//!
//! The pool lends its streams as slots. [`driver`] runs a connection on a task of its own and tells
//! the pool what the peer says of it: how many streams it takes, that it goes away, that it is gone.
//! [`home`] says on which runtime.
//! An exchange is one stream: [`exchange`] sends its request and waits for the head, [`incoming`] is
//! the body, and dropping either resets the stream and nothing else.

mod connection;
mod driver;
mod exchange;
mod fault;
mod handshake;
mod home;
mod incoming;
mod moving;
mod outgoing;
mod replay;
mod settings;
mod tasks;

pub(crate) use connection::{Link, Stream};
pub(crate) use exchange::exchange;
pub(crate) use handshake::handshake;
pub(crate) use incoming::Incoming;
pub(crate) use replay::replay;
pub use settings::HttpVersion;
pub(crate) use settings::Settings;
