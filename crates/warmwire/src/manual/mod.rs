//! The manual: what the single items do not say.
//!
//! - [`defaults`]: each default of the agent, with its reason.
//! - [`reuse`]: when a connection is used again, the race that is left, and what `sent` means.
//! - [`limits`]: per origin and in total, waiting, and requests within requests.
//! - [`dialling`]: connections opened ahead, rather not yet, and after failures.
//! - [`configuration`]: settings from files and from the environment.
//! - [`per_origin`]: other limits and timers for single origins and single requests.
//! - [`bodies`]: bytes and streams, what a dropped response costs, what can be sent again.
//! - [`http2`]: one connection for many requests, how many, and what differs from HTTP/1.1.
//! - [`redirects`]: none by default, and how to follow them without giving secrets away.
//! - [`errors`]: what to do about which.
//! - [`events`]: every step of a connection's life, as it happens.
//! - [`names`]: which address of a name a connection goes to, and names that move.
//! - [`numbers`]: what the statistics count, and how to watch them.
//! - [`observability`]: spans and metrics by OpenTelemetry's conventions.
//! - [`proxies`]: which one, what it is asked, and what its errors say.
//! - [`plugs`]: the agent in what people run already.
//! - [`runtimes`]: one agent on many of them, and on such as are not driven.
//! - [`tls`]: whom to trust, what keeps connections apart, and early data.
//! - [`unix_sockets`]: three ways to name one.
//! - [`upgrades`]: WebSocket and what else begins with HTTP and goes on otherwise.

pub mod bodies;
pub mod configuration;
pub mod defaults;
pub mod dialling;
pub mod errors;
pub mod events;
pub mod http2;
pub mod limits;
pub mod names;
pub mod numbers;
pub mod observability;
pub mod per_origin;
pub mod plugs;
pub mod proxies;
pub mod redirects;
pub mod reuse;
pub mod runtimes;
pub mod tls;
pub mod unix_sockets;
pub mod upgrades;
