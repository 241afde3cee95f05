//! The agent in what people run already. Each module stands behind the feature of its name, and
//! none is on by default.
//!
//! | feature, module | what |
//! |---|---|
//! | `aws` | the HTTP client of the AWS SDK |
//! | `cache` | a private HTTP cache (RFC 9111) |
//! | `compression` | decodes gzip, br, zstd and deflate |
//! | `cookies` | a cookie jar |
//! | `mock` | a scripted server in memory, for a program's own tests |
//! | `object-store` | the connections below the crate `object_store` |
//! | `tonic` | a gRPC channel |
//!
//! What wraps a service is generic over `tower`'s `Service` trait and has a `tower` layer: it stacks
//! with whatever else is built on tower.

#[cfg(feature = "aws")]
pub mod aws;
#[cfg(feature = "cache")]
pub mod cache;
#[cfg(feature = "compression")]
pub mod compression;
#[cfg(feature = "cookies")]
pub mod cookies;
#[cfg(feature = "mock")]
pub mod mock;
#[cfg(feature = "object-store")]
pub mod object_store;
#[cfg(feature = "tonic")]
pub mod tonic;
