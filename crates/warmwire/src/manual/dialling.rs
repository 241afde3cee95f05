//! When connections are opened: on demand, ahead, rather not yet, and after failures.
//!
//! Without further ado a request that finds no free connection opens one, and takes whichever comes
//! first: its own, or one that another request gives back. Four options change that.
//!
//! # Ahead
//!
//! [`Agent::warm`] opens connections once, say before a service reports that it is ready.
//! [`min_idle`] keeps so many ready from the first request on: what closes is opened anew.
//!
//! ```
//! use warmwire::Agent;
//!
//! # fn main() -> Result<(), warmwire::Error> {
//! let agent = Agent::builder()
//!     .for_origin("https://api.example.com", |origin| origin.min_idle(2).max_connections(20))
//!     .build()?;
//! # Ok(())
//! # }
//! ```
//!
//! An idle connection still ends with its idle time, since the server would close it. So an origin
//! without requests costs `min_idle` handshakes per idle time; a server that sends
//! `Keep-Alive: timeout=60` makes that a minute. They count under every limit, come after requests
//! that wait, and close nothing to make room. A server that closes each connection unused is tried
//! once a second.
//!
//! # Rather not yet
//!
//! [`prefer_wait`] has a request wait so long for a connection in use to be freed before it opens
//! one. It is for servers whose answers come sooner than a handshake, and for those that count their
//! connections. [`max_connections`](super::limits) is the same without an end to the wait.
//!
//! # After failures
//!
//! A host that is down should not be dialled once for each request. After a connection could not be
//! opened, for whatever reason that came from outside (refused, timed out, no address, a certificate
//! that was not accepted), its origin is left in peace for a time that doubles with each failure in
//! a row ([`dial_backoff`]: 50 ms to 1 s, each shortened at random by up to a half). Then one
//! connection at a time is tried. The first that opens ends it all, and everyone may dial.
//!
//! Meanwhile a request
//!
//! - uses a connection that is open, if one is free;
//! - waits otherwise: it counts as waiting, and [`max_waiting`](super::limits) and
//!   [`acquire_timeout`](super::limits) hold;
//! - fails with the error of the first try that began after it came, if no connection is in use that
//!   could be freed.
//!
//! So a request to a host that is down fails within about a second, and a single failure delays the
//! next request by 50 ms at most. The text of a time-out says when the next try is due.
//!
//! [`Agent::warm`]: crate::Agent::warm
//! [`min_idle`]: crate::http::AgentBuilder::min_idle
//! [`prefer_wait`]: crate::http::AgentBuilder::prefer_wait
//! [`dial_backoff`]: crate::http::AgentBuilder::dial_backoff
