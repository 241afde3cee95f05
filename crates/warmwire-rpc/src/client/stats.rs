//! What a client counts.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use crate::error::ErrorKind;

/// What a client has counted since it was made, and what is going on.
///
/// Every call ends once: `calls` = `in_flight` + `waiting` + `answered` + `faults` + `timeouts` +
/// `disconnected` + `queue_full` + `cancelled` + `failed` + `notified`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClientStats {
    /// Connections that are open.
    pub open: u64,
    /// Connections that were opened.
    pub opened: u64,
    /// Connections that have ended.
    pub closed: u64,
    /// Attempts to connect that failed.
    pub connect_failed: u64,
    /// Calls that have been made, notifications and pings among them.
    pub calls: u64,
    /// Calls that are under way on a connection.
    pub in_flight: u64,
    /// Calls that wait for one.
    pub waiting: u64,
    /// Calls with a result.
    pub answered: u64,
    /// Calls that were answered with a fault.
    pub faults: u64,
    /// Calls whose time was over.
    pub timeouts: u64,
    /// Calls that ended with their connection.
    pub disconnected: u64,
    /// Calls that the queue had no place for.
    pub queue_full: u64,
    /// Calls whose future was dropped.
    pub cancelled: u64,
    /// Calls that ended otherwise.
    pub failed: u64,
    /// Calls that were sent again after their connection had ended.
    pub resent: u64,
    /// Notifications that were sent.
    pub notified: u64,
    /// Replies that nobody waited for any more.
    pub late_replies: u64,
}

/// How a client stands.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Status {
    /// Connections that are open.
    pub connections: usize,
    /// Connections whose peer has shown that it is Warmwire.
    pub warmwire: usize,
    /// Calls that are under way.
    pub in_flight: usize,
    /// Calls that wait for a connection.
    pub waiting: usize,
    /// Why there is no connection, or why the last one ended.
    pub last_error: Option<String>,
    /// Since when the oldest connection is open.
    pub oldest: Option<Duration>,
}

/// One number that only grows.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    /// Adds to it and returns what it was.
    pub(crate) fn add(&self, count: usize) -> u64 {
        self.0.fetch_add(count as u64, Relaxed)
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) opened: Counter,
    pub(crate) closed: Counter,
    pub(crate) connect_failed: Counter,
    pub(crate) calls: Counter,
    pub(crate) answered: Counter,
    pub(crate) faults: Counter,
    pub(crate) timeouts: Counter,
    pub(crate) disconnected: Counter,
    pub(crate) queue_full: Counter,
    pub(crate) cancelled: Counter,
    pub(crate) failed: Counter,
    pub(crate) resent: Counter,
    pub(crate) notified: Counter,
    pub(crate) late_replies: Counter,
}

impl Counters {
    pub(super) fn stats(&self) -> ClientStats {
        let (opened, closed) = (self.opened.get(), self.closed.get());
        ClientStats {
            open: opened.saturating_sub(closed),
            opened,
            closed,
            connect_failed: self.connect_failed.get(),
            calls: self.calls.get(),
            in_flight: 0,
            waiting: 0,
            answered: self.answered.get(),
            faults: self.faults.get(),
            timeouts: self.timeouts.get(),
            disconnected: self.disconnected.get(),
            queue_full: self.queue_full.get(),
            cancelled: self.cancelled.get(),
            failed: self.failed.get(),
            resent: self.resent.get(),
            notified: self.notified.get(),
            late_replies: self.late_replies.get(),
        }
    }

    /// Counts how a call has ended.
    pub(super) fn ended(&self, end: Result<(), ErrorKind>) {
        let counter = match end {
            Ok(()) => &self.answered,
            Err(ErrorKind::Fault) => &self.faults,
            Err(ErrorKind::Timeout) => &self.timeouts,
            Err(ErrorKind::Disconnected) => &self.disconnected,
            Err(ErrorKind::QueueFull) => &self.queue_full,
            Err(_) => &self.failed,
        };
        counter.add(1);
    }
}
