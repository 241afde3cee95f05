//! The limits of an origin, and why each default is what it is.

use std::time::Duration;

/// What one origin may have. A connection, a waiter, a dial belong to exactly one origin; the limit
/// over all origins is the second argument of [`Pool::new`](crate::Pool::new).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Connections, counting dials in progress. Default `usize::MAX`: no limit. A limit changes
    /// what a program can do (it makes requests wait), so it is for who knows the origin to set.
    /// 0 refuses or queues every request for ever.
    pub max_connections: usize,
    /// Connections without a lease. Default 256, as agentkeepalive has it: enough that a wave of
    /// requests finds its connections again, and a bound on what an idle program holds. One more
    /// that comes back closes the least recently used. 0 closes every connection on return.
    pub max_idle: usize,
    /// Requests that wait and are not covered by a dial in progress. Default `usize::MAX`. 0
    /// refuses every request that can neither be served nor dial at once.
    pub max_waiting: usize,
    /// How long a connection may be idle. Default 4 s: below the 5 s after which Node closes, the
    /// shortest default among common servers, so that no reuse meets a closing server. `None`
    /// never closes for idleness. Zero closes every connection on return.
    pub idle_timeout: Option<Duration>,
    /// The age at which a connection is not used again. Default `None`. Each connection's own is
    /// shorter by up to a tenth, see [`Opened::jitter`](crate::Opened::jitter). A busy connection
    /// retires when its leases are back.
    pub max_lifetime: Option<Duration>,
    /// Requests after which a connection is closed. Default `None`. `Some(0)` counts as 1, since
    /// a connection is opened for a request.
    pub max_requests_per_connection: Option<u64>,
    /// Which idle connection is lent first. Default [`Scheduling::Lifo`].
    pub scheduling: Scheduling,
    /// How many slots a dial is expected to bring, before the first one of this origin has told.
    /// Default 1; 0 counts as 1. Each opened connection corrects it. A new dial is granted only
    /// when more requests wait than the dials in progress are expected to serve, so that a cold
    /// burst to a multiplexing peer opens one connection.
    pub expected_slots: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_connections: usize::MAX,
            max_idle: 256,
            max_waiting: usize::MAX,
            idle_timeout: Some(Duration::from_secs(4)),
            max_lifetime: None,
            max_requests_per_connection: None,
            scheduling: Scheduling::Lifo,
            expected_slots: 1,
        }
    }
}

/// Which idle connection is lent first. Connections with some slots lent come before idle ones in
/// either case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Scheduling {
    /// The most recently used: after a spike the surplus stays idle and times out, and a connection
    /// lent is the least likely to have been closed by the peer.
    #[default]
    Lifo,
    /// The longest idle: spreads requests over all connections, and so keeps all of them open.
    Fifo,
}
