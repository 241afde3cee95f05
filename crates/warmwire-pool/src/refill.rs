//! Connections dialled ahead, so that `min_idle` are ready.

use std::hash::Hash;
use std::time::{Duration, Instant};

use crate::connection::Connection;
use crate::limits::Limits;
use crate::origin::Origin;
use crate::pool::Pool;
use crate::timers::Timer;
use crate::token::Permit;

impl<K: Clone + Eq + Hash, C, E> Pool<K, C, E> {
    /// A permit for a dial that some origin needs to have its `min_idle` connections ready; `None`
    /// when no more is needed, or there is no room. Call it after [`expire`](Self::expire) until
    /// it gives `None`.
    ///
    /// Refills come after the requests that wait and close nothing to make room. An origin gets
    /// none while its dials back off, and for [`Backoff::max`](crate::Backoff::max) (a second if
    /// that is off) after a connection that closed within that time without having served a
    /// request, or a dial that was given up.
    pub fn refill(&mut self, now: Instant) -> Option<Permit> {
        self.plan_refill(now);
        self.refill_due?;
        let origin = *self.lacking.first()?;
        let permit = self.start_dial(origin, None);
        self.review(origin);
        self.plan_refill(now);
        Some(permit)
    }

    /// Decides whether [`refill`](Self::refill) has something to give.
    pub(crate) fn plan_refill(&mut self, now: Instant) {
        let may = !self.lacking.is_empty() && self.starving.is_empty() && self.has_total_room();
        self.refill_due = may.then(|| self.refill_due.unwrap_or(now));
    }

    /// Brings up to date whether an origin is among those that lack ready connections.
    pub(crate) fn review_refill(&mut self, origin: usize) {
        let entry = &mut self.origins[origin];
        let lacks = !self.closed
            && entry.lack() > 0
            && entry.refill_at.is_none()
            && entry.has_room()
            && entry.may_dial();
        if lacks != entry.lacking {
            entry.lacking = lacks;
            match lacks {
                true => self.lacking.insert(origin),
                false => self.lacking.remove(&origin),
            };
        }
    }

    /// Refills nothing for a while: what was opened ahead was of no use.
    pub(crate) fn pause_refill(&mut self, origin: usize, now: Instant) {
        let entry = &mut self.origins[origin];
        if entry.limits.min_idle > 0 && !self.closed {
            let at = now.checked_add(pause(&entry.limits));
            self.timers.set(Timer::Refill(origin), &mut entry.refill_at, at);
        }
    }

    pub(crate) fn resume_refill(&mut self, origin: usize) {
        let entry = &mut self.origins[origin];
        self.timers.set(Timer::Refill(origin), &mut entry.refill_at, None);
    }
}

impl<K> Origin<K> {
    /// How many connections with a free slot are missing from those that should be ready. Dials
    /// that nobody waits for will be ready.
    pub(crate) fn lack(&self) -> usize {
        let awaited = self.queue.len().div_ceil(self.expected_slots);
        let spare = self.counters.connecting.saturating_sub(awaited);
        let ready = self.idle.len() + self.partial.len() + spare;
        wanted(&self.limits).saturating_sub(ready)
    }
}

impl<C> Connection<C> {
    /// Whether it closes so early and so unused that its like would do no better.
    pub(crate) fn was_wasted(&self, limits: &Limits, now: Instant) -> bool {
        self.requests == 0 && now.saturating_duration_since(self.opened_at) < pause(limits)
    }
}

/// `min_idle`, but none that would be closed as soon as it is there.
fn wanted(limits: &Limits) -> usize {
    let short_lived = [limits.idle_timeout, limits.max_lifetime].contains(&Some(Duration::ZERO));
    if short_lived { 0 } else { limits.min_idle.min(limits.max_idle) }
}

fn pause(limits: &Limits) -> Duration {
    match limits.dial_backoff.is_off() {
        true => Duration::from_secs(1),
        false => limits.dial_backoff.max,
    }
}
