//! One HTTP/1.1 exchange, client side, as a pure state machine.
//!
//! An [`Exchange`] is one request and its response on one connection. It
//! writes the request into a buffer that the caller sends, reads the response
//! out of a buffer that the caller fills, and says three things that a pool has
//! to know:
//!
//! - how much of the request may have reached the server: [`Exchange::sent`];
//! - whether the connection may be used again, for how long the server keeps
//!   it, or why it must be closed (RFC 9112, section 9): [`Exchange::verdict`];
//! - what came that nobody asked for: [`CloseReason::SurplusBytes`],
//!   [`ResponseErrorKind::Unsolicited`].
//!
//! # What it never does
//!
//! It opens no socket, starts no task, reads no clock, writes no log, and never
//! decides to retry. It never guesses: where RFC 9112, section 6, leaves two
//! readings of where a message ends, the answer is an error. It allocates
//! nothing by a length that a peer states, never panics on what a peer sends,
//! and reads nothing without a finite bound ([`Limits`]) except the body, which
//! is handed on as it comes.
//!
//! # Two halves
//!
//! A response may begin before the request's body is sent, so the halves run
//! independently and only the verdict looks at both.
//!
//! ```text
//! sending      start            frame*             finish
//!   NotStarted ─────► body of known length ─────────────────► complete, once
//!                   ► body in chunks ──────── last chunk ───► wrote() has
//!                   ► no body ──────────────────────────────► covered it all
//!                     (waits while awaiting_continue)
//!
//! receiving    decode*                                      decode, decode_eof
//!   head ──1xx──► head ──final──► body of known length ─────► End
//!                               ► body in chunks ─ Trailers ► End
//!                               ► body until close ─────────► End at the end of file
//!                               ► no body ──────────────────► End
//!                               ► Tunnel: the caller's connection, no End
//!   any state ──error──► failed, for good
//! ```
//!
//! # Order of calls
//!
//! 1. [`start`](Exchange::start) appends the head to a buffer.
//! 2. For each piece of the body: [`frame`](Exchange::frame) gives what to
//!    write before and after it. [`finish`](Exchange::finish) ends a body in
//!    chunks. While [`awaiting_continue`](Exchange::awaiting_continue) holds,
//!    the body waits.
//! 3. After each write, [`wrote`](Exchange::wrote).
//! 4. After each read, [`decode`](Exchange::decode) until it returns `None`; at
//!    the end of file, [`decode_eof`](Exchange::decode_eof). Steps 2 and 4 may
//!    alternate in any way.
//! 5. When both [`request_complete`](Exchange::request_complete) and
//!    [`response_complete`](Exchange::response_complete) hold, or when giving
//!    up: [`verdict`](Exchange::verdict).
//!
//! ```
//! use bytes::BytesMut;
//! use http::{HeaderMap, Method, Uri};
//! use warmwire_h1::{BodyLength, Exchange, Limits, Received, RequestHead, Target, Verdict};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let uri = Uri::from_static("http://example.com/");
//! let head = RequestHead {
//!     method: &Method::GET,
//!     target: Target::Origin(&uri),
//!     host: "example.com",
//!     headers: &HeaderMap::new(),
//!     defaults: &HeaderMap::new(),
//! };
//! let mut exchange = Exchange::new(Limits::default());
//! let mut output = BytesMut::new();
//! exchange.start(&head, BodyLength::None, &mut output)?;
//! assert_eq!(output, "GET / HTTP/1.1\r\nhost: example.com\r\n\r\n");
//! exchange.wrote(output.len());
//!
//! let mut input = BytesMut::from("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello");
//! let mut body = Vec::new();
//! while let Some(received) = exchange.decode(&mut input)? {
//!     match received {
//!         Received::Head(head) => assert_eq!(head.status, 200),
//!         Received::Data(data) => body.extend_from_slice(&data),
//!         Received::Informational(_) | Received::Trailers(_) | Received::End => {}
//!     }
//! }
//! assert_eq!(body, b"hello");
//! assert!(matches!(exchange.verdict(), Verdict::Reuse(_)));
//! # Ok(())
//! # }
//! ```

mod chunked;
mod exchange;
mod fields;
mod head;
mod keep_alive;
mod length;
mod limits;
mod notes;
mod number;
mod receive;
mod request;
mod request_error;
mod response;
mod response_error;
mod reuse;
mod send;
mod snippet;
mod store;
mod trailers;

pub use exchange::Exchange;
pub use keep_alive::KeepAlive;
pub use limits::Limits;
pub use request::{BodyLength, RequestHead, Target};
pub use request_error::{RequestError, RequestErrorKind};
pub use response::{BodyKind, Received, ResponseHead};
pub use response_error::{Cut, ResponseError, ResponseErrorKind};
pub use reuse::{CloseReason, Verdict};
pub use send::{Frame, Sent};
