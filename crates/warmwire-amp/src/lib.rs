//! The bytes of Warmwire's RPC, without a socket and without a clock.
//!
//! A connection carries **frames** ([`Frame`]), a frame carries up to fifteen **arguments**, and an
//! argument is a string, JSON or raw bytes ([`Argument`]). That much is npm's `amp` 0.3.1 and
//! `amp-message` 0.1.2. A [`message`] is what an RPC peer means by a frame: a call or its reply, in
//! the form of `axon-rpc` 0.0.3 that Node programs speak, or in the extended form that two Warmwire
//! ends speak once they know each other ([`Dialect`]). `docs/wire.md` of the repository describes
//! both byte by byte.
//!
//! ```
//! use bytes::BytesMut;
//! use warmwire_amp::{Argument, FrameReader, FrameWriter, Value, DEFAULT_MAX_MESSAGE};
//!
//! let mut out = FrameWriter::default();
//! out.frame(&[Argument::from("job"), Argument::from(Value::from(42))])?;
//!
//! let mut input = BytesMut::from(&out.to_vec()[..]);
//! let frame = FrameReader::new(DEFAULT_MAX_MESSAGE).next(&mut input)?.expect("a whole frame");
//! let first = frame.bytes(0).expect("an argument");
//! assert_eq!(Argument::read(first)?, Argument::from("job"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod argument;
mod fault;
mod frame;
mod json;
pub mod message;
mod table;
pub mod value;
mod write;

pub use argument::{Argument, ArgumentError};
pub use fault::Fault;
pub use frame::{DEFAULT_MAX_MESSAGE, Frame, FrameError, FrameReader, MAX_ARGUMENTS};
pub use message::Dialect;
pub use table::CallTable;
pub use value::{Number, Object, Value, ValueError, from_value, to_result, to_value};
pub use write::FrameWriter;
