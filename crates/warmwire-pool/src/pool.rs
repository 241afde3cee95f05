//! The pool's state, its origins, and what keeps both in order.

use std::collections::BTreeMap;
use std::hash::Hash;
use std::time::Instant;

use hashbrown::{Equivalent, HashMap};

use crate::actions::{Actions, Closed};
use crate::arena::Arena;
use crate::connection::{AllIdle, Connection, ConnectionView, Place};
use crate::counters::Counters;
use crate::expiry::Alarms;
use crate::limits::{Limits, Scheduling};
use crate::list::List;
use crate::origin::Origin;
use crate::reason::CloseReason;
use crate::token::{ConnectionId, Lease, OriginId};
use crate::waiters::{Dial, Waiter};

/// The connections of many origins.
///
/// `K` is what tells origins apart: everything that affects trust or route. It is compared in full
/// and cloned for each closed connection, so it should be cheap to clone. `C` is a connection and
/// `E` the error of a dial; the pool only keeps them.
#[derive(Debug)]
pub struct Pool<K, C, E> {
    pub(crate) limits: Limits,
    pub(crate) max_total_connections: usize,
    pub(crate) closed: bool,
    // The default hasher and not a faster one without a secret: in a proxy, keys come from
    // clients, who could choose them to collide.
    keys: HashMap<K, OriginId>,
    pub(crate) origins: Arena<Origin<K>>,
    pub(crate) connections: Arena<Connection<C>>,
    pub(crate) dials: Arena<Dial>,
    pub(crate) waiters: Arena<Waiter<E>>,
    pub(crate) idle: List<AllIdle>,
    /// Origins that would dial if the limit over all origins let them, by the serial of their
    /// first waiter without a dial: the order of arrival.
    starving: BTreeMap<u64, usize>,
    pub(crate) alarms: Alarms,
    pub(crate) totals: Counters,
}

impl<K: Clone + Eq + Hash, C, E> Pool<K, C, E> {
    /// A pool whose origins have `limits`, unless they are inserted with their own, and which has
    /// at most `max_total_connections` open or dialling over all of them (`usize::MAX`: no limit).
    pub fn new(limits: Limits, max_total_connections: usize) -> Self {
        Self {
            limits,
            max_total_connections,
            closed: false,
            keys: HashMap::default(),
            origins: Arena::new(),
            connections: Arena::new(),
            dials: Arena::new(),
            waiters: Arena::new(),
            idle: List::new(),
            starving: BTreeMap::new(),
            alarms: Alarms::default(),
            totals: Counters::default(),
        }
    }

    /// The origin of a key, if the pool knows it. Allocates nothing.
    pub fn find<Q: Hash + Equivalent<K> + ?Sized>(&self, key: &Q) -> Option<OriginId> {
        self.keys.get(key).copied()
    }

    /// The origin of a key, which is added with the pool's limits if the pool does not know it.
    ///
    /// An origin is forgotten, and its id stale, as soon as it has no connection, dial or waiter
    /// left. So insert it just before the `acquire` or `open` that needs it, under the same lock.
    pub fn insert(&mut self, key: K) -> OriginId {
        self.insert_with_limits(key, self.limits)
    }

    /// As [`insert`](Self::insert), with limits of its own. An origin that the pool knows keeps
    /// those it has.
    pub fn insert_with_limits(&mut self, key: K, limits: Limits) -> OriginId {
        if let Some(origin) = self.find(&key) {
            return origin;
        }
        let origin = OriginId(self.origins.insert(Origin::new(key.clone(), limits)));
        self.keys.insert(key, origin);
        origin
    }

    /// The key of an origin.
    pub fn key(&self, origin: OriginId) -> Option<&K> {
        self.origins.get(origin.0).map(|origin| &origin.key)
    }

    /// What the driver gave for the connection of this lease. `None` for a lease of another pool.
    pub fn connection_mut(&mut self, lease: &Lease) -> Option<&mut C> {
        self.connections.get_mut(lease.connection.0).map(|connection| &mut connection.inner)
    }

    /// Every open connection with its key, in no order.
    pub fn connections(&self) -> impl Iterator<Item = (&K, ConnectionView<'_, C>)> {
        self.connections.iter().map(|(handle, connection)| {
            let idle = connection.place == Place::Idle;
            let view = ConnectionView {
                id: ConnectionId(handle),
                origin: OriginId(self.origins.handle(connection.origin)),
                connection: &connection.inner,
                opened_at: connection.opened_at,
                idle_since: idle.then_some(connection.last_used),
                slots: connection.slots,
                leased: connection.leased,
                requests: connection.requests,
            };
            (&self.origins[connection.origin].key, view)
        })
    }

    /// The numbers of the pool, of forgotten origins too.
    pub fn totals(&self) -> &Counters {
        &self.totals
    }

    /// The numbers of one origin, since it was inserted.
    pub fn counters(&self, origin: OriginId) -> Option<&Counters> {
        self.origins.get(origin.0).map(|origin| &origin.counters)
    }

    /// Every origin that the pool knows with its key and numbers, in no order.
    pub fn origins(&self) -> impl Iterator<Item = (OriginId, &K, &Counters)> {
        self.origins
            .iter()
            .map(|(handle, origin)| (OriginId(handle), &origin.key, &origin.counters))
    }

    /// Whether the pool was closed.
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// Counts the same for the origin and for the pool.
    pub(crate) fn tally(&mut self, origin: usize, count: impl Fn(&mut Counters)) {
        count(&mut self.origins[origin].counters);
        count(&mut self.totals);
    }

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

    /// Restores order after a change at an origin: room that was freed goes to who waits for it,
    /// and an origin with nothing left is forgotten.
    pub(crate) fn settle(&mut self, origin: usize, now: Instant, actions: &mut Actions<K, C>) {
        self.review(origin);
        while let Some((_, &first)) = self.starving.first_key_value() {
            if self.closed || !self.make_total_room(now, actions) {
                break;
            }
            self.offer_dial(first, actions);
            self.review(first);
        }
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
        if !self.origins.contains(origin) || !self.origins[origin].is_empty() {
            return;
        }
        let forgotten = self.origins.remove(origin);
        self.keys.remove(&forgotten.key);
        if self.keys.is_empty() {
            self.keys.shrink_to(KEPT_KEYS);
        }
    }

    /// Moves a connection to the lists where it belongs by what is lent of it.
    pub(crate) fn replace(&mut self, index: usize) {
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
            self.settle(origin, now, actions);
        } else {
            connection.retire(reason);
            self.replace(index);
        }
    }

    /// Takes a connection out of the pool. The caller settles its origin.
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
        actions.closed.push(Closed {
            connection: connection.inner,
            id,
            origin: OriginId(self.origins.handle(origin)),
            key: self.origins[origin].key.clone(),
            reason,
            requests: connection.requests,
            age: now.saturating_duration_since(connection.opened_at),
            idle: now.saturating_duration_since(connection.last_used),
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

/// An empty table of keys keeps room for this many; see `Arena` for the same rule.
const KEPT_KEYS: usize = 1024;
