//! Settings of an agent. The manual's page on defaults defends each of them.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use warmwire_net::{Connect, Connector, Resolve, SystemResolver, TcpConnect, Tls};
use warmwire_pool::{Limits, Pool, Scheduling};

use crate::agent::Agent;
use crate::core::{AgentHooks, Config, Core, Drain, Timeouts};
use crate::error::{Error, ErrorKind};
use crate::event::{Event, Observer};

/// A year. The task that notices when peers close idle connections runs while one has a deadline, so
/// every idle connection must have one that the clock can hold.
const LONGEST_IDLE: Duration = Duration::from_secs(365 * 24 * 3600);

/// Linux's bound on the time between two TCP keep-alive probes.
const LONGEST_PROBE: Duration = Duration::from_secs(32_767);

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

    /// Connections **per origin**, those being opened included. Default: no limit, since a limit
    /// can make a request wait and only the caller knows what the server bears. At least 1.
    #[doc(alias = "maxSockets")]
    #[doc(alias = "connections")]
    pub fn max_connections(mut self, connections: usize) -> Self {
        self.require(connections > 0, "max_connections is 0: no request could ever be sent");
        self.limits.max_connections = connections;
        self
    }

    /// Connections **over all origins**, those being opened included. When it is reached, the
    /// connection that is idle the longest, of any origin, makes room before a request has to
    /// wait. Default: no limit. At least 1.
    #[doc(alias = "maxTotalSockets")]
    pub fn max_total_connections(mut self, connections: usize) -> Self {
        self.require(connections > 0, "max_total_connections is 0: no request could ever be sent");
        self.max_total_connections = connections;
        self
    }

    /// Idle connections **per origin**; one more that becomes idle closes the least recently used.
    /// 0 closes every connection after its exchange. Default 256, as in agentkeepalive: far more
    /// than a steady load needs, and a bound on what a spike leaves behind.
    #[doc(alias = "maxFreeSockets")]
    #[doc(alias = "pool_max_idle_per_host")]
    pub fn max_idle(mut self, connections: usize) -> Self {
        self.limits.max_idle = connections;
        self
    }

    /// Requests that may wait **per origin** for a connection to be freed; one more is refused at
    /// once with [`ErrorKind::QueueFull`]. Those that open a connection of their own do not count.
    /// 0 refuses every request that cannot start at once. Default: no limit; the wait itself is
    /// bounded by [`acquire_timeout`](Self::acquire_timeout).
    #[doc(alias = "max_pending_requests")]
    pub fn max_waiting(mut self, requests: usize) -> Self {
        self.limits.max_waiting = requests;
        self
    }

    /// How long a request may wait for a connection to be freed, before
    /// [`ErrorKind::AcquireTimeout`]. Opening a connection does not count: it has
    /// [`connect_timeout`](Self::connect_timeout). Default 30 s: finite, so that connections held
    /// by mistake show as an error with numbers and not as a hang.
    pub fn acquire_timeout(mut self, timeout: impl Into<Option<Duration>>) -> Self {
        self.timeouts.acquire = timeout.into();
        self
    }

    /// How long a connection may be idle if the server does not say how long it keeps it. Zero
    /// closes every connection after its exchange; more than a year counts as a year. Default
    /// 4 s: below the 5 s after which Node's servers close.
    #[doc(alias = "freeSocketTimeout")]
    #[doc(alias = "keepAliveTimeout")]
    #[doc(alias = "pool_idle_timeout")]
    pub fn idle_timeout(mut self, timeout: Duration) -> Self {
        self.limits.idle_timeout = Some(timeout.min(LONGEST_IDLE));
        self
    }

    /// The longest idle time that a server's `Keep-Alive: timeout=N` can ask for. What it asks
    /// for, less a margin of a second or a tenth, replaces [`idle_timeout`](Self::idle_timeout),
    /// up to this. Default 10 min, as undici's.
    #[doc(alias = "keepAliveMaxTimeout")]
    pub fn max_idle_timeout(mut self, timeout: Duration) -> Self {
        self.max_idle_timeout = timeout.min(LONGEST_IDLE);
        self
    }

    /// The age at which a connection is not used again, busy or idle. Each connection's own is
    /// shorter by up to a tenth, drawn at random once, so that connections opened together do not
    /// close together. Default: no limit.
    #[doc(alias = "socketActiveTTL")]
    #[doc(alias = "clientTtl")]
    pub fn max_lifetime(mut self, lifetime: impl Into<Option<Duration>>) -> Self {
        self.limits.max_lifetime = lifetime.into();
        self
    }

    /// Requests after which a connection is closed. At least 1. Default: no limit.
    #[doc(alias = "maxRequestsPerClient")]
    pub fn max_requests_per_connection(mut self, requests: u64) -> Self {
        self.require(requests > 0, "max_requests_per_connection is 0: no request could be sent");
        self.limits.max_requests_per_connection = Some(requests);
        self
    }

    /// How long look-up, connect and TLS handshake may take together. Default 10 s.
    pub fn connect_timeout(mut self, timeout: impl Into<Option<Duration>>) -> Self {
        self.timeouts.connect = timeout.into();
        self
    }

    /// How long the server may take from the last byte of the request that could be sent to the
    /// last byte of the response's head. While a request is still being sent, every piece that
    /// leaves starts it anew. Default 5 min, as undici's: the slowest answers of APIs take
    /// minutes, and a server that is gone must not hold a connection for ever.
    #[doc(alias = "headersTimeout")]
    pub fn response_timeout(mut self, timeout: impl Into<Option<Duration>>) -> Self {
        self.timeouts.response = timeout.into();
        self
    }

    /// How long the next piece of a response's body may take. Default 5 min, as undici's.
    #[doc(alias = "bodyTimeout")]
    pub fn read_timeout(mut self, timeout: impl Into<Option<Duration>>) -> Self {
        self.timeouts.read = timeout.into();
        self
    }

    /// How long the whole exchange may take, queueing and the response's body included. Default:
    /// none.
    pub fn timeout(mut self, timeout: impl Into<Option<Duration>>) -> Self {
        self.timeouts.total = timeout.into();
        self
    }

    /// Which idle connection is used first. Default [`Scheduling::Lifo`]: after a spike the
    /// surplus stays idle and is closed.
    pub fn scheduling(mut self, scheduling: Scheduling) -> Self {
        self.limits.scheduling = scheduling;
        self
    }

    /// Whether connections are kept. `false` sends `Connection: close` and opens one for each
    /// request: for comparisons. Default `true`.
    pub fn keep_alive(mut self, keep_alive: bool) -> Self {
        self.keep_alive = keep_alive;
        self
    }

    /// Idle time before TCP asks the other end whether it is still there; less than a second
    /// counts as one, `None` never asks. Default 15 s.
    #[doc(alias = "keepAliveMsecs")]
    pub fn tcp_keepalive(mut self, idle: impl Into<Option<Duration>>) -> Self {
        let idle = idle.into();
        self.require(
            idle.is_none_or(|idle| idle <= LONGEST_PROBE),
            "tcp_keepalive: more than 32,767 s between two probes is beyond what TCP takes",
        );
        self.tcp.socket.keepalive_idle = idle;
        self
    }

    /// Time between two such questions, at least a second, and how many may stay unanswered
    /// before the connection is given up. Default 15 s and 3.
    pub fn tcp_keepalive_probes(mut self, interval: Duration, count: u32) -> Self {
        self.require(
            interval <= LONGEST_PROBE && (1..=127).contains(&count),
            "tcp_keepalive_probes: TCP takes an interval of up to 32,767 s and 1 to 127 probes",
        );
        self.tcp.socket.keepalive_interval = interval;
        self.tcp.socket.keepalive_retries = count;
        self
    }

    /// `TCP_NODELAY`. Default `true`.
    pub fn tcp_nodelay(mut self, nodelay: bool) -> Self {
        self.tcp.socket.nodelay = nodelay;
        self
    }

    /// The local address to connect from. Default: the system's choice.
    pub fn local_address(mut self, address: IpAddr) -> Self {
        self.tcp.socket.local_address = Some(address);
        self
    }

    /// How long one address of a name may be silent before the next one is tried beside it
    /// (RFC 8305). Default 250 ms, at least 10 ms.
    pub fn happy_eyeballs_delay(mut self, delay: Duration) -> Self {
        self.tcp.happy_eyeballs_delay = delay;
        self
    }

    /// Sends every request over the Unix socket at `path`; URLs tell `Host` and path.
    #[doc(alias = "socketPath")]
    pub fn unix_socket(mut self, path: impl Into<PathBuf>) -> Self {
        self.unix_socket = Some(path.into());
        self
    }

    /// TLS settings.
    pub fn tls(mut self, tls: Tls) -> Self {
        self.tls = tls;
        self
    }

    /// Looks names up in place of the system's resolver.
    pub fn resolver(mut self, resolver: impl Resolve) -> Self {
        self.resolver = Arc::new(resolver);
        self
    }

    /// Connects in place of the built-in TCP connect; options of sockets do not apply then.
    pub fn connector(mut self, connector: impl Connect) -> Self {
        self.connector = Some(Arc::new(connector));
        self
    }

    /// Calls `callback` at every step in a connection's life.
    ///
    /// It runs on the task that caused the event and outside every lock: a slow one delays that
    /// task and no other, and a panic in it is caught.
    pub fn on_event(mut self, callback: impl Fn(&Event) + Send + Sync + 'static) -> Self {
        self.observer = Observer::new(callback);
        self
    }

    /// A header of every request that does not set it itself.
    pub fn default_header<N, V>(mut self, name: N, value: V) -> Self
    where
        N: TryInto<HeaderName>,
        N::Error: fmt::Display,
        V: TryInto<HeaderValue>,
        V::Error: fmt::Display,
    {
        match (name.try_into(), value.try_into()) {
            (Ok(name), Ok(value)) => {
                self.headers.append(name, value);
            }
            (Err(error), _) => self.refuse(format!("default_header: its name: {error}")),
            (Ok(name), Err(error)) => self.refuse(format!("default_header {name}: {error}")),
        }
        self
    }

    /// The `User-Agent` of every request that does not set it itself. Default
    /// `warmwire/` and the version.
    pub fn user_agent<V>(mut self, value: V) -> Self
    where
        V: TryInto<HeaderValue>,
        V::Error: fmt::Display,
    {
        self.headers.remove(header::USER_AGENT);
        self.default_header(header::USER_AGENT, value)
    }

    /// How many bytes of a dropped response are read at most so that its connection can be kept;
    /// 0 closes it. Default 64 KiB: about what comes in the time of a handshake.
    pub fn drain_bytes(mut self, bytes: u64) -> Self {
        self.drain.bytes = bytes;
        self
    }

    /// How long that may take. Default 50 ms.
    pub fn drain_time(mut self, time: Duration) -> Self {
        self.drain.time = time;
        self
    }

    /// How long a body waits for `100 Continue` when the request has `Expect: 100-continue`,
    /// before it is sent all the same (RFC 9110, section 10.1.1). Default 1 s, as curl's.
    pub fn expect_continue_timeout(mut self, timeout: Duration) -> Self {
        self.timeouts.expect_continue = timeout;
        self
    }

    /// Bytes of a response's head, at most. Default 64 KiB.
    pub fn max_response_head(mut self, bytes: usize) -> Self {
        self.h1.max_head_bytes = bytes;
        self
    }

    /// Lines of a response's header, at most. Default 100.
    pub fn max_response_headers(mut self, lines: usize) -> Self {
        self.h1.max_headers = lines;
        self
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
