//! HTTP/2: one connection for many requests, how many, and what differs from HTTP/1.1.
//!
//! # How to have it
//!
//! For `https` there is nothing to do: client and server agree on a version in the TLS handshake
//! (ALPN), and the agent takes HTTP/2 if the server does. Without TLS nothing tells, so HTTP/2 must be
//! asked for, of a server that is known to speak it (`h2c`, "prior knowledge"):
//!
//! ```
//! use warmwire::Agent;
//! use warmwire::http::HttpVersion;
//!
//! # fn main() -> Result<(), warmwire::http::Error> {
//! let agent = Agent::builder()
//!     .for_origin("http://rpc.internal:50051", |o| o.http_version(HttpVersion::Http2))
//!     .for_origin("https://files.example.com", |o| o.http_version(HttpVersion::Http1))
//!     .build()?;
//! # drop(agent);
//! # Ok(())
//! # }
//! ```
//!
//! [`Http2`](crate::http::HttpVersion::Http2) for an `https` origin makes a server that does not agree
//! to it an error. [`Http1`](crate::http::HttpVersion::Http1) is right for large downloads side by
//! side, and for servers with a limit per connection.
//!
//! # What is shared
//!
//! Requests to one origin share a connection, as its streams, while it has room: as many at once as
//! the server says, and at most [`http2_max_streams`]. If the server changes its mind, the agent
//! follows at once. What waits when every connection is full is counted and bounded as for HTTP/1.1, and
//! another connection is opened if [`max_connections`] allows. To have one only, set that to 1.
//!
//! A burst to an origin that has no connection waits for the first dial, which tells whether the server
//! speaks HTTP/2, and opens one connection. The dial includes the wait for the server's SETTINGS, so
//! that no request is sent which the server must refuse.
//!
//! # What ends, and what does not
//!
//! - A request, or a response, that is dropped resets its stream. The connection and its other
//!   requests go on; there is no bounded drain as in [`bodies`](super::bodies).
//! - A server that says goodbye (GOAWAY) gets no new request. What it says it has not looked at is
//!   sent again elsewhere, whatever its method, up to four times, if its body can be sent again; the
//!   rest finishes. So is a refused stream (REFUSED_STREAM). Both count as retries in
//!   [`numbers`](super::numbers).
//! - A server that refuses each time ends the request with
//!   [`ErrorKind::StreamReset`](crate::http::ErrorKind::StreamReset) and `sent: no`.
//! - A connection that breaks ends all its requests; each is subject to the retry rule of
//!   [`reuse`](super::reuse), and those that are sent again share the next connection.
//! - A path on which nothing comes any more is found by pings ([`http2_keep_alive_interval`] and
//!   [`http2_keep_alive_timeout`]), or earlier by a request that times out while nothing at all came
//!   on the connection: no further request is tried on it.
//!
//! Idle time, lifetime, `max_requests`, eviction and closing are as for HTTP/1.1. A connection is idle
//! when no stream is in use. One that retires takes no new stream and closes after its last.
//!
//! # What differs
//!
//! - [`OriginStats::active`](crate::http::OriginStats::active) counts connections in use;
//!   [`streams`](crate::http::OriginStats::streams) the requests on them.
//! - A response that is held unread keeps its stream and not the connection, and as much of the
//!   connection's window as has come of it ([`http2_stream_window`] at most): enough of them stop the
//!   others too. Each is reported, as [`Event::Held`](crate::http::Event::Held).
//! - There is no look at a connection before its reuse: its task sees an end when it comes.
//! - `Keep-Alive`, `Connection`, `Upgrade` and `Transfer-Encoding` do not exist; they are left out of
//!   requests. `Host` becomes `:authority`.
//! - `Expect: 100-continue` is sent as it is, and the body does not wait for the answer: a server that
//!   does not want it resets the stream, which costs no connection here.
//! - No `101`, see [`upgrades`](super::upgrades), and no early data.
//! - A request's body is read by the connection's task, so it must not block; see
//!   [`runtimes`](super::runtimes) for where that runs.
//!
//! [`http2_max_streams`]: crate::http::AgentBuilder::http2_max_streams
//! [`http2_stream_window`]: crate::http::AgentBuilder::http2_stream_window
//! [`http2_keep_alive_interval`]: crate::http::AgentBuilder::http2_keep_alive_interval
//! [`http2_keep_alive_timeout`]: crate::http::AgentBuilder::http2_keep_alive_timeout
//! [`max_connections`]: crate::http::AgentBuilder::max_connections
