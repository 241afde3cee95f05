//! Settings of an agent, a file for each topic. The manual's page on defaults defends each of them.

mod connect;
mod exchange;
mod limits;
mod timers;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use http::header::{self, HeaderMap, HeaderValue};
use warmwire_net::{Connect, Connector, Resolve, SystemResolver, TcpConnect, Tls};
use warmwire_pool::{Limits, Pool};

use crate::agent::Agent;
use crate::core::{AgentHooks, Config, Core, Drain, Timeouts};
use crate::error::{Error, ErrorKind};
use crate::event::Observer;

/// Builds an [`Agent`].
///
/// # Defaults
///
/// | option | default |
/// |---|---|
/// | [`max_connections`](Self::max_connections), [`max_total_connections`](Self::max_total_connections), [`max_waiting`](Self::max_waiting) | no limit |
/// | [`max_idle`](Self::max_idle) | 256 per origin |
/// | [`idle_timeout`](Self::idle_timeout) | 4 s |
/// | [`max_idle_timeout`](Self::max_idle_timeout) | 10 min |
/// | [`max_lifetime`](Self::max_lifetime), [`max_requests_per_connection`](Self::max_requests_per_connection) | no limit |
/// | [`acquire_timeout`](Self::acquire_timeout) | 30 s |
/// | [`connect_timeout`](Self::connect_timeout) | 10 s |
/// | [`response_timeout`](Self::response_timeout), [`read_timeout`](Self::read_timeout) | 5 min |
/// | [`timeout`](Self::timeout) | none |
/// | [`scheduling`](Self::scheduling) | last in, first out |
/// | [`tcp_nodelay`](Self::tcp_nodelay) | on |
/// | [`tcp_keepalive`](Self::tcp_keepalive) | after 15 s, every 15 s, 3 times |
/// | [`drain_bytes`](Self::drain_bytes), [`drain_time`](Self::drain_time) | 64 KiB, 50 ms |
///
/// A timer takes a `Duration`, or `None` that turns it off. Timers have the runtime's grain: a
/// millisecond.
#[must_use = "a builder does nothing until `build`"]
pub struct AgentBuilder {
    limits: Limits,
    max_total_connections: usize,
    max_idle_timeout: Duration,
    timeouts: Timeouts,
    tcp: TcpConnect,
    keep_alive: bool,
    drain: Drain,
    headers: HeaderMap,
    unix_socket: Option<PathBuf>,
    tls: Tls,
    resolver: Arc<dyn Resolve>,
    connector: Option<Arc<dyn Connect>>,
    observer: Observer,
    h1: warmwire_h1::Limits,
    invalid: Option<Error>,
}

impl Default for AgentBuilder {
    fn default() -> Self {
        AgentBuilder::new()
    }
}

impl AgentBuilder {
    /// The defaults.
    pub fn new() -> AgentBuilder {
        let minutes = |minutes: u64| Duration::from_secs(60 * minutes);
        AgentBuilder {
            limits: Limits::default(),
            max_total_connections: usize::MAX,
            max_idle_timeout: minutes(10),
            timeouts: Timeouts {
                acquire: Some(Duration::from_secs(30)),
                connect: Some(Duration::from_secs(10)),
                response: Some(minutes(5)),
                read: Some(minutes(5)),
                total: None,
                expect_continue: Duration::from_secs(1),
            },
            tcp: TcpConnect::default(),
            keep_alive: true,
            drain: Drain { bytes: 64 * 1024, time: Duration::from_millis(50) },
            headers: HeaderMap::new(),
            unix_socket: None,
            tls: Tls::new(),
            resolver: Arc::new(SystemResolver),
            connector: None,
            observer: Observer::default(),
            h1: warmwire_h1::Limits::default(),
            invalid: None,
        }
    }

    /// The agent.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidConfig`], which names the setting that cannot be used.
    pub fn build(self) -> Result<Agent, Error> {
        if let Some(error) = self.invalid {
            return Err(error);
        }
        self.tls.check().map_err(|error| {
            Error::request(ErrorKind::InvalidConfig, format!("tls: {error}")).with_source(error)
        })?;
        let mut headers = self.headers;
        if !headers.contains_key(header::USER_AGENT) {
            let own = concat!("warmwire/", env!("CARGO_PKG_VERSION"));
            headers.insert(header::USER_AGENT, HeaderValue::from_static(own));
        }
        if !self.keep_alive {
            headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        let config = Config {
            timeouts: Arc::new(self.timeouts),
            max_idle: self.limits.max_idle,
            max_idle_timeout: self.max_idle_timeout,
            keep_alive: self.keep_alive,
            drain: self.drain,
            default_headers: headers,
            unix_socket: self.unix_socket.map(Into::into),
            h1: self.h1,
        };
        let connector = Connector {
            resolver: self.resolver,
            tcp: self.tcp,
            custom: self.connector,
            tls: self.tls,
        };
        let pool = Pool::new(self.limits, self.max_total_connections);
        let core = Arc::new_cyclic(|core| {
            let hooks = AgentHooks::new(core.clone(), config, connector, self.observer);
            Core::new(pool, hooks)
        });
        Ok(Agent::from_core(core))
    }

    fn require(&mut self, holds: bool, otherwise: &str) {
        if !holds {
            self.refuse(otherwise.to_owned());
        }
    }

    fn refuse(&mut self, why: String) {
        self.invalid.get_or_insert_with(|| Error::request(ErrorKind::InvalidConfig, why));
    }
}

impl fmt::Debug for AgentBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentBuilder")
            .field("limits", &self.limits)
            .field("timeouts", &self.timeouts)
            .finish_non_exhaustive()
    }
}
