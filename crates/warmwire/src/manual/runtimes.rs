//! One agent and many tokio runtimes: in turn, at once, ended, and kept without being driven.
//!
//! An agent in a `static` outlives the runtimes that use it: each `#[tokio::test]` has its own, and
//! so has each worker thread of actix-web. Nothing has to be done about it.
//!
//! - A connection that is taken on another runtime than the one that it was on is registered there
//!   first. That costs some system calls, so many runtimes that share few connections are slower than
//!   an agent for each of them.
//! - A runtime that is dropped takes its own requests and dials with it. Their places are free at
//!   once, and who waits for such a dial makes another. Idle connections stay.
//! - A runtime that is kept and not driven (a current-thread runtime between two `block_on`) holds up
//!   what is its own: a request on it keeps its connection until it goes on or is dropped, and a
//!   connection that was handed to a request waits for it. A dial on it gives its place on a second
//!   after its [`connect_timeout`](crate::http::AgentBuilder::connect_timeout).
//!
//! # The agent's own task
//!
//! While connections are idle or being opened, one task closes those whose time is over and dials for
//! [`min_idle`](crate::http::AgentBuilder::min_idle). It lives on one of the runtimes that use the
//! agent. If that may not be driven, the task comes along to the runtime that opens a connection, takes
//! one from elsewhere, or has a request waiting; and whoever finds it late by 100 ms, starts it anew.
//! So idle connections are closed late only while nobody uses the agent on a runtime that is driven.
//!
//! # HTTP/2
//!
//! A connection of [HTTP/2](super::http2) is shared, and run by a task on the runtime that opened it.
//! From a current-thread runtime, which may not be driven, that task moves away as soon as a request
//! of another runtime gets a stream: to a thread of the agent's own, `warmwire-http2`, which is
//! started when it is needed first and serves all agents of the process. From a runtime that is dropped
//! it moves away too, and the requests of others notice nothing. The bodies of their requests are read
//! on that thread then, so they must not block.
//!
//! A program with one runtime has no such thread. A stream of a
//! [`Connect`](crate::http::Connect) of yours is not moved: it is tied to its runtime in a way that
//! only you know, and its requests wait while that is not driven, and end when it is dropped.
//!
//! # Processes
//!
//! Sockets are closed on `exec`, so a program that is started inherits none. After a bare `fork` the
//! child must not use the agent: as with everything built on tokio, its threads are not there.
