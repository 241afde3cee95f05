//! Dials begin and end.

use std::hash::Hash;
use std::time::{Duration, Instant};

use crate::acquire::{Grant, RefuseReason};
use crate::actions::Actions;
use crate::arena::Handle;
use crate::connection::Connection;
use crate::counters::Counters;
use crate::limits::Limits;
use crate::list::Links;
use crate::origin::slots;
use crate::place::Place;
use crate::pool::Pool;
use crate::reason::CloseReason;
use crate::token::{ConnectionId, OriginId, Permit};
use crate::waiters::Dial;

/// What the driver knows of a connection that it has just opened.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Opened {
    /// Requests that it can carry at once: 1 for HTTP/1.1. 0 counts as 1.
    pub slots: u32,
    /// A number from 0 to 1, drawn at random: the connection's lifetime is `max_lifetime` less
    /// this share of a tenth of it, so that connections opened together do not end together.
    pub jitter: f64,
    /// How long the dial took, for the mean.
    pub elapsed: Duration,
}

impl<K: Clone + Eq + Hash, C, E> Pool<K, C, E> {
    /// Asks for a permit to dial without a request that waits: to warm an origin up. Closes nothing
    /// to make room.
    ///
    /// # Errors
    /// [`RefuseReason::NoRoom`] when a limit on connections is reached.
    pub fn open(&mut self, origin: OriginId) -> Result<Permit, RefuseReason> {
        let Some(index) = self.origins.find(origin.0) else {
            return Err(RefuseReason::UnknownOrigin);
        };
        let entry = &self.origins[index];
        let full = |counters: &Counters, limit| {
            let connections = counters.open + counters.connecting;
            Err(RefuseReason::NoRoom { connections, limit })
        };
        let refused = if self.closed {
            Err(RefuseReason::Closed)
        } else if !entry.has_room() {
            full(&entry.counters, entry.limits.max_connections)
        } else if !self.has_total_room() {
            full(&self.totals, self.max_total_connections)
        } else {
            return Ok(self.start_dial(index, None));
        };
        self.forget_if_empty(index);
        refused
    }

    /// A dial has given a connection. It serves as many of the waiters as it has slots, the first
    /// ones and not its own; with none, it is idle. In a closed pool it is closed at once.
    ///
    /// `None` if the permit is none of this pool's: the connection is dropped.
    pub fn connected(
        &mut self,
        permit: Permit,
        connection: C,
        opened: Opened,
        now: Instant,
        actions: &mut Actions<K, C>,
    ) -> Option<ConnectionId> {
        let (origin, waiter) = self.finish_dial(permit.redeem())?;
        if let Some(waiter) = waiter {
            self.lose_dial(waiter);
        }
        let handle = self.enter(origin, connection, opened, now);
        if self.closed {
            self.remove_connection(handle.index, CloseReason::Shutdown, now, actions);
        } else {
            self.offer_slots(handle.index, now, actions);
        }
        self.settle(origin, now, actions);
        Some(ConnectionId(handle))
    }

    /// A dial has failed. The waiter that made it ends with the error, if it still waits;
    /// otherwise the error is only counted. The room goes to the next waiter without a dial.
    pub fn connect_failed(
        &mut self,
        permit: Permit,
        error: E,
        now: Instant,
        actions: &mut Actions<K, C>,
    ) {
        let Some((origin, waiter)) = self.finish_dial(permit.redeem()) else { return };
        self.tally(origin, |counters| counters.open_failed += 1);
        if let Some(waiter) = waiter {
            self.lose_dial(waiter);
            self.end_waiter(waiter, Grant::Failed(error), actions);
        }
        self.settle(origin, now, actions);
    }

    /// A dial has died without a verdict: the task that made it was dropped. The waiter that made
    /// it gets a new permit, if it still waits; otherwise the room goes to the next one.
    pub fn connect_abandoned(&mut self, permit: Permit, now: Instant, actions: &mut Actions<K, C>) {
        let Some((origin, waiter)) = self.finish_dial(permit.redeem()) else { return };
        if let Some(waiter) = waiter {
            let permit = self.start_dial(origin, Some(waiter));
            self.give_permit(waiter, permit, actions);
        }
        self.settle(origin, now, actions);
    }

    pub(crate) fn start_dial(&mut self, origin: usize, waiter: Option<usize>) -> Permit {
        let dial = self.dials.insert(Dial { origin, waiter });
        self.tally(origin, |counters| counters.connecting += 1);
        Permit { dial, origin: OriginId(self.origins.handle(origin)) }
    }

    /// Forgets a dial; its waiter is the caller's to care for.
    pub(crate) fn end_dial(&mut self, index: usize) -> Dial {
        let dial = self.dials.remove(index);
        self.tally(dial.origin, |counters| counters.connecting -= 1);
        dial
    }

    /// Takes a new connection in, which is neither idle nor lent yet.
    pub(crate) fn enter(
        &mut self,
        origin: usize,
        connection: C,
        opened: Opened,
        now: Instant,
    ) -> Handle {
        let entry = &mut self.origins[origin];
        entry.expected_slots = slots(opened.slots);
        let connection = new_connection(connection, origin, &entry.limits, opened, now);
        self.tally(origin, |counters| counters.count_opened(opened.elapsed));
        self.connections.insert(connection)
    }

    pub(crate) fn finish_dial(&mut self, dial: Handle) -> Option<(usize, Option<usize>)> {
        let index = self.dials.find(dial);
        debug_assert!(index.is_some(), "a permit of another pool");
        let dial = self.end_dial(index?);
        Some((dial.origin, dial.waiter))
    }
}

fn new_connection<C>(
    inner: C,
    origin: usize,
    limits: &Limits,
    opened: Opened,
    now: Instant,
) -> Connection<C> {
    Connection {
        inner,
        origin,
        place: Place::New,
        slots: slots(opened.slots),
        leased: 0,
        requests: 0,
        max_requests: limits.max_requests_per_connection.map_or(u64::MAX, |max| max.max(1)),
        peer_max_requests: u64::MAX,
        opened_at: now,
        last_used: now,
        idle_deadline: limits.idle_timeout.and_then(|timeout| now.checked_add(timeout)),
        lifetime_deadline: limits
            .max_lifetime
            .and_then(|max| now.checked_add(lifetime(max, opened.jitter))),
        was_idle: false,
        retired: None,
        alarm: None,
        origin_links: Links::new(),
        all_idle_links: Links::new(),
    }
}

fn lifetime(max: Duration, jitter: f64) -> Duration {
    let jitter = if jitter.is_nan() { 0.0 } else { jitter.clamp(0.0, 1.0) };
    max - max.mul_f64(0.1 * jitter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jitter_shortens_a_lifetime_by_a_tenth_at_most() {
        let max = Duration::from_secs(100);
        assert_eq!(lifetime(max, 0.0), max);
        assert_eq!(lifetime(max, 0.5), Duration::from_secs(95));
        assert_eq!(lifetime(max, 1.0), Duration::from_secs(90));
        assert_eq!(lifetime(max, 7.0), Duration::from_secs(90));
        assert_eq!(lifetime(max, f64::NAN), max);
        assert!(lifetime(Duration::MAX, 1.0) < Duration::MAX);
    }
}
