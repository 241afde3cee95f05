//! Times at which something other than an idle connection needs a look.
//!
//! They are few and rare (a dial, an origin whose dials fail, a request that prefers to wait), so
//! each is kept exactly: set, moved and removed at the cost of a logarithm.

use std::collections::BTreeSet;
use std::time::Instant;

/// What a time is for, with the index of its owner. The owner keeps the time too, so that it can
/// be found again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Timer {
    /// A dial should have ended.
    Dial(usize),
    /// An origin may be probed.
    Backoff(usize),
    /// An origin may be refilled again.
    Refill(usize),
    /// A waiter has waited long enough for a connection to be freed.
    Patience(usize),
}

#[derive(Debug, Default)]
pub(crate) struct Timers(BTreeSet<(Instant, Timer)>);

impl Timers {
    /// Sets, moves or removes a timer, whose time its owner keeps in `kept`.
    pub(crate) fn set(&mut self, timer: Timer, kept: &mut Option<Instant>, at: Option<Instant>) {
        if *kept == at {
            return;
        }
        if let Some(before) = *kept {
            self.0.remove(&(before, timer));
        }
        if let Some(at) = at {
            self.0.insert((at, timer));
        }
        *kept = at;
    }

    pub(crate) fn next(&self) -> Option<Instant> {
        self.0.first().map(|&(at, _)| at)
    }

    /// A timer whose time has come. Its owner forgets the time.
    pub(crate) fn pop_due(&mut self, now: Instant) -> Option<Timer> {
        if self.next()? > now {
            return None;
        }
        self.0.pop_first().map(|(_, timer)| timer)
    }
}
