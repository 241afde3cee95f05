//! Dials begin and end.

use std::hash::Hash;
use std::time::{Duration, Instant};

use crate::acquire::{Grant, RefuseReason};
use crate::actions::Actions;
use crate::arena::Handle;
use crate::connection::Connection;
use crate::counters::Counters;
use crate::limits::{Limits, unit};
use crate::list::Links;
use crate::origin::slots;
use crate::place::Place;
use crate::pool::Pool;
use crate::reason::CloseReason;
use crate::timers::Timer;
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

/// How a dial has failed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Failed<E> {
    /// What the waiters get.
    pub error: E,
    /// Whether it says that the next dial would fail too, as when the host is down: then the
    /// origin [backs off](crate::Limits::dial_backoff).
    pub backs_off: bool,
    /// A number from 0 to 1, drawn at random: the share of a half by which the back-off is
    /// shortened, so that many clients of one host do not dial in step.
    pub jitter: f64,
}

impl<K: Clone + Eq + Hash, C, E> Pool<K, C, E> {
    /// Asks for a permit to dial without a request that waits: to warm an origin up. Closes nothing
    /// to make room.
    ///
    /// # Errors
    /// [`RefuseReason::NoRoom`] when a limit on connections is reached,
    /// [`RefuseReason::BackingOff`] while the origin's dials fail.
    pub fn open(&mut self, origin: OriginId, now: Instant) -> Result<Permit, RefuseReason> {
        let Some(index) = self.origins.find(origin.0) else {
            return Err(RefuseReason::UnknownOrigin);
        };
        let entry = &self.origins[index];
        let full = |counters: &Counters, limit| {
            let connections = counters.taken();
            Err(RefuseReason::NoRoom { connections, limit })
        };
        let answer = if self.closed {
            Err(RefuseReason::Closed)
        } else if !entry.may_dial() {
            Err(RefuseReason::BackingOff)
        } else if !entry.has_room() {
            full(&entry.counters, entry.limits.max_connections)
        } else if !self.has_total_room() {
            full(&self.totals, self.max_total_connections)
        } else {
            Ok(self.start_dial(index, None))
        };
        self.review(index);
        self.plan_refill(now);
        self.forget_if_empty(index);
        answer
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
        let Dial { origin, waiter, overdue, .. } = self.finish_dial(permit.redeem())?;
        if let Some(waiter) = waiter {
            self.lose_dial(waiter);
        }
        self.end_backoff(origin);
        self.resume_refill(origin);
        let handle = if !self.admits(origin, overdue) {
            self.turn_away(origin, connection, opened, now, actions)
        } else {
            let handle = self.enter(origin, connection, opened, now);
            match self.closed {
                true => self.remove_connection(handle.index, CloseReason::Shutdown, now, actions),
                false => self.offer_slots(handle.index, now, actions),
            }
            handle
        };
        self.settle(origin, now, actions);
        Some(ConnectionId(handle))
    }

    /// A dial has failed. With its error ends the waiter that made it, if it still waits. Where no
    /// connection is open that could be freed, so does everyone without a dial who was waiting
    /// when it began: what they wait for would be a dial like this one. Who has come later waits
    /// for the next dial.
    pub fn connect_failed(
        &mut self,
        permit: Permit,
        failed: Failed<E>,
        now: Instant,
        actions: &mut Actions<K, C>,
    ) where
        E: Clone,
    {
        let Failed { error, backs_off, jitter } = failed;
        let handle = permit.redeem();
        let Some(dial) = self.finish_dial(handle) else { return };
        let origin = dial.origin;
        self.tally(origin, |counters| counters.open_failed += 1);
        // What a dial finds out after its deadline is old.
        if !dial.overdue {
            self.end_who_waited(&dial, &error, actions);
            match backs_off && !self.origins[origin].limits.dial_backoff.is_off() {
                true => self.begin_backoff(origin, handle, jitter, now),
                false => self.pause_refill(origin, now),
            }
        }
        self.settle(origin, now, actions);
    }

    fn end_who_waited(&mut self, dial: &Dial, error: &E, actions: &mut Actions<K, C>)
    where
        E: Clone,
    {
        if let Some(waiter) = dial.waiter {
            self.lose_dial(waiter);
            self.end_waiter(waiter, Grant::Failed(error.clone()), actions);
        }
        while self.origins[dial.origin].counters.open == 0
            && let Some(waiter) = self.origins[dial.origin].undialled.front()
            && self.waiters.serial(waiter) <= dial.last_waiter
        {
            self.end_waiter(waiter, Grant::Failed(error.clone()), actions);
        }
    }

    /// A dial has died without a verdict: the task that made it was dropped. The waiter that made
    /// it gets a new permit, if it still waits; otherwise the room goes to the next one.
    pub fn connect_abandoned(&mut self, permit: Permit, now: Instant, actions: &mut Actions<K, C>) {
        let Some(dial) = self.finish_dial(permit.redeem()) else { return };
        match dial.waiter {
            Some(waiter) if self.origins[dial.origin].may_dial() => {
                let permit = self.start_dial(dial.origin, Some(waiter));
                self.give_permit(waiter, permit, now, actions);
            }
            Some(waiter) => self.lose_dial(waiter),
            // Who dropped it, as a runtime that is shut down, would drop the next one too.
            None => self.pause_refill(dial.origin, now),
        }
        self.settle(dial.origin, now, actions);
    }

    pub(crate) fn start_dial(&mut self, origin: usize, waiter: Option<usize>) -> Permit {
        let last_waiter = self.waiters.last_serial();
        let dial = Dial { origin, waiter, last_waiter, deadline: None, overdue: false };
        let dial = self.dials.insert(dial);
        if let Some(failures) = &mut self.origins[origin].failures {
            failures.set_probe(dial.index);
        }
        self.tally(origin, |counters| counters.connecting += 1);
        Permit { dial, origin: OriginId(self.origins.handle(origin)) }
    }

    /// Forgets a dial; its waiter is the caller's to care for.
    pub(crate) fn end_dial(&mut self, index: usize) -> Dial {
        let mut dial = self.dials.remove(index);
        self.timers.set(Timer::Dial(index), &mut dial.deadline, None);
        self.origins[dial.origin].dial_ended(index);
        self.tally(dial.origin, |counters| match dial.overdue {
            true => counters.overdue -= 1,
            false => counters.connecting -= 1,
        });
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

    pub(crate) fn finish_dial(&mut self, dial: Handle) -> Option<Dial> {
        let index = self.dials.find(dial);
        debug_assert!(index.is_some(), "a permit of another pool");
        Some(self.end_dial(index?))
    }
}

pub(crate) fn new_connection<C>(
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
        lent_at: now,
        last_used: now,
        surplus_at: None,
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
    max - max.mul_f64(0.1 * unit(jitter))
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
