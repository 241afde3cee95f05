//! Connections on which something else is spoken from now on: WebSocket, and other upgrades.
//!
//! A request that has `Upgrade` and `Connection: upgrade` may be answered by a `101`. Then
//! [`Response::upgrade`](crate::http::Response::upgrade) gives the connection, which is read and written
//! like any stream of tokio.
//!
//! ```no_run
//! # async fn example(agent: warmwire::Agent) -> Result<(), Box<dyn std::error::Error>> {
//! use tokio::io::AsyncWriteExt as _;
//!
//! let response = agent
//!     .get("http://api.example.com/chat")
//!     .header("connection", "upgrade")
//!     .header("upgrade", "websocket")
//!     .header("sec-websocket-version", "13")
//!     .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==")
//!     .send()
//!     .await?;
//! let mut connection = response.upgrade()?; // an error if the server did not switch
//! connection.write_all(b"\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58").await?;
//! # Ok(())
//! # }
//! ```
//!
//! - The connection leaves the pool at the moment when the response comes. It counts against no limit
//!   any more, so `max_connections(1)` and a WebSocket do not exclude requests beside it; and it never
//!   comes back. The statistics count it as closed for
//!   [`CloseReason::Upgraded`](crate::http::CloseReason::Upgraded). Nothing bounds how many there are
//!   but the caller.
//! - No timer of the agent applies to it, [`close`](crate::Agent::close) does not wait for it, and the
//!   agent may be dropped before it.
//! - A server that does not switch answers as it likes: look at the status if the answer matters.
//! - A `101` that nobody asked for is an error, and so is one that comes before the request was sent
//!   to its end.
//! - A response of the crate `http` has it in its body:
//!   [`Body::upgrade`](crate::http::Body::upgrade).
//!
//! HTTP/2 knows no `101`, and its requests have no `Upgrade`. For an https origin that also speaks
//! HTTP/2, choose [`HttpVersion::Http1`](crate::http::HttpVersion::Http1), for the agent or by
//! [`for_origin`](crate::http::AgentBuilder::for_origin).
