//! An HTTP(S) client agent whose connection pool is in the user's hands.
//!
//! ```no_run
//! # async fn example() -> Result<(), warmwire_http::Error> {
//! use std::time::Duration;
//! use warmwire_http::Agent;
//!
//! let agent = Agent::builder()
//!     .max_connections(10) // per origin
//!     .idle_timeout(Duration::from_secs(30))
//!     .build()?;
//! let response = agent.get("https://api.example.com/v1/charges").send().await?;
//! println!("{}, reused: {}", response.status(), response.connection().reused());
//! println!("{}", response.text().await?);
//! # Ok(())
//! # }
//! ```
//!
//! [`Agent`] is the handle, [`AgentBuilder`] has every limit and timer, [`Response`] tells which
//! connection was used and what it cost, [`Stats`] counts, [`Event`] tells every step, and
//! [`Error`] says what failed, when, and whether the request was sent.
//!
//! The crate decides nothing about pools and parses no HTTP: `warmwire-pool` and `warmwire-h1`
//! do, as state machines without I/O. Here they meet the sockets of `warmwire-net`.

mod agent;
mod body;
mod buffers;
mod builder;
mod checkout;
mod config;
mod conn;
mod core;
mod dead_peer;
mod dial;
mod error;
mod event;
mod forward;
mod h2;
mod head;
mod held;
mod idle_limit;
mod incoming;
mod key;
mod memory;
mod names;
mod observe;
mod policy;
mod pooled;
mod proxy;
mod random;
mod reaper;
mod redirect;
mod release;
mod request;
mod response;
mod retry;
mod retry_budget;
mod route;
mod send;
mod service;
mod shown;
mod stats;
mod sync;
mod trace;
mod upgrade;
mod url;
mod wire;

pub use agent::{Agent, Candidate, Origin};
pub use body::Body;
pub use builder::{AgentBuilder, OriginPolicy};
pub use config::AgentConfig;
pub use error::{Error, ErrorKind, Phase, Sent};
pub use event::Event;
pub use h2::HttpVersion;
pub use key::OriginName;
#[cfg(feature = "metrics")]
#[doc(inline)]
pub use observe::names as metrics;
pub use proxy::ProxyResponse;
pub use redirect::{Hop, Redirect, RedirectAction, RedirectPolicy, Redirected};
pub use request::RequestBuilder;
pub use response::{ConnectionInfo, Response, Timings};
pub use stats::{ClosedCounts, OriginStats, RetryOutcomes, Stats, TimeoutCounts};
pub use upgrade::Upgraded;
pub use url::IntoUri;
#[cfg(feature = "hickory")]
pub use warmwire_net::HickoryResolver;
pub use warmwire_net::{
    BoxFuture, CertificateChain, Connect, ConnectTarget, Destination, Io, Proxy, ProxyError,
    ProxyRules, Resolve, Resolved, Spread, SystemResolver, Tls, TlsVersion,
};
pub use warmwire_pool::{CloseReason, ConnectionId, Scheduling};
