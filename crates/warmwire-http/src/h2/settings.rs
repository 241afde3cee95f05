//! What an origin's HTTP/2 connections are like.

use std::time::Duration;

use warmwire_net::Alpn;

use crate::key::Scheme;

/// Which versions of HTTP are spoken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum HttpVersion {
    /// What the server chooses of HTTP/2 and HTTP/1.1, by ALPN in the TLS handshake; HTTP/1.1
    /// without TLS.
    #[default]
    Negotiate,
    /// HTTP/1.1 alone.
    Http1,
    /// HTTP/2 alone. Without TLS this is "prior knowledge" (RFC 9113, section 3.3, `h2c`): the
    /// server must be known to speak it.
    Http2,
}

impl HttpVersion {
    pub(crate) fn alpn(self) -> Alpn {
        match self {
            HttpVersion::Negotiate => Alpn::Both,
            HttpVersion::Http1 => Alpn::Http1,
            HttpVersion::Http2 => Alpn::Http2,
        }
    }

    /// Whether a connection may turn out to carry many requests at once.
    pub(crate) fn may_share(self, scheme: Scheme) -> bool {
        match self {
            HttpVersion::Negotiate => scheme == Scheme::Https,
            HttpVersion::Http1 => false,
            HttpVersion::Http2 => true,
        }
    }
}

/// The settings of an origin's HTTP/2 connections.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub(crate) max_streams: u32,
    pub(crate) stream_window: u32,
    pub(crate) connection_window: u32,
    pub(crate) keep_alive_interval: Option<Duration>,
    pub(crate) keep_alive_timeout: Duration,
    pub(crate) keep_alive_while_idle: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            max_streams: 256,
            stream_window: 2 * 1024 * 1024,
            connection_window: 5 * 1024 * 1024,
            keep_alive_interval: Some(Duration::from_secs(20)),
            keep_alive_timeout: Duration::from_secs(10),
            keep_alive_while_idle: false,
        }
    }
}
