//! Order after a change: what was freed goes to who waits for it.

use std::hash::Hash;
use std::time::Instant;

use crate::actions::Actions;
use crate::counters::Counters;
use crate::pool::Pool;
use crate::reason::CloseReason;

impl<K: Clone + Eq + Hash, C, E> Pool<K, C, E> {
    pub(crate) fn has_total_room(&self) -> bool {
        self.totals.open + self.totals.connecting < self.max_total_connections
    }

    /// Whether the limit over all origins lets one more dial begin, if need be in the place of the
    /// connection that is idle the longest.
    pub(crate) fn make_total_room(&mut self, now: Instant, actions: &mut Actions<K, C>) -> bool {
        if self.has_total_room() {
            return true;
        }
        let Some(index) = self.idle.back() else { return false };
        let origin = self.connections[index].origin;
        self.remove_connection(index, CloseReason::MaxTotal, now, actions);
        self.forget_if_empty(origin);
        self.has_total_room()
    }

    /// Restores order after a change at an origin: free slots, then room that was freed go to who
    /// waits for them, and an origin with nothing left is forgotten.
    pub(crate) fn settle(&mut self, origin: usize, now: Instant, actions: &mut Actions<K, C>) {
        while !self.origins[origin].queue.is_empty()
            && let Some(connection) = self.free_slot(origin, now, actions)
        {
            self.offer_slots(connection, now, actions);
        }
        self.review(origin);
        while let Some((_, &first)) = self.starving.first_key_value() {
            if !self.make_total_room(now, actions) {
                break;
            }
            self.offer_dial(first, actions);
            self.review(first);
        }
        // The room may have come from this origin's last connection.
        if self.origins.contains(origin) {
            self.tally(origin, Counters::record_waiting);
            self.forget_if_empty(origin);
        }
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
        let wants_dial = waiting > 0 && entry.has_room();
        let first = entry.undialled.front().filter(|_| wants_dial);
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
    }

    pub(crate) fn forget_if_empty(&mut self, origin: usize) {
        if !self.origins[origin].is_empty() {
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
