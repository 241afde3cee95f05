//! The server that `bench` starts when it is given no URL.
//!
//! It runs in a child process, so that CPU time and memory of this process are the client's alone.
//! Parent and child speak in lines: the child prints a [`Hello`], then one [`Counts`] for every
//! line that it reads; when its standard input ends, it ends, so it cannot outlive its parent.

mod child;
mod handle;
mod relay;
mod service;
mod tls;

pub(crate) use child::run;
pub(crate) use handle::EmbeddedServer;

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// What nginx allows on a connection at once, unless it is told otherwise.
const HTTP2_STREAMS: u32 = 128;

/// What the server does; travels to the child as JSON in its one argument.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct ServerConfig {
    /// How long an answer takes.
    pub(crate) delay: Duration,
    /// The length of an answer's body, in bytes.
    pub(crate) body: u64,
    /// The one TLS version that is spoken; `None` for plain HTTP.
    pub(crate) tls: Option<TlsVersion>,
    /// Whether HTTP/2 alone is spoken, HTTP/1.1 alone otherwise.
    pub(crate) http2: bool,
    /// The simulated round trip, of which each direction of the wire is late by half.
    pub(crate) rtt: Duration,
}

impl ServerConfig {
    /// How many requests a connection carries at once.
    pub(crate) fn streams(&self) -> u32 {
        if self.http2 { HTTP2_STREAMS } else { 1 }
    }
}

/// A TLS version that the bench can ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
pub(crate) enum TlsVersion {
    /// TLS 1.2: a full handshake takes two round trips, a resumed one takes one.
    #[value(name = "1.2")]
    #[serde(rename = "1.2")]
    V12,
    /// TLS 1.3: every handshake takes one round trip.
    #[value(name = "1.3")]
    #[serde(rename = "1.3")]
    V13,
}

impl TlsVersion {
    /// The version's number: `1.3`.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::V12 => "1.2",
            Self::V13 => "1.3",
        }
    }
}

/// The child's first line.
#[derive(Debug, Serialize, Deserialize)]
struct Hello {
    port: u16,
    /// The self-signed certificate for `localhost` and 127.0.0.1, with TLS only.
    certificate_pem: Option<String>,
}

/// What the server has seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Counts {
    /// Connections accepted since the start.
    pub(crate) accepted: u64,
    /// Requests answered since the start.
    pub(crate) requests: u64,
    /// Connections open now.
    pub(crate) open: u64,
    /// The most connections that were open at once since the counts were last asked for.
    pub(crate) peak_open: u64,
}
