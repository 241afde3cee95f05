//! What the pool keeps for one key.

use std::time::Instant;

use crate::backoff::Failures;
use crate::counters::Counters;
use crate::limits::Limits;
use crate::list::List;

/// Marks the list of one origin's idle connections, the most recently used first.
#[derive(Debug)]
pub(crate) enum OriginIdle {}

/// Marks the list of one origin's connections that are lent in part.
#[derive(Debug)]
pub(crate) enum OriginPartial {}

/// Marks one origin's queue: every waiter that has not ended, in order of arrival.
#[derive(Debug)]
pub(crate) enum Queue {}

/// Marks the waiters of the queue that have no dial of their own, in order of arrival.
#[derive(Debug)]
pub(crate) enum Undialled {}

#[derive(Debug)]
pub(crate) struct Origin<K> {
    pub(crate) key: K,
    pub(crate) limits: Limits,
    /// What the next dial is expected to bring: the limits' hint, then what the last one brought.
    pub(crate) expected_slots: usize,
    pub(crate) idle: List<OriginIdle>,
    pub(crate) partial: List<OriginPartial>,
    pub(crate) queue: List<Queue>,
    pub(crate) undialled: List<Undialled>,
    /// The serial under which the origin is registered as one that would dial if the limit over
    /// all origins let it.
    pub(crate) starving: Option<u64>,
    /// Whether it is registered as one that lacks ready connections.
    pub(crate) lacking: bool,
    /// No refill before this.
    pub(crate) refill_at: Option<Instant>,
    /// Its last dials have failed.
    pub(crate) failures: Option<Box<Failures>>,
    /// Waiters that are in no list, since their task seems not to run.
    pub(crate) aside: usize,
    pub(crate) counters: Counters,
}

impl<K> Origin<K> {
    pub(crate) fn new(key: K, limits: Limits) -> Self {
        Self {
            key,
            limits,
            expected_slots: slots(limits.expected_slots),
            idle: List::new(),
            partial: List::new(),
            queue: List::new(),
            undialled: List::new(),
            starving: None,
            lacking: false,
            refill_at: None,
            failures: None,
            aside: 0,
            counters: Counters::default(),
        }
    }

    /// Whether its own limit lets it dial.
    pub(crate) fn has_room(&self) -> bool {
        self.counters.taken() < self.limits.max_connections
    }

    /// Whether its failed dials let it dial.
    pub(crate) fn may_dial(&self) -> bool {
        self.failures.as_ref().is_none_or(|failures| failures.may_probe())
    }

    /// Whether a request had rather wait for a connection to be freed than dial.
    pub(crate) fn prefers_wait(&self) -> bool {
        !self.limits.prefer_wait.is_zero() && self.counters.open > 0
    }

    /// Whether so few connections have a free slot that a refill may be due.
    pub(crate) fn is_short(&self) -> bool {
        self.idle.len() + self.partial.len() < self.limits.min_idle
    }

    pub(crate) fn dial_ended(&mut self, dial: usize) {
        if let Some(failures) = &mut self.failures {
            failures.dial_ended(dial);
        }
    }

    /// How many of `waiters` no dial in progress is expected to serve.
    pub(crate) fn uncovered(&self, waiters: usize) -> usize {
        waiters.saturating_sub(self.counters.connecting.saturating_mul(self.expected_slots))
    }

    /// Whether nobody waits for anything at it, and it is not to be forgotten.
    pub(crate) fn is_calm(&self) -> bool {
        self.queue.is_empty()
            && self.counters.waiting == 0
            && self.counters.open > 0
            && self.limits.min_idle == 0
            && self.starving.is_none()
            && self.failures.is_none()
    }

    /// Whether nothing is left of it, but perhaps its wish for connections.
    pub(crate) fn is_empty(&self) -> bool {
        // Almost always the first is what tells.
        self.counters.open == 0
            && self.counters.taken() + self.counters.overdue + self.aside == 0
            && self.queue.is_empty()
            && self.failures.as_ref().is_none_or(|failures| failures.until.is_none())
    }
}

/// Slots as a count; a connection that lends nothing would strand its waiters.
pub(crate) fn slots(slots: u32) -> usize {
    usize::try_from(slots).unwrap_or(usize::MAX).max(1)
}
