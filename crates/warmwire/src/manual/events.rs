//! Events: every step of a connection's life, as it happens.
//!
//! [`on_event`](crate::http::AgentBuilder::on_event) takes a callback for all origins of an agent:
//!
//! ```no_run
//! use std::sync::Arc;
//! use std::sync::atomic::{AtomicU64, Ordering};
//! use warmwire::Agent;
//! use warmwire::http::Event;
//!
//! # async fn example() -> Result<(), warmwire::Error> {
//! let reused = Arc::new(AtomicU64::new(0));
//! let counter = reused.clone();
//! let agent = Agent::builder()
//!     .on_event(move |event| match event {
//!         Event::Connected { origin, connection, elapsed, .. } => {
//!             println!("{origin}: connection {connection} up in {elapsed:?}");
//!         }
//!         Event::Acquired { reused: true, .. } => {
//!             counter.fetch_add(1, Ordering::Relaxed);
//!         }
//!         Event::Closed { origin, connection, reason, requests, .. } => {
//!             println!("{origin}: connection {connection} closed, {requests} requests: {reason}");
//!         }
//!         _ => {}
//!     })
//!     .build()?;
//! # Ok(())
//! # }
//! ```
//!
//! | event | when |
//! |---|---|
//! | [`Queued`](crate::http::Event::Queued) | a request has to wait for a connection to be freed |
//! | [`Connecting`](crate::http::Event::Connecting) | a connection is being opened |
//! | [`Connected`](crate::http::Event::Connected), [`ConnectFailed`](crate::http::Event::ConnectFailed) | that has ended, and how long it took |
//! | [`Acquired`](crate::http::Event::Acquired) | a request got a connection, and how long it waited |
//! | [`Released`](crate::http::Event::Released) | the exchange has ended and the connection is kept |
//! | [`Retried`](crate::http::Event::Retried) | a request is sent again after a stale connection failed |
//! | [`Held`](crate::http::Event::Held) | a response is held unread for long, and its connection with it |
//! | [`Closed`](crate::http::Event::Closed) | a connection is closed, and why |
//!
//! Events of one connection come in the order in which they happen; those of different connections
//! may come from different threads at once. The callback runs on the task that caused the event,
//! outside every lock: it may use the agent, a slow one delays that task alone, and a panic in it
//! is caught. What takes long belongs into a channel. More events and fields may be added: match
//! with `..` and an arm for the rest.
//!
//! A [`CloseReason`](crate::http::CloseReason) prints a sentence for people;
//! [`as_str`](crate::http::CloseReason::as_str) is the label for metrics. Events show origins and
//! numbers of connections, never paths, headers or bodies.
//!
//! For rates and gauges no events are needed: see [`numbers`](super::numbers).
