//! Settings of an agent, a file for each topic. The manual's page on defaults defends each of them.

mod connect;
mod exchange;
mod http2;
mod limits;
mod names;
mod origin;
mod pool;
mod reuse;
mod route;
mod timers;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use http::header::{self, HeaderMap, HeaderValue};
use warmwire_net::{Connect, Connector, NameSettings, Names, Resolve, SystemResolver, TcpConnect};
use warmwire_pool::Pool;

use self::origin::NamedPolicy;
use crate::agent::Agent;
use crate::core::{AgentHooks, Config, Core};
use crate::error::{Error, ErrorKind};
use crate::event::Observer;
use crate::policy::{Policies, Policy};

pub use self::origin::OriginPolicy;

/// Builds an [`Agent`].
///
/// # Defaults
///
/// | option | default |
/// |---|---|
/// | [`max_connections`](Self::max_connections), [`max_total_connections`](Self::max_total_connections), [`max_waiting`](Self::max_waiting) | no limit |
/// | [`max_idle`](Self::max_idle), [`min_idle`](Self::min_idle) | 256 and 0 per origin |
/// | [`surplus_grace`](Self::surplus_grace) | 0 |
/// | [`idle_timeout`](Self::idle_timeout) | 4 s |
/// | [`max_idle_timeout`](Self::max_idle_timeout) | 10 min |
/// | [`max_lifetime`](Self::max_lifetime), [`max_requests_per_connection`](Self::max_requests_per_connection) | no limit |
/// | [`acquire_timeout`](Self::acquire_timeout) | 30 s |
/// | [`connect_timeout`](Self::connect_timeout) | 10 s |
/// | [`prefer_wait`](Self::prefer_wait) | 0 |
/// | [`dial_backoff`](Self::dial_backoff) | 50 ms to 1 s |
/// | [`response_timeout`](Self::response_timeout), [`read_timeout`](Self::read_timeout) | 5 min |
/// | [`timeout`](Self::timeout) | none |
/// | [`scheduling`](Self::scheduling) | last in, first out |
/// | [`proxy`](Self::proxy) | none |
/// | [`spread`](Self::spread) | least connections |
/// | [`address_set_back`](Self::address_set_back) | 1 s |
/// | [`dns_cache`](Self::dns_cache), [`dns_refresh`](Self::dns_refresh) | 5 s, 30 s; the TTL where it is known |
/// | [`tcp_nodelay`](Self::tcp_nodelay) | on |
/// | [`tcp_keepalive`](Self::tcp_keepalive) | after 15 s, every 15 s, 3 times |
/// | [`tcp_user_timeout`](Self::tcp_user_timeout) | 60 s |
/// | [`drain_bytes`](Self::drain_bytes), [`drain_time`](Self::drain_time) | 64 KiB, 50 ms |
/// | [`learn_idle_limit`](Self::learn_idle_limit) | on |
/// | [`retry_budget`](Self::retry_budget) | 20 % of the requests |
/// | [`idempotency_key`](Self::idempotency_key) | off |
/// | [`held_after`](Self::held_after) | 30 s |
/// | [`redirects`](Self::redirects) | none is followed |
/// | [`http_version`](Self::http_version) | HTTP/2 or HTTP/1.1 by ALPN; HTTP/1.1 without TLS |
/// | [`http2_max_streams`](Self::http2_max_streams) | 256 per connection |
/// | [`http2_stream_window`](Self::http2_stream_window), [`http2_connection_window`](Self::http2_connection_window) | 2 MiB, 5 MiB |
/// | [`http2_keep_alive_interval`](Self::http2_keep_alive_interval), [`http2_keep_alive_timeout`](Self::http2_keep_alive_timeout) | 20 s, 10 s; while requests are in progress |
///
/// Most of them can be other ones for single origins: see [`for_origin`](Self::for_origin).
///
/// A timer takes a `Duration`, or `None` that turns it off. Timers have the runtime's grain: a
/// millisecond.
#[must_use = "a builder does nothing until `build`"]
pub struct AgentBuilder {
    policy: Policy,
    origins: Vec<NamedPolicy>,
    max_total_connections: usize,
    tcp: TcpConnect,
    keep_alive: bool,
    headers: HeaderMap,
    unix_socket: Option<PathBuf>,
    resolver: Arc<dyn Resolve>,
    names: NameSettings,
    connector: Option<Arc<dyn Connect>>,
    observer: Observer,
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
        AgentBuilder {
            policy: Policy::default(),
            origins: Vec::new(),
            max_total_connections: usize::MAX,
            tcp: TcpConnect::default(),
            keep_alive: true,
            headers: HeaderMap::new(),
            unix_socket: None,
            resolver: Arc::new(SystemResolver),
            names: NameSettings::default(),
            connector: None,
            observer: Observer::default(),
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
        self.policy.tls.check().map_err(|error| {
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
        if let Some(why) = pool::contradiction(&self.policy.limits, self.max_total_connections) {
            return Err(Error::request(ErrorKind::InvalidConfig, why));
        }
        let pool = Pool::new(self.policy.limits, self.max_total_connections);
        let mut policies = Policies::new(self.policy);
        for origin in self.origins {
            let max_total = self.max_total_connections;
            origin.apply(&mut policies, self.unix_socket.as_deref(), max_total)?;
        }
        let config = Config {
            policies,
            keep_alive: self.keep_alive,
            default_headers: headers,
            unix_socket: self.unix_socket.map(Into::into),
        };
        let names = Names::new(self.resolver, self.names);
        let connector = Connector { names, tcp: self.tcp, custom: self.connector };
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
        f.debug_struct("AgentBuilder").field("policy", &self.policy).finish_non_exhaustive()
    }
}
