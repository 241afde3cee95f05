//! Dials that do not end, and tasks that do not run.
//!
//! A dial belongs to a task of the driver, and a task may belong to a runtime that is kept but not
//! driven. So that it does not hold its place for ever, a dial may have a deadline, after which the
//! place goes on; and a waiter that does not collect its permit loses its turn.

use std::hash::Hash;
use std::time::{Duration, Instant};

use crate::acquire::{Grant, RefuseReason};
use crate::actions::{Actions, Closed};
use crate::arena::Handle;
use crate::connect::{Opened, new_connection};
use crate::pool::Pool;
use crate::reason::CloseReason;
use crate::timers::Timer;
use crate::token::{ConnectionId, OriginId, Permit};
use crate::waiters::State;

/// For how long a permit waits to be collected. A task that is run collects within microseconds;
/// one whose thread is blocked for longer loses its turn, and not its place in the queue.
pub(crate) const COLLECT: Duration = Duration::from_secs(1);

impl<K: Clone + Eq + Hash, C, E> Pool<K, C, E> {
    /// Sets when a dial is given up, unless it has ended by then: from then on it counts no more
    /// against the limits, and its waiter has lost it. If it succeeds all the same, its connection
    /// is kept where there is room and otherwise closed as [`CloseReason::Overdue`].
    pub fn bound_dial(&mut self, permit: &Permit, deadline: Instant) {
        if let Some(index) = self.dials.find(permit.dial)
            && !self.dials[index].overdue
        {
            self.set_dial_deadline(index, Some(deadline));
        }
    }

    pub(crate) fn set_dial_deadline(&mut self, dial: usize, deadline: Option<Instant>) {
        self.timers.set(Timer::Dial(dial), &mut self.dials[dial].deadline, deadline);
    }

    /// A dial's deadline has come.
    pub(crate) fn give_up_dial(&mut self, index: usize, actions: &mut Actions<K, C>) {
        let dial = &mut self.dials[index];
        dial.deadline = None;
        let (origin, waiter) = (dial.origin, dial.waiter.take());
        let offered = waiter.filter(|&waiter| self.waiters[waiter].is_offered());
        if offered.is_some() {
            self.end_dial(index);
        } else {
            self.dials[index].overdue = true;
            self.origins[origin].dial_ended(index);
            self.tally(origin, |counters| {
                counters.connecting -= 1;
                counters.overdue += 1;
            });
        }
        if let Some(waiter) = waiter {
            self.put_aside(waiter, actions);
        }
    }

    /// Takes a waiter whose task seems not to run out of the queue, so that those behind it are
    /// served. It comes back to its place when it is polled.
    fn put_aside(&mut self, index: usize, actions: &mut Actions<K, C>) {
        let waiter = &mut self.waiters[index];
        let origin = waiter.origin.0.index;
        waiter.dial = None;
        waiter.state = State::Aside;
        actions.wake.extend(waiter.waker.take());
        self.origins[origin].queue.remove(&mut self.waiters, index);
        self.origins[origin].aside += 1;
    }

    /// A waiter that was put aside is polled: its task runs after all.
    pub(crate) fn take_back_aside(
        &mut self,
        index: usize,
        now: Instant,
        actions: &mut Actions<K, C>,
    ) {
        let waiter = &mut self.waiters[index];
        if !matches!(waiter.state, State::Aside) {
            return;
        }
        waiter.state = State::Queued;
        let origin = waiter.origin.0.index;
        let entry = &mut self.origins[origin];
        entry.aside -= 1;
        entry.queue.insert_by_serial(&mut self.waiters, index);
        entry.undialled.insert_by_serial(&mut self.waiters, index);
        self.settle(origin, now, actions);
    }

    /// Ends a waiter that was put aside.
    pub(crate) fn refuse_aside(&mut self, index: usize, reason: RefuseReason) {
        let waiter = &mut self.waiters[index];
        if matches!(waiter.state, State::Aside) {
            waiter.state = State::Answered(Grant::Refused(reason));
            self.origins[waiter.origin.0.index].aside -= 1;
        }
    }

    /// Whether a connection has room: that of its dial, unless it was given up.
    pub(crate) fn admits(&self, origin: usize, overdue: bool) -> bool {
        !overdue || self.origins[origin].has_room() && self.has_total_room()
    }

    /// Closes the connection of a dial that was given up and whose room is taken. No limit counts
    /// it.
    pub(crate) fn turn_away(
        &mut self,
        origin: usize,
        connection: C,
        opened: Opened,
        now: Instant,
        actions: &mut Actions<K, C>,
    ) -> Handle {
        let entry = &self.origins[origin];
        let connection = new_connection(connection, origin, &entry.limits, opened, now);
        let handle = self.connections.insert(connection);
        let connection = self.connections.remove(handle.index).inner;
        actions.closed.push(Closed {
            connection,
            id: ConnectionId(handle),
            origin: OriginId(self.origins.handle(origin)),
            key: self.origins[origin].key.clone(),
            reason: CloseReason::Overdue,
            requests: 0,
            age: Duration::ZERO,
            idle: Duration::ZERO,
            closing: None,
        });
        self.tally(origin, |counters| counters.count_turned_away(opened.elapsed));
        handle
    }
}
