//! Order after a change: what was freed goes to who waits for it.

use std::hash::Hash;
use std::time::Instant;

use crate::actions::Actions;
use crate::counters::Counters;
use crate::pool::Pool;

impl<K: Clone + Eq + Hash, C, E> Pool<K, C, E> {
    pub(crate) fn has_total_room(&self) -> bool {
        self.totals.taken() < self.max_total_connections
    }

    /// Restores order after a change at an origin: free slots, then room that was freed go to who
    /// waits for them, and an origin with nothing left is forgotten.
    pub(crate) fn settle(&mut self, origin: usize, now: Instant, actions: &mut Actions<K, C>) {
        // What a release meets where connections suffice: a tenth of its time.
        if self.origins[origin].is_calm() && self.starving.is_empty() && self.lacking.is_empty() {
            return;
        }
        while !self.origins[origin].queue.is_empty()
            && let Some(connection) = self.free_slot(origin, now, actions)
        {
            self.offer_slots(connection, now, actions);
        }
        self.review(origin);
        while let Some((_, &first)) = self.starving.first_key_value() {
            if !self.has_total_room() {
                self.make_room_soon(now, actions);
                break;
            }
            self.offer_dial(first, now, actions);
            self.review(first);
        }
        self.plan_refill(now);
        self.tally(origin, Counters::record_waiting);
        self.forget_if_empty(origin);
    }

    /// Brings what follows from an origin's queue and dials up to date.
    pub(crate) fn review(&mut self, origin: usize) {
        let entry = &mut self.origins[origin];
        let waiting = entry.uncovered(entry.queue.len());
        let before = entry.counters.waiting;
        if waiting != before {
            entry.counters.change_waiting(before, waiting);
            self.totals.change_waiting(before, waiting);
        }
        if entry.failures.is_some() && waiting == 0 && entry.lack() == 0 && entry.may_dial() {
            // Nobody is left who would dial: what failed before is no concern of who comes next.
            entry.failures = None;
        }
        let wants_dial = waiting > 0 && entry.has_room() && entry.may_dial();
        let first = entry.undialled.front().filter(|&first| {
            wants_dial && !(self.waiters[first].patience.is_some() && entry.prefers_wait())
        });
        let ticket = first.map(|waiter| self.waiters.serial(waiter));
        let registered = std::mem::replace(&mut entry.starving, ticket);
        if registered != ticket {
            if let Some(old) = registered {
                self.starving.remove(&old);
            }
            if let Some(new) = ticket {
                self.starving.insert(new, origin);
            }
        }
        if self.origins[origin].limits.min_idle > 0 {
            self.review_refill(origin);
        }
    }

    pub(crate) fn forget_if_empty(&mut self, origin: usize) {
        let entry = &self.origins[origin];
        if !entry.is_empty() || entry.limits.min_idle > 0 && !self.closed {
            return;
        }
        let forgotten = self.origins.remove(origin);
        self.keys.remove(&forgotten.key);
        if self.keys.is_empty() {
            self.keys.shrink_to(KEPT_KEYS);
        }
    }
}

/// An empty table of keys keeps room for this many; see `Arena` for the same rule.
const KEPT_KEYS: usize = 1024;
