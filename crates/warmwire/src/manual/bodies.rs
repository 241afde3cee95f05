//! Bodies: bytes and streams, what a dropped response costs, what can be sent again.
//!
//! # Of requests
//!
//! [`body`] takes what is in memory (`&'static str`, `String`, `Vec<u8>`, `bytes::Bytes`) or a
//! [`Body`]: [`Body::from_stream`] makes one of any stream of pieces, [`Body::new`] of any body of
//! the `http-body` ecosystem, trailers included. [`json`] and [`form`] make bytes of a value.
//!
//! | body | sent with |
//! |---|---|
//! | in memory | `Content-Length` |
//! | an `http-body` that knows its length | `Content-Length`; one byte more or less is an error |
//! | any other, and every [`Body::from_stream`] | `Transfer-Encoding: chunked` |
//! | none | nothing; `Content-Length: 0` for POST, PUT and PATCH |
//!
//! The agent writes these headers itself. One that the caller sets must agree with the body, or
//! the request is refused. Pieces are taken from a stream when the connection takes them, so a slow
//! server slows the stream down and memory holds one piece. An error of the stream ends the request
//! as [`RequestBody`], and the connection is closed.
//!
//! ```no_run
//! use futures_util::stream;
//! use warmwire::http::Body;
//!
//! # async fn example(agent: warmwire::Agent) -> Result<(), warmwire::Error> {
//! let lines = stream::iter((1..=1000).map(|line| Ok::<_, std::io::Error>(format!("{line}\n"))));
//! let response = agent
//!     .post("https://logs.example.com/v1/lines")
//!     .body(Body::from_stream(lines)) // sent in chunks
//!     .send()
//!     .await?;
//! # Ok(())
//! # }
//! ```
//!
//! With the header `Expect: 100-continue` the body waits for the server's word, or for
//! [`expect_continue_timeout`].
//!
//! # Of responses
//!
//! [`send`] returns when the head has come. The body is read from the connection as the caller asks
//! for it: at once by [`bytes`], [`bytes_limited`], [`text`] or [`json()`], piece by piece by
//! [`chunk`] or as the stream [`bytes_stream`]:
//!
//! ```no_run
//! use futures_util::StreamExt;
//!
//! # async fn example(agent: warmwire::Agent) -> Result<(), warmwire::Error> {
//! let response = agent.get("https://files.example.com/large").send().await?;
//! let mut pieces = response.bytes_stream();
//! let mut length = 0;
//! while let Some(piece) = pieces.next().await {
//!     length += piece?.len();
//! }
//! # Ok(())
//! # }
//! ```
//!
//! [`into_body`] gives an `http_body::Body`. It passes on as the body of another request, and shows
//! the trailers that the other ways pass over:
//!
//! ```no_run
//! use futures_util::StreamExt;
//! use http_body_util::BodyStream;
//!
//! # async fn example(agent: warmwire::Agent) -> Result<(), warmwire::Error> {
//! let download = agent.get("https://files.example.com/large").send().await?;
//! let upload = agent.put("https://backup.example.com/large").body(download.into_body());
//! let mut frames = BodyStream::new(upload.send().await?.into_body());
//! while let Some(frame) = frames.next().await {
//!     if let Some(trailers) = frame?.trailers_ref() {
//!         println!("{trailers:?}");
//!     }
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # What a response holds, and what dropping it costs
//!
//! A response holds its connection until the last byte was read. At that moment the connection is
//! free, also if the response is kept. One that is held unread keeps a connection from everybody
//! else; see [`limits`](super::limits).
//!
//! A response that is dropped before its end costs its connection, unless the rest is small: up to
//! [`drain_bytes`] are read in the background within [`drain_time`], and then the connection is
//! kept. So an error page whose body nobody wants can be dropped, and dropping a download ends it.
//!
//! # What can be sent again
//!
//! The retry rule (see [`reuse`](super::reuse)) needs the body a second time. It has that of no
//! body, of bytes in memory, which are shared and not copied, and of a stream from which no piece
//! was taken yet. An `http-body` of at most 64 KiB that is there at once, such as
//! `http_body_util::Full`, counts as bytes in memory.
//!
//! [`Body`]: crate::http::Body
//! [`Body::from_stream`]: crate::http::Body::from_stream
//! [`Body::new`]: crate::http::Body::new
//! [`body`]: crate::http::RequestBuilder::body
//! [`json`]: crate::http::RequestBuilder::json
//! [`form`]: crate::http::RequestBuilder::form
//! [`send`]: crate::http::RequestBuilder::send
//! [`RequestBody`]: crate::http::ErrorKind::RequestBody
//! [`expect_continue_timeout`]: crate::http::AgentBuilder::expect_continue_timeout
//! [`bytes`]: crate::http::Response::bytes
//! [`bytes_limited`]: crate::http::Response::bytes_limited
//! [`text`]: crate::http::Response::text
//! [`json()`]: crate::http::Response::json
//! [`chunk`]: crate::http::Response::chunk
//! [`bytes_stream`]: crate::http::Response::bytes_stream
//! [`into_body`]: crate::http::Response::into_body
//! [`drain_bytes`]: crate::http::AgentBuilder::drain_bytes
//! [`drain_time`]: crate::http::AgentBuilder::drain_time
