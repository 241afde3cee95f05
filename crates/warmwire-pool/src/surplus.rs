//! Idle connections beyond `max_idle`: closed at once, or when nobody has used them for a while.
//!
//! Only the least recently used one of an origin has an alarm for that. When it is used or gone, the
//! next one gets it.

use std::hash::Hash;
use std::time::Instant;

use crate::actions::Actions;
use crate::origin::Origin;
use crate::pool::Pool;
use crate::reason::CloseReason;

impl<K: Clone + Eq + Hash, C, E> Pool<K, C, E> {
    /// Closes the least recently used connection if one more has become idle than may be, and there
    /// is no time for it to be used in.
    pub(crate) fn close_one_too_many(
        &mut self,
        origin: usize,
        now: Instant,
        actions: &mut Actions<K, C>,
    ) {
        let entry = &self.origins[origin];
        if let Some(oldest) = entry.surplus().filter(|_| !entry.has_grace()) {
            self.remove_connection(oldest, CloseReason::MaxIdle, now, actions);
        }
    }

    /// Makes sure that an alarm comes when the least recently used connection is to be closed.
    pub(crate) fn watch_surplus(&mut self, origin: usize) {
        let entry = &self.origins[origin];
        let Some(oldest) = entry.surplus().filter(|_| entry.has_grace()) else { return };
        let connection = &mut self.connections[oldest];
        if connection.surplus_at.is_none() {
            let at = connection.last_used.checked_add(entry.limits.surplus_grace);
            connection.surplus_at = at;
            self.alarms.set(oldest, &mut self.connections);
        }
    }

    /// Closes what nobody has used in its time.
    pub(crate) fn close_surplus(
        &mut self,
        origin: usize,
        now: Instant,
        actions: &mut Actions<K, C>,
    ) {
        while let Some(oldest) = self.origins[origin].surplus() {
            let grace = self.origins[origin].limits.surplus_grace;
            if now.saturating_duration_since(self.connections[oldest].last_used) < grace {
                break;
            }
            self.remove_connection(oldest, CloseReason::MaxIdle, now, actions);
        }
        self.watch_surplus(origin);
    }
}

impl<K> Origin<K> {
    /// The least recently used idle connection if there are more than may be.
    fn surplus(&self) -> Option<usize> {
        (self.idle.len() > self.limits.max_idle).then(|| self.idle.back())?
    }

    /// Where none may be idle, none is kept for a while either.
    fn has_grace(&self) -> bool {
        !self.limits.surplus_grace.is_zero() && self.limits.max_idle > 0
    }
}
