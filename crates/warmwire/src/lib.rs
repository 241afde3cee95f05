//! Connections opened once and kept warm: an HTTP(S) agent with a connection pool in the user's
//! hands.
//!
//! | feature | what | default |
//! |---|---|---|
//! | `http` | [`Agent`], in [`http`] | yes |
//! | `aws` | `plugs::aws`: the HTTP client of the AWS SDK | |
//! | `cache` | `plugs::cache`: a private HTTP cache (RFC 9111) | |
//! | `compression` | `plugs::compression`: decodes gzip, br, zstd and deflate | |
//! | `cookies` | `plugs::cookies`: a cookie jar | |
//! | `hickory` | `http::HickoryResolver`: names looked up with their TTLs | |
//! | `metrics` | metrics by OpenTelemetry's conventions, through the `metrics` facade | |
//! | `mock` | `plugs::mock`: a scripted server in memory, for a program's own tests | |
//! | `object-store` | `plugs::object_store`: the connections below the crate `object_store` | |
//! | `rpc` | `rpc`: calls between processes, also with Node's axon, axon-rpc and pm2 | |
//! | `tonic` | `plugs::tonic`: a gRPC channel | |
//! | `tracing` | spans by OpenTelemetry's conventions, and connections' events | |
//! | `toml` | [`AgentConfig`](http::AgentConfig) from TOML | yes |
//! | `full` | everything | |
//!
//! The [`manual`] has what the single items do not say: each default with its reason, when a
//! connection is used again, and a page on each topic.

#[cfg(feature = "http")]
#[doc(inline)]
pub use warmwire_http::{Agent, Error};

/// The HTTP(S) agent.
#[cfg(feature = "http")]
#[doc(inline)]
pub use warmwire_http as http;

/// The RPC: calls between processes over TCP, TLS and Unix sockets.
#[cfg(feature = "rpc")]
#[doc(inline)]
pub use warmwire_rpc as rpc;

/// The agent in what people run already; each module has a feature of its name.
#[cfg(any(
    feature = "aws",
    feature = "cache",
    feature = "compression",
    feature = "cookies",
    feature = "mock",
    feature = "object-store",
    feature = "tonic"
))]
#[doc(inline)]
pub use warmwire_plugs as plugs;

#[cfg(feature = "http")]
pub mod manual;

/// Compiles what the README shows.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
