//! When connections are dialled: ahead, at once, or later.

use std::time::Duration;

use warmwire_pool::{Backoff, Limits};

use super::{AgentBuilder, OriginPolicy};

impl AgentBuilder {
    /// Connections **per origin** that are kept ready for requests to come, from the first request
    /// (or [`warm`](crate::Agent::warm)) on: when fewer have room for a request, others are opened
    /// ahead, within the limits and after the requests that wait. Default 0: none.
    ///
    /// An idle connection still closes when its time is over, since the server would close it, and
    /// a fresh one takes its place; so this costs as many handshakes per
    /// [`idle_timeout`](Self::idle_timeout) while there are no requests. At most
    /// [`max_idle`](Self::max_idle), [`max_connections`](Self::max_connections) and
    /// [`max_total_connections`](Self::max_total_connections).
    #[doc(alias = "minIdle")]
    pub fn min_idle(mut self, connections: usize) -> Self {
        self.policy.limits.min_idle = connections;
        self
    }

    /// How long a request waits for a connection to be freed before it opens one, where one is
    /// open. Default zero: it opens one at once, and takes whichever comes first. More spares
    /// connections where exchanges are shorter than handshakes. A request that
    /// [`max_waiting`](Self::max_waiting) does not let wait opens one at once.
    pub fn prefer_wait(mut self, time: Duration) -> Self {
        self.policy.limits.prefer_wait = time;
        self
    }

    /// How long an origin is left in peace after a connection to it could not be opened: `initial`,
    /// doubled with each failure in a row up to `max`, less up to a half at random. After that one
    /// connection at a time is tried until one succeeds. Zero turns it off. Default 50 ms and 1 s.
    ///
    /// Meanwhile requests use connections that are open or wait, within their own timers. When a
    /// try fails, all requests that came before it began fail with its error.
    pub fn dial_backoff(mut self, initial: Duration, max: Duration) -> Self {
        self.policy.limits.dial_backoff = Backoff { initial, max };
        self
    }
}

impl OriginPolicy {
    /// [`AgentBuilder::min_idle`] for this origin.
    pub fn min_idle(self, connections: usize) -> Self {
        self.change(move |policy| policy.limits.min_idle = connections)
    }

    /// [`AgentBuilder::prefer_wait`] for this origin.
    pub fn prefer_wait(self, time: Duration) -> Self {
        self.change(move |policy| policy.limits.prefer_wait = time)
    }

    /// [`AgentBuilder::dial_backoff`] for this origin.
    pub fn dial_backoff(self, initial: Duration, max: Duration) -> Self {
        self.change(move |policy| policy.limits.dial_backoff = Backoff { initial, max })
    }
}

/// What limits say against each other.
pub(super) fn contradiction(limits: &Limits, max_total: usize) -> Option<String> {
    let min_idle = limits.min_idle;
    let bounds = [
        ("max_idle", limits.max_idle),
        ("max_connections", limits.max_connections),
        ("max_total_connections", max_total),
    ];
    let (name, bound) = bounds.into_iter().find(|&(_, bound)| min_idle > bound)?;
    Some(format!("min_idle is {min_idle} and {name} is {bound}: so many cannot be idle"))
}
