//! How many connections, and how long each is kept.

use std::time::Duration;

use warmwire_pool::Scheduling;

use super::AgentBuilder;
use crate::policy::LONGEST_IDLE;

impl AgentBuilder {
    /// Connections **per origin**, those being opened included. Default: no limit, since a limit
    /// can make a request wait and only the caller knows what the server bears. At least 1.
    #[doc(alias = "maxSockets")]
    #[doc(alias = "connections")]
    pub fn max_connections(mut self, connections: usize) -> Self {
        self.require(connections > 0, "max_connections is 0: no request could ever be sent");
        self.policy.limits.max_connections = connections;
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
        self.policy.limits.max_idle = connections;
        self
    }

    /// How long a connection beyond [`max_idle`](Self::max_idle) stays after its last use. Default
    /// zero: one more than may be idle closes at once. Where requests come in waves, a time longer
    /// than the pauses between them spares the handshakes; so many more are idle meanwhile. It has
    /// no meaning where `max_idle` is 0.
    pub fn surplus_grace(mut self, time: Duration) -> Self {
        self.policy.limits.surplus_grace = time;
        self
    }

    /// Requests that may wait **per origin** for a connection to be freed; one more is refused at
    /// once with [`QueueFull`](crate::ErrorKind::QueueFull). Those that open a connection of their
    /// own do not count. 0 refuses every request that cannot start at once. Default: no limit; the
    /// wait itself is bounded by [`acquire_timeout`](Self::acquire_timeout).
    #[doc(alias = "max_pending_requests")]
    pub fn max_waiting(mut self, requests: usize) -> Self {
        self.policy.limits.max_waiting = requests;
        self
    }

    /// How long a connection may be idle if the server does not say how long it keeps it. Zero
    /// closes every connection after its exchange; more than a year counts as a year. Default
    /// 4 s: below the 5 s after which Node's servers close.
    #[doc(alias = "freeSocketTimeout")]
    #[doc(alias = "keepAliveTimeout")]
    #[doc(alias = "pool_idle_timeout")]
    pub fn idle_timeout(mut self, timeout: Duration) -> Self {
        self.policy.limits.idle_timeout = Some(timeout.min(LONGEST_IDLE));
        self
    }

    /// The longest idle time that a server's `Keep-Alive: timeout=N` can ask for. What it asks
    /// for, less a margin of a second or a tenth, replaces [`idle_timeout`](Self::idle_timeout),
    /// up to this. Default 10 min, as undici's.
    #[doc(alias = "keepAliveMaxTimeout")]
    pub fn max_idle_timeout(mut self, timeout: Duration) -> Self {
        self.policy.max_idle_timeout = timeout.min(LONGEST_IDLE);
        self
    }

    /// The age at which a connection is not used again, busy or idle. Each connection's own is
    /// shorter by up to a tenth, drawn at random once, so that connections opened together do not
    /// close together. Default: no limit.
    #[doc(alias = "socketActiveTTL")]
    #[doc(alias = "clientTtl")]
    pub fn max_lifetime(mut self, lifetime: impl Into<Option<Duration>>) -> Self {
        self.policy.limits.max_lifetime = lifetime.into();
        self
    }

    /// Requests after which a connection is closed. At least 1. Default: no limit.
    #[doc(alias = "maxRequestsPerClient")]
    pub fn max_requests_per_connection(mut self, requests: u64) -> Self {
        self.require(requests > 0, "max_requests_per_connection is 0: no request could be sent");
        self.policy.limits.max_requests_per_connection = Some(requests);
        self
    }

    /// Which idle connection is used first. Default [`Scheduling::Lifo`]: after a spike the
    /// surplus stays idle and is closed.
    pub fn scheduling(mut self, scheduling: Scheduling) -> Self {
        self.policy.limits.scheduling = scheduling;
        self
    }

    /// Whether connections are kept. `false` sends `Connection: close` and opens one for each
    /// request: for comparisons. Default `true`.
    pub fn keep_alive(mut self, keep_alive: bool) -> Self {
        self.keep_alive = keep_alive;
        self
    }
}
