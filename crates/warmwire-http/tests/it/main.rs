//! The agent against scripted peers: what a caller and the server at the other end can see.

mod support;

mod bodies;
mod config;
mod config_parts;
mod dead_peers;
mod dialling;
mod drops;
mod early_data;
mod errors;
mod held;
#[cfg(feature = "hickory")]
mod hickory;
mod http2;
mod idle_limit;
mod lifecycle;
mod limits;
#[cfg(feature = "metrics")]
mod metered;
mod names;
mod policies;
mod proxies;
mod proxy_errors;
mod redirects;
mod retries;
mod reuse;
mod route;
mod runtimes;
mod stats_events;
mod timers;
mod tls;
#[cfg(feature = "tracing")]
mod traced;
mod transports;
mod upgrades;
