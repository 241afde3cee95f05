//! The pool's state, its origins and its numbers.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::Hash;
use std::time::Instant;

use hashbrown::{Equivalent, HashMap};

use crate::arena::Arena;
use crate::connection::{AllIdle, Connection, ConnectionView};
use crate::counters::Counters;
use crate::expiry::Alarms;
use crate::limits::Limits;
use crate::list::List;
use crate::origin::Origin;
use crate::place::Place;
use crate::timers::Timers;
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
    pub(crate) keys: HashMap<K, OriginId>,
    pub(crate) origins: Arena<Origin<K>>,
    pub(crate) connections: Arena<Connection<C>>,
    pub(crate) dials: Arena<Dial>,
    pub(crate) waiters: Arena<Waiter<E>>,
    pub(crate) idle: List<AllIdle>,
    /// Origins that would dial if the limit over all origins let them, by the serial of their
    /// first waiter without a dial: the order of arrival.
    pub(crate) starving: BTreeMap<u64, usize>,
    /// Origins that have fewer ready connections than they should, and would dial if the limit
    /// over all origins let them.
    pub(crate) lacking: BTreeSet<usize>,
    /// Since when a refill is due.
    pub(crate) refill_due: Option<Instant>,
    pub(crate) alarms: Alarms,
    pub(crate) timers: Timers,
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
            lacking: BTreeSet::new(),
            refill_due: None,
            alarms: Alarms::default(),
            timers: Timers::default(),
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
    /// left, no back-off, and no [`Limits::min_idle`]. So insert it just before the `acquire` or `open` that needs it, under the same lock.
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
                in_use_since: (connection.leased > 0).then_some(connection.lent_at),
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
}
