//! An origin whose dials fail is left in peace, then probed.

use std::hash::Hash;
use std::time::Instant;

use crate::arena::Handle;
use crate::pool::Pool;
use crate::timers::Timer;
use crate::token::OriginId;

/// What is remembered of the failed dials of an origin.
#[derive(Debug, Default)]
pub(crate) struct Failures {
    /// In a row; those of dials that were under way together count as one.
    count: u32,
    /// The last dial that had begun when the last failure was counted. The failure of a dial that
    /// is not younger tells nothing new.
    last_dial: u64,
    /// No dial before this. `None` once it has passed: one dial may be made now, as a probe.
    pub(crate) until: Option<Instant>,
    /// The dial that is the probe.
    probe: Option<usize>,
}

impl Failures {
    pub(crate) fn may_probe(&self) -> bool {
        self.until.is_none() && self.probe.is_none()
    }

    pub(crate) fn set_probe(&mut self, dial: usize) {
        self.probe = Some(dial);
    }

    pub(crate) fn dial_ended(&mut self, dial: usize) {
        self.probe = self.probe.filter(|&probe| probe != dial);
    }
}

impl<K: Clone + Eq + Hash, C, E> Pool<K, C, E> {
    /// Until when an origin is not dialled since its dials have failed. `None` when it may be.
    pub fn backing_off(&self, origin: OriginId) -> Option<Instant> {
        self.origins.get(origin.0)?.failures.as_ref()?.until
    }

    /// A dial has failed in a way that says that the origin is down.
    pub(crate) fn begin_backoff(&mut self, origin: usize, dial: Handle, jitter: f64, now: Instant) {
        if self.closed {
            return;
        }
        let backoff = self.origins[origin].limits.dial_backoff;
        let failures = self.origins[origin].failures.get_or_insert_default();
        if dial.serial <= failures.last_dial {
            return;
        }
        failures.count = failures.count.saturating_add(1);
        failures.last_dial = self.dials.last_serial();
        let until = now.checked_add(backoff.delay(failures.count, jitter));
        self.timers.set(Timer::Backoff(origin), &mut failures.until, until);
    }

    /// A dial has succeeded, or nobody is left who would dial.
    pub(crate) fn end_backoff(&mut self, origin: usize) {
        if let Some(mut failures) = self.origins[origin].failures.take() {
            self.timers.set(Timer::Backoff(origin), &mut failures.until, None);
        }
    }
}
