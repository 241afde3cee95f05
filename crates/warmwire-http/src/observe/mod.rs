//! What `tracing` and `metrics` are fed from.
//!
//! Each of the two features has a module with a twin that has the same names and does nothing:
//! without the features none of this is there, and the places that report need no `cfg`. Nothing
//! here is called under the pool's lock.

#[cfg(feature = "metrics")]
mod metered;
#[cfg(feature = "metrics")]
pub mod names;
#[cfg(feature = "tracing")]
mod redact;
#[cfg(any(feature = "metrics", feature = "tracing"))]
mod request;
#[cfg(feature = "tracing")]
mod traced;
#[cfg(not(feature = "metrics"))]
mod unmetered;
#[cfg(not(feature = "tracing"))]
mod untraced;
#[cfg(not(any(feature = "metrics", feature = "tracing")))]
mod unwatched;

#[cfg(feature = "metrics")]
pub(crate) use metered::{Active, Meters, Open, Registered, closed, connect_failed, retried};
#[cfg(any(feature = "metrics", feature = "tracing"))]
pub(crate) use request::Watch;
#[cfg(feature = "tracing")]
pub(crate) use traced::{event, listens, resent};
#[cfg(not(feature = "metrics"))]
pub(crate) use unmetered::{Active, Open, closed, connect_failed, retried};
#[cfg(not(feature = "tracing"))]
pub(crate) use untraced::{event, listens, resent};
#[cfg(not(any(feature = "metrics", feature = "tracing")))]
pub(crate) use unwatched::Watch;

/// `error.type` of a request whose caller dropped it before its end.
#[cfg(any(feature = "metrics", feature = "tracing"))]
const CANCELLED: &str = "cancelled";

/// The method as the conventions have it: what is not registered is one value, so that callers
/// cannot make more of them than a store of metrics can hold.
#[cfg(any(feature = "metrics", feature = "tracing"))]
fn method(method: &http::Method) -> &'static str {
    const KNOWN: [&str; 10] =
        ["GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "TRACE", "CONNECT", "QUERY"];
    KNOWN.into_iter().find(|known| *known == method.as_str()).unwrap_or("_OTHER")
}

/// The version as `network.protocol.version` has it.
#[cfg(any(feature = "metrics", feature = "tracing"))]
fn version(version: http::Version) -> &'static str {
    match version {
        http::Version::HTTP_09 => "0.9",
        http::Version::HTTP_10 => "1.0",
        http::Version::HTTP_2 => "2",
        http::Version::HTTP_3 => "3",
        _ => "1.1",
    }
}
