//! Numbers: what the statistics count, and how to watch them.
//!
//! [`Agent::stats`](crate::Agent::stats) is a snapshot of one moment. It prints as a table,
//! serialises with serde, and has the same fields for each origin and for
//! [`total`](crate::http::Stats::total).
//!
//! | fields | kind |
//! |---|---|
//! | `opened`, `open_errors`, `closed` by reason, `requests`, `reused`, `retries`, `retry_outcomes`, `queued`, `refused`, `cancelled`, `timeouts`, `connect_time` | counters, since the agent or the origin began |
//! | `open`, `idle`, `active`, `connecting`, `waiting`, `held` | gauges: what is now |
//! | `streams` | requests that have a connection now; more than `active` where HTTP/2 shares one |
//! | `max_open`, `max_active`, `max_waiting` | high-water marks |
//!
//! They add up: `opened == closed.total() + open` and `open == idle + active` in every snapshot.
//! `requests` counts those that got a connection, so one that is sent again counts twice, and one
//! that was refused or ran out of time in the queue does not count. `reused` are those among them
//! that paid for no handshake.
//!
//! # Which origins have a row
//!
//! An origin has a row while it has a connection, a dial or a waiting request. When the last of
//! these is gone the agent forgets it, so that the agent of a crawler does not grow; what it did
//! stays in `total`. An origin that comes back begins at zero.
//!
//! # Rates
//!
//! [`since`](crate::http::Stats::since) subtracts an earlier snapshot from the counters; gauges
//! and high-water marks stay those of the later one.
//! [`changed_since`](crate::http::Stats::changed_since) says whether there is anything to report at
//! all:
//!
//! ```no_run
//! use std::time::Duration;
//!
//! # async fn example(agent: warmwire::Agent) {
//! let mut before = agent.stats();
//! loop {
//!     tokio::time::sleep(Duration::from_secs(10)).await;
//!     let now = agent.stats();
//!     if now.changed_since(&before) {
//!         let rate = now.since(&before).total;
//!         println!("{} requests, {:.0} % reused", rate.requests, 100.0 * rate.reuse_ratio());
//!         for (reason, count) in rate.closed.iter() {
//!             println!("{count} connections closed: {reason}");
//!         }
//!     }
//!     before = now;
//! }
//! # }
//! ```
//!
//! # What to look at
//!
//! | sign | may mean |
//! |---|---|
//! | a low [`reuse_ratio`](crate::http::OriginStats::reuse_ratio) | responses are dropped unread, or the server closes: see `closed` by reason |
//! | `waiting` stays above zero | `max_connections` is too low for the load, or responses are held |
//! | `active` stays high without load | responses are held unread |
//! | `retries` grow | the server closes sooner than `idle_timeout`, or than it says |
//! | `closed` by `idle_timeout` grows with the load | `idle_timeout` is shorter than the pauses between requests |
//!
//! [`time_saved`](crate::http::OriginStats::time_saved) is the reused requests times the mean time
//! that opening a connection took here.
