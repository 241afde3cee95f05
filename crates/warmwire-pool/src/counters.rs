//! The numbers of an origin, and of the pool.

use std::time::Duration;

use crate::reason::CloseReason;

/// Everything counted, for one origin or for the pool. Three laws hold whenever the pool is not in
/// the middle of a call:
///
/// - `opened == closed + open`, and `closed` is the sum of [`closed_by`](Self::closed_by);
/// - `open == idle + active`;
/// - `requests - reused` is the number of dials that went straight to a request.
///
/// What happened at an origin stays in the pool's numbers when the origin is forgotten.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counters {
    /// Dials that gave a connection.
    pub opened: u64,
    /// Dials that failed, including those that nobody waited for any more.
    pub open_failed: u64,
    /// Connections closed, for whatever reason.
    pub closed: u64,
    /// Connections closed, by [`CloseReason::index`].
    pub closed_by_reason: [u64; CloseReason::COUNT],
    /// Leases given. One that turned out to be unused is taken off again.
    pub requests: u64,
    /// Leases given on a connection that was lent or idle before.
    pub reused: u64,
    /// Requests that had to wait and could not dial.
    pub queued: u64,
    /// Requests refused.
    pub refused: u64,
    /// Waiters that were cancelled before they had their lease.
    pub cancelled: u64,
    /// Time that all successful dials took together: divided by `opened`, the mean.
    pub connect_time: Duration,

    /// Connections open now.
    pub open: usize,
    /// Connections without a lease now.
    pub idle: usize,
    /// Connections with at least one lease now.
    pub active: usize,
    /// Permits given out now, dialling or about to.
    pub connecting: usize,
    /// Permits given out whose deadline has passed: no limit counts them.
    pub overdue: usize,
    /// Connections that are counted as closed and not as open, but whose place is not free yet:
    /// the driver is closing them.
    pub closing: usize,
    /// Requests that wait now and that no dial in progress is expected to serve: what
    /// `max_waiting` bounds.
    pub waiting: usize,
    /// Leases given out now: of `active` connections, one slot each or more.
    pub leased: usize,

    /// The most connections that were open at once.
    pub max_open: usize,
    /// The most connections that were active at once.
    pub max_active: usize,
    /// The most requests that were waiting at once.
    pub max_waiting: usize,
}

impl Counters {
    /// Connections closed for this reason.
    pub fn closed_by(&self, reason: CloseReason) -> u64 {
        self.closed_by_reason[reason.index()]
    }

    /// The mean time of a successful dial; `None` before the first.
    pub fn mean_connect_time(&self) -> Option<Duration> {
        let nanos = self.connect_time.as_nanos().checked_div(u128::from(self.opened))?;
        Some(Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX)))
    }

    pub(crate) fn count_opened(&mut self, elapsed: Duration) {
        self.opened += 1;
        self.open += 1;
        self.max_open = self.max_open.max(self.open);
        self.connect_time = self.connect_time.saturating_add(elapsed);
    }

    /// Opened and closed, and never in the pool.
    pub(crate) fn count_turned_away(&mut self, elapsed: Duration) {
        self.opened += 1;
        self.connect_time = self.connect_time.saturating_add(elapsed);
        self.closed += 1;
        self.closed_by_reason[CloseReason::Overdue.index()] += 1;
    }

    pub(crate) fn count_closed(&mut self, reason: CloseReason) {
        self.closed += 1;
        self.closed_by_reason[reason.index()] += 1;
        self.open -= 1;
        self.closing += 1;
    }

    /// Places taken under a limit on connections.
    pub(crate) fn taken(&self) -> usize {
        self.open + self.connecting + self.closing
    }

    pub(crate) fn count_request(&mut self, reused: bool) {
        self.requests += 1;
        self.reused += u64::from(reused);
    }

    pub(crate) fn uncount_request(&mut self, reused: bool) {
        self.requests = self.requests.saturating_sub(1);
        self.reused = self.reused.saturating_sub(u64::from(reused));
    }

    pub(crate) fn activate(&mut self) {
        self.active += 1;
        self.max_active = self.max_active.max(self.active);
    }

    /// Replaces one origin's share `before` of the waiting requests by `after`.
    pub(crate) fn change_waiting(&mut self, before: usize, after: usize) {
        self.waiting = self.waiting - before + after;
    }

    /// Called when a change is complete: on the way, a request that gets a permit may count as
    /// waiting for a moment.
    pub(crate) fn record_waiting(&mut self) {
        self.max_waiting = self.max_waiting.max(self.waiting);
    }
}
