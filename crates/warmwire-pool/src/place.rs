//! Connections move between the lists of idle and partly lent ones, and leave the pool.

use std::hash::Hash;
use std::time::Instant;

use crate::actions::{Actions, Closed};
use crate::closing::Closing;
use crate::limits::Scheduling;
use crate::pool::Pool;
use crate::reason::CloseReason;
use crate::token::{ConnectionId, OriginId};

/// Which lists a connection is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// In none, and not yet counted as idle or active.
    New,
    /// Without a lease: in its origin's idle list and in that of the pool.
    Idle,
    /// With leases and free slots to lend: in its origin's list of such.
    Partial,
    /// With leases and nothing to lend: in none.
    Busy,
}

impl<K: Clone + Eq + Hash, C, E> Pool<K, C, E> {
    /// Moves a connection to the lists where it belongs by what is lent of it.
    pub(crate) fn relist(&mut self, index: usize) {
        let due = self.connections[index].due_place();
        if due == self.connections[index].place {
            return;
        }
        self.unlink(index);
        let connection = &mut self.connections[index];
        connection.place = due;
        connection.was_idle |= due == Place::Idle;
        let (origin, last_used) = (connection.origin, connection.last_used);
        let entry = &mut self.origins[origin];
        match due {
            Place::New | Place::Busy => {}
            Place::Partial => entry.partial.push_front(&mut self.connections, index),
            Place::Idle => {
                // One that was only looked at goes back to the end from which it came.
                let older = |back| self.connections[back].last_used > last_used;
                let fifo = entry.limits.scheduling == Scheduling::Fifo;
                if fifo && entry.idle.back().is_some_and(older) {
                    entry.idle.push_back(&mut self.connections, index);
                } else {
                    entry.idle.push_front(&mut self.connections, index);
                }
                self.idle.push_front(&mut self.connections, index);
                self.alarms.set(index, &mut self.connections);
            }
        }
        self.tally(origin, |counters| match due {
            Place::New => {}
            Place::Idle => counters.idle += 1,
            Place::Partial | Place::Busy => counters.activate(),
        });
        self.watch_surplus(origin);
    }

    /// Closes a connection now, if it is idle, or when its leases are back.
    pub(crate) fn retire_connection(
        &mut self,
        index: usize,
        reason: CloseReason,
        now: Instant,
        actions: &mut Actions<K, C>,
    ) {
        let connection = &mut self.connections[index];
        let origin = connection.origin;
        if connection.leased == 0 {
            self.remove_connection(index, reason, now, actions);
        } else {
            connection.retire(reason);
            self.relist(index);
        }
        self.settle(origin, now, actions);
    }

    /// Takes a connection out of the pool; its place is free once the driver has closed it. The
    /// caller settles its origin.
    pub(crate) fn remove_connection(
        &mut self,
        index: usize,
        reason: CloseReason,
        now: Instant,
        actions: &mut Actions<K, C>,
    ) {
        self.unlink(index);
        let id = ConnectionId(self.connections.handle(index));
        let connection = self.connections.remove(index);
        let origin = connection.origin;
        self.tally(origin, |counters| counters.count_closed(reason));
        if connection.was_wasted(&self.origins[origin].limits, now) {
            self.pause_refill(origin, now);
        }
        self.watch_surplus(origin);
        let id_of_origin = OriginId(self.origins.handle(origin));
        actions.closed.push(Closed {
            connection: connection.inner,
            id,
            origin: id_of_origin,
            key: self.origins[origin].key.clone(),
            reason,
            requests: connection.requests,
            age: now.saturating_duration_since(connection.opened_at),
            idle: now.saturating_duration_since(connection.last_used),
            closing: Some(Closing::new(id_of_origin)),
        });
    }

    /// Takes a connection out of the lists that it is in, and off the count of idle or active.
    fn unlink(&mut self, index: usize) {
        let (origin, place) = (self.connections[index].origin, self.connections[index].place);
        let entry = &mut self.origins[origin];
        match place {
            Place::New | Place::Busy => {}
            Place::Partial => entry.partial.remove(&mut self.connections, index),
            Place::Idle => {
                entry.idle.remove(&mut self.connections, index);
                self.idle.remove(&mut self.connections, index);
            }
        }
        self.tally(origin, |counters| match place {
            Place::New => {}
            Place::Idle => counters.idle -= 1,
            Place::Partial | Place::Busy => counters.active -= 1,
        });
    }
}
