//! Many connections close at once.

use std::hash::Hash;
use std::time::Instant;

use crate::acquire::{Grant, RefuseReason};
use crate::actions::Actions;
use crate::connection::ConnectionView;
use crate::pool::Pool;
use crate::reason::CloseReason;

impl<K: Clone + Eq + Hash, C, E> Pool<K, C, E> {
    /// Closes every idle connection, and says how many. The pool goes on, and dials anew where
    /// [`Limits::min_idle`](crate::Limits::min_idle) asks for it.
    pub fn close_idle(&mut self, now: Instant, actions: &mut Actions<K, C>) -> usize {
        self.evict(CloseReason::CloseIdle, now, actions, |_, view| view.idle_since.is_some())
    }

    /// Closes every connection that `chosen` picks, and says how many: idle ones at once, the
    /// others when their leases are back. None of them is lent again.
    pub fn evict(
        &mut self,
        reason: CloseReason,
        now: Instant,
        actions: &mut Actions<K, C>,
        mut chosen: impl FnMut(&K, ConnectionView<'_, C>) -> bool,
    ) -> usize {
        let chosen: Vec<_> = self
            .connections()
            .filter_map(|(key, view)| {
                let id = view.id;
                chosen(key, view).then_some(id)
            })
            .collect();
        for id in &chosen {
            if let Some(index) = self.connections.find(id.0) {
                self.retire_connection(index, reason, now, actions);
            }
        }
        chosen.len()
    }

    /// Closes the pool: idle connections at once, others when their leases are back, dials when
    /// they are finished. Waiters end with [`RefuseReason::Closed`], and so does every
    /// [`acquire`](Self::acquire) from now on. A waiter that has got its connection keeps it.
    pub fn close(&mut self, now: Instant, actions: &mut Actions<K, C>) {
        self.closed = true;
        let waiters: Vec<_> = self.waiters.iter().map(|(handle, _)| handle.index).collect();
        for waiter in waiters {
            self.refuse_aside(waiter, RefuseReason::Closed);
            if self.queue_of(waiter).is_some() {
                self.end_waiter(waiter, Grant::Refused(RefuseReason::Closed), actions);
            }
        }
        let origins: Vec<_> = self.origins.iter().map(|(handle, _)| handle.index).collect();
        for origin in origins {
            self.end_backoff(origin);
            self.resume_refill(origin);
            self.settle(origin, now, actions);
        }
        self.evict(CloseReason::Shutdown, now, actions, |_, _| true);
    }

    /// Whether the pool is closed and has no connection and no dial left, but for those which are
    /// overdue.
    pub fn is_drained(&self) -> bool {
        self.closed && self.totals.taken() == 0
    }
}
