//! Limits: per origin and in total, waiting, and requests within requests.
//!
//! # Scope
//!
//! An origin is a scheme, a host and a port, or a Unix socket. One agent serves any number of
//! them; `max_connections` is for each of them and `max_total_connections` for all together.
//!
//! | limit | scope | when it is reached |
//! |---|---|---|
//! | [`max_connections`] | per origin | requests wait |
//! | [`max_total_connections`] | all origins | the connection that is idle the longest, of any origin, is closed; if none is idle, requests wait |
//! | [`max_waiting`] | per origin | [`QueueFull`], at once |
//! | [`acquire_timeout`] | each request | [`AcquireTimeout`] |
//! | [`max_idle`] | per origin | the least recently used one is closed, at once or after [`surplus_grace`] |
//!
//! Connections that are being opened count, also those whose request was dropped meanwhile, and so do
//! those that are being closed: the server never sees more than the limit.
//!
//! ```
//! use warmwire::Agent;
//!
//! # fn main() -> Result<(), warmwire::Error> {
//! let agent = Agent::builder()
//!     .max_connections(10) // to each origin
//!     .max_total_connections(100) // to all of them
//!     .max_waiting(50) // for a connection to each origin
//!     .build()?;
//! # Ok(())
//! # }
//! ```
//!
//! [`per_origin`](super::per_origin) has how one origin gets limits of its own.
//!
//! # Waiting
//!
//! Requests are served in the order in which they came. A request that may open a connection takes
//! whichever comes first: its own, or one that another request gives back; the other one is kept.
//! Dropping a waiting request takes it out of the queue and changes nothing for the others.
//!
//! # Waves
//!
//! Ten requests at once, every 100 ms, with `max_idle(2)`: each wave finds two connections and opens
//! eight, 0.8 of a handshake for each request, for as long as that goes on. A higher `max_idle` is the
//! plain remedy. [`surplus_grace`] is the other: what is beyond `max_idle` closes only when it was
//! not used for that time, so ten connections serve all waves, and two are left a while after the
//! last.
//!
//! # Requests within requests
//!
//! A connection is in use until the last byte of the response was read, or the response is dropped.
//! So a request that is made while a response of the same origin is held needs a second connection.
//! With `max_connections(1)`, or with as many such pairs as there are connections, the inner request
//! waits for the outer one, which waits for it. [`acquire_timeout`] ends that, with an error that
//! says how many connections were in use, for how long, how many responses were not read to their end,
//! and how many requests waited:
//!
//! ```
//! use std::time::Duration;
//! use warmwire::Agent;
//! use warmwire::http::ErrorKind;
//!
//! # use tokio::io::{AsyncReadExt, AsyncWriteExt};
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
//! # let url = format!("http://{}/", listener.local_addr()?);
//! # tokio::spawn(async move {
//! #     let (mut stream, _) = listener.accept().await.unwrap();
//! #     stream.read(&mut [0; 1024]).await.unwrap();
//! #     stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf ").await.unwrap();
//! #     std::future::pending::<()>().await;
//! # });
//! let agent = Agent::builder()
//!     .max_connections(1)
//!     .acquire_timeout(Duration::from_millis(50))
//!     .build()?;
//! let outer = agent.get(&url).send().await?; // its body is not read yet
//! let error = agent.get(&url).send().await.unwrap_err();
//! assert_eq!(error.kind(), ErrorKind::AcquireTimeout);
//! assert!(error.to_string().contains("1 in use, 0 idle"), "{error}");
//! assert!(error.to_string().contains("responses not read to their end: 1"), "{error}");
//! # drop(outer);
//! # Ok(())
//! # }
//! ```
//!
//! A response that nobody reads is reported after
//! [`held_after`](crate::http::AgentBuilder::held_after), as
//! [`Event::Held`](crate::http::Event::Held) and in [`held`](crate::http::OriginStats::held).
//!
//! Read the outer response first, or give what is called from within (a refresh of a token, a
//! retry in a layer) an agent of its own.
//!
//! [`max_connections`]: crate::http::AgentBuilder::max_connections
//! [`max_total_connections`]: crate::http::AgentBuilder::max_total_connections
//! [`max_waiting`]: crate::http::AgentBuilder::max_waiting
//! [`max_idle`]: crate::http::AgentBuilder::max_idle
//! [`surplus_grace`]: crate::http::AgentBuilder::surplus_grace
//! [`acquire_timeout`]: crate::http::AgentBuilder::acquire_timeout
//! [`QueueFull`]: crate::http::ErrorKind::QueueFull
//! [`AcquireTimeout`]: crate::http::ErrorKind::AcquireTimeout
