//! The agent against scripted peers: what a caller and the server at the other end can see.

mod support;

mod bodies;
mod dialling;
mod drops;
mod errors;
mod lifecycle;
mod limits;
mod policies;
mod proxies;
mod proxy_errors;
mod reuse;
mod route;
mod stats_events;
mod timers;
mod tls;
mod transports;
