//! Other limits and timers for single origins and single requests.
//!
//! # One agent, many upstreams
//!
//! One agent serves any number of origins, each with its own connections, queue and numbers. Options
//! of the builder hold for every origin; [`for_origin`] changes them for one:
//!
//! ```
//! use std::time::Duration;
//! use warmwire::Agent;
//!
//! # fn main() -> Result<(), warmwire::Error> {
//! let agent = Agent::builder()
//!     .max_connections(50) // to each origin
//!     .max_total_connections(200) // to all of them
//!     .for_origin("https://api.example.com", |origin| {
//!         origin
//!             .max_connections(10) // to this one
//!             .max_requests_per_connection(1_000)
//!             .response_timeout(Duration::from_secs(20))
//!     })
//!     .for_origin("unix:/run/docker.sock", |origin| origin.response_timeout(None))
//!     .build()?;
//! # drop(agent);
//! # Ok(())
//! # }
//! ```
//!
//! The URL is checked by `build`, which names it if it is none of an origin. What an origin's
//! settings do not name is as for all origins, wherever in the chain the agent's own option stands.
//!
//! An origin is forgotten with its numbers when its last connection is closed and nothing waits. Its
//! settings are not: they hold again when the next request comes.
//!
//! # One request
//!
//! Every timer can be set for one request, too. The request's goes before the origin's, and that
//! before the agent's:
//!
//! ```
//! use std::time::Duration;
//! # async fn example(agent: warmwire::Agent) -> Result<(), warmwire::Error> {
//! let report = agent
//!     .post("https://api.example.com/reports")
//!     .connect_timeout(Duration::from_millis(500))
//!     .response_timeout(Duration::from_secs(600)) // this one is slow
//!     .send()
//!     .await?;
//! # drop(report);
//! # Ok(())
//! # }
//! ```
//!
//! Timers do not tell connections apart: requests with other timers share them. A connection that
//! two requests wait for is opened with the timer of the one that began it; the other has its own
//! dial and its own timer.
//!
//! # What can be set where
//!
//! | | agent | origin | request |
//! |---|---|---|---|
//! | `max_total_connections` | yes | | |
//! | `max_connections`, `max_idle`, `surplus_grace`, `min_idle`, `max_waiting`, `prefer_wait`, `dial_backoff` | yes | yes | |
//! | `idle_timeout`, `max_idle_timeout`, `learn_idle_limit`, `max_lifetime`, `max_requests_per_connection`, `scheduling` | yes | yes | |
//! | `acquire_timeout`, `connect_timeout`, `response_timeout`, `read_timeout`, `timeout`, `expect_continue_timeout` | yes | yes | yes |
//! | `drain_bytes`, `drain_time`, `held_after`, `max_response_head`, `max_response_headers`, `max_interim_responses` | yes | yes | |
//! | `http_version`, `http2_max_streams` and the others of HTTP/2 | yes | yes | |
//! | `retry_budget`, `idempotency_key` | yes | yes | `idempotent` |
//! | `redirects`, `proxy`, `tls`, `local_address` | yes | yes | yes |
//! | `unix_socket` | yes | | yes |
//! | TCP options, names, `keep_alive`, default headers, events | yes | | |
//!
//! [`for_origin`]: crate::http::AgentBuilder::for_origin
