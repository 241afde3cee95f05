//! How connections are opened: sockets.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use warmwire_net::Connect;

use super::AgentBuilder;

/// Linux's bound on the time between two TCP keep-alive probes.
const LONGEST_PROBE: Duration = Duration::from_secs(32_767);

/// Linux keeps it in 31 bits of milliseconds, which is 24.8 days.
const LONGEST_USER_TIMEOUT: Duration = Duration::from_secs(24 * 24 * 3_600);

impl AgentBuilder {
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

    /// How long bytes that were sent may stay unacknowledged before the connection is given up
    /// (`TCP_USER_TIMEOUT`, on Linux; elsewhere it has no effect). `None` leaves it to the kernel,
    /// which tries for a quarter of an hour. Default 60 s: what
    /// [`tcp_keepalive`](Self::tcp_keepalive) and its probes take to find an idle peer gone.
    ///
    /// A server that takes nothing of a request for so long counts as gone too, even though its
    /// kernel answers.
    pub fn tcp_user_timeout(mut self, timeout: impl Into<Option<Duration>>) -> Self {
        let timeout = timeout.into();
        let allowed = Duration::from_millis(1)..=LONGEST_USER_TIMEOUT;
        self.require(
            timeout.is_none_or(|timeout| allowed.contains(&timeout)),
            "tcp_user_timeout: TCP takes 1 ms to 24 days; `None` turns it off",
        );
        self.tcp.socket.user_timeout = timeout;
        self
    }

    /// `TCP_NODELAY`. Default `true`.
    pub fn tcp_nodelay(mut self, nodelay: bool) -> Self {
        self.tcp.socket.nodelay = nodelay;
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

    /// Connects in place of the built-in TCP connect; options of sockets do not apply then.
    pub fn connector(mut self, connector: impl Connect) -> Self {
        self.connector = Some(Arc::new(connector));
        self
    }
}
