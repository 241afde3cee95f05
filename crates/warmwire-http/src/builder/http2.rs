//! Which versions of HTTP are spoken, and what HTTP/2 connections are like.

use std::time::Duration;

use super::{AgentBuilder, OriginPolicy};
use crate::h2::HttpVersion;

/// RFC 9113, 6.9.1.
const MAX_WINDOW: u32 = (1 << 31) - 1;

const STREAMS: &str = "http2_max_streams: a connection without a stream carries nothing";
const WINDOW: &str = "http2 windows are of 65,535 to 2,147,483,647 bytes";
const INTERVAL: &str = "http2_keep_alive_interval: zero would ping without a pause";

fn is_window(bytes: u32) -> bool {
    (65_535..=MAX_WINDOW).contains(&bytes)
}

impl AgentBuilder {
    /// Which versions of HTTP are spoken. Default [`HttpVersion::Negotiate`]: HTTP/2 where a server
    /// offers it in the TLS handshake, HTTP/1.1 elsewhere.
    ///
    /// An HTTP/2 connection carries many requests at once, and further connections are opened only
    /// when its streams are used up, as far as [`max_connections`](Self::max_connections) allows:
    /// with a limit of 1, requests wait for a stream as they would for a connection.
    pub fn http_version(mut self, version: HttpVersion) -> Self {
        self.policy.version = version;
        self
    }

    /// The most requests that one HTTP/2 connection carries at once, if the server does not allow
    /// fewer (`SETTINGS_MAX_CONCURRENT_STREAMS`). Default 256: more than servers commonly allow
    /// (100 to 250), and a bound on what one broken connection takes along.
    pub fn http2_max_streams(mut self, streams: u32) -> Self {
        self.require(streams > 0, STREAMS);
        self.policy.h2.max_streams = streams;
        self
    }

    /// How many bytes of one response may be under way before they are read. Default 2 MiB.
    pub fn http2_stream_window(mut self, bytes: u32) -> Self {
        self.require(is_window(bytes), WINDOW);
        self.policy.h2.stream_window = bytes;
        self
    }

    /// How many bytes of all responses on one connection may be under way before they are read.
    /// Default 5 MiB: a response that is not read takes at most its own window of it, so that two
    /// more go on.
    pub fn http2_connection_window(mut self, bytes: u32) -> Self {
        self.require(is_window(bytes), WINDOW);
        self.policy.h2.connection_window = bytes;
        self
    }

    /// After how long a silence a ping asks whether an HTTP/2 connection is alive, while requests
    /// are on it. Default 20 s: a dead path is known within half a minute, and a ping is 17 bytes.
    pub fn http2_keep_alive_interval(mut self, interval: impl Into<Option<Duration>>) -> Self {
        let interval = interval.into();
        self.require(interval != Some(Duration::ZERO), INTERVAL);
        self.policy.h2.keep_alive_interval = interval;
        self
    }

    /// How long the answer to a ping may take before the connection is given up. Default 10 s.
    pub fn http2_keep_alive_timeout(mut self, timeout: Duration) -> Self {
        self.policy.h2.keep_alive_timeout = timeout;
        self
    }

    /// Whether idle HTTP/2 connections are pinged too. Default `false`: they close soon, and some
    /// servers count such pings as abuse.
    pub fn http2_keep_alive_while_idle(mut self, on: bool) -> Self {
        self.policy.h2.keep_alive_while_idle = on;
        self
    }
}

impl OriginPolicy {
    /// [`AgentBuilder::http_version`] for this origin.
    pub fn http_version(self, version: HttpVersion) -> Self {
        self.change(move |policy| policy.version = version)
    }

    /// [`AgentBuilder::http2_max_streams`] for this origin.
    pub fn http2_max_streams(self, streams: u32) -> Self {
        self.require(streams > 0, STREAMS).change(move |policy| policy.h2.max_streams = streams)
    }

    /// [`AgentBuilder::http2_stream_window`] for this origin.
    pub fn http2_stream_window(self, bytes: u32) -> Self {
        self.require(is_window(bytes), WINDOW).change(move |policy| policy.h2.stream_window = bytes)
    }

    /// [`AgentBuilder::http2_connection_window`] for this origin.
    pub fn http2_connection_window(self, bytes: u32) -> Self {
        self.require(is_window(bytes), WINDOW)
            .change(move |policy| policy.h2.connection_window = bytes)
    }

    /// [`AgentBuilder::http2_keep_alive_interval`] for this origin.
    pub fn http2_keep_alive_interval(self, interval: impl Into<Option<Duration>>) -> Self {
        let interval = interval.into();
        self.require(interval != Some(Duration::ZERO), INTERVAL)
            .change(move |policy| policy.h2.keep_alive_interval = interval)
    }

    /// [`AgentBuilder::http2_keep_alive_timeout`] for this origin.
    pub fn http2_keep_alive_timeout(self, timeout: Duration) -> Self {
        self.change(move |policy| policy.h2.keep_alive_timeout = timeout)
    }

    /// [`AgentBuilder::http2_keep_alive_while_idle`] for this origin.
    pub fn http2_keep_alive_while_idle(self, on: bool) -> Self {
        self.change(move |policy| policy.h2.keep_alive_while_idle = on)
    }
}
