//! What is due at a time: idle connections run out of theirs, back-offs and waits end.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hash::Hash;
use std::time::Instant;

use smallvec::SmallVec;

use crate::actions::Actions;
use crate::arena::{Arena, Handle};
use crate::connection::Connection;
use crate::place::Place;
use crate::pool::Pool;
use crate::timers::Timer;

impl<K: Clone + Eq + Hash, C, E> Pool<K, C, E> {
    /// When [`expire`](Self::expire) should be called next, and [`refill`](Self::refill) after it;
    /// `None` while nothing is idle or nothing idle ever expires, no dial has a deadline, and
    /// nobody waits for the end of a back-off or for a preferred wait.
    ///
    /// It may be too early, since a connection that was used meanwhile is looked at again only
    /// when its old time comes. It is never too late.
    pub fn next_deadline(&self) -> Option<Instant> {
        let idle = if self.idle.is_empty() { None } else { self.alarms.next() };
        [idle, self.timers.next(), self.refill_due].into_iter().flatten().min()
    }

    /// Closes the idle connections whose idle time or lifetime is over (busy ones retire when
    /// their leases come back), gives up overdue dials, and lets those dial who have waited for
    /// the end of a back-off or long enough for a freed connection.
    pub fn expire(&mut self, now: Instant, actions: &mut Actions<K, C>) {
        let mut changed = SmallVec::<[Handle; 4]>::new();
        while let Some(timer) = self.timers.pop_due(now) {
            let origin = self.ring(timer, actions);
            changed.push(self.origins.handle(origin));
        }
        let mut surplus = SmallVec::<[usize; 4]>::new();
        while let Some(index) = self.alarms.pop_due(now, &mut self.connections) {
            let connection = &self.connections[index];
            let origin = connection.origin;
            match connection.expired(now) {
                Some(reason) => {
                    self.remove_connection(index, reason, now, actions);
                    changed.push(self.origins.handle(origin));
                }
                None => {
                    if self.connections[index].surplus_at.take_if(|at| *at <= now).is_some() {
                        surplus.push(origin);
                    }
                    self.alarms.set(index, &mut self.connections);
                }
            }
        }
        // After what expires, which may leave none too many.
        for origin in surplus {
            self.close_surplus(origin, now, actions);
            changed.push(self.origins.handle(origin));
        }
        // All of them first, so that those who wait are served in the order of their arrival.
        for &origin in &changed {
            self.review(origin.index);
        }
        for origin in changed {
            if let Some(origin) = self.origins.find(origin) {
                self.settle(origin, now, actions);
            }
        }
    }

    /// The time of a timer has come; gives the origin that it concerns.
    fn ring(&mut self, timer: Timer, actions: &mut Actions<K, C>) -> usize {
        match timer {
            Timer::Dial(dial) => {
                let origin = self.dials[dial].origin;
                self.give_up_dial(dial, actions);
                origin
            }
            Timer::Backoff(origin) => {
                if let Some(failures) = &mut self.origins[origin].failures {
                    failures.until = None;
                }
                origin
            }
            Timer::Refill(origin) => {
                self.origins[origin].refill_at = None;
                origin
            }
            Timer::Patience(waiter) => {
                let waiter = &mut self.waiters[waiter];
                waiter.patience = None;
                waiter.origin.0.index
            }
        }
    }
}

/// Deadlines of idle connections, kept lazily: an entry is not moved when its connection is used
/// or gets a later deadline, but corrected when its time comes. A release costs nothing then, as
/// long as deadlines only grow, which is the rule.
#[derive(Debug, Default)]
pub(crate) struct Alarms {
    heap: BinaryHeap<Reverse<Alarm>>,
}

/// An entry is in force if its connection still names its time. The others are dropped when they
/// come up, or when they become too many.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Alarm {
    at: Instant,
    serial: u64,
    index: usize,
}

/// Stale entries allowed beside two for each connection before the heap is cleared of them.
const SLACK: usize = 64;

impl Alarms {
    /// Makes sure that an alarm comes at the connection's deadline or before.
    pub(crate) fn set<C>(&mut self, index: usize, connections: &mut Arena<Connection<C>>) {
        let handle = connections.handle(index);
        let connection = &mut connections[index];
        let Some(at) = connection.deadline() else { return };
        if connection.alarm.is_some_and(|alarm| alarm <= at) {
            return;
        }
        connection.alarm = Some(at);
        self.heap.push(Reverse(Alarm { at, serial: handle.serial, index }));
        if self.heap.len() > 2 * connections.len() + SLACK {
            self.heap.retain(|Reverse(alarm)| alarm.in_force(connections));
            self.heap.shrink_to(2 * self.heap.len() + SLACK);
        }
    }

    fn next(&self) -> Option<Instant> {
        self.heap.peek().map(|Reverse(alarm)| alarm.at)
    }

    /// The next idle connection whose alarm has come.
    fn pop_due<C>(
        &mut self,
        now: Instant,
        connections: &mut Arena<Connection<C>>,
    ) -> Option<usize> {
        while self.next().is_some_and(|at| at <= now) {
            let Reverse(alarm) = self.heap.pop()?;
            if !alarm.in_force(connections) {
                continue;
            }
            let connection = &mut connections[alarm.index];
            connection.alarm = None;
            if connection.place == Place::Idle {
                return Some(alarm.index);
            }
        }
        None
    }
}

impl Alarm {
    fn in_force<C>(&self, connections: &Arena<Connection<C>>) -> bool {
        let handle = Handle { index: self.index, serial: self.serial };
        connections.get(handle).is_some_and(|connection| connection.alarm == Some(self.at))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{Keep, Limits, Opened, Verdict};

    /// A deadline that comes forward costs an entry; they do not pile up.
    #[test]
    fn stale_alarms_are_cleared() {
        let now = Instant::now();
        let (mut pool, mut actions) = (Pool::<_, _, ()>::new(Limits::default(), 1), Actions::new());
        let origin = pool.insert(());
        let permit = pool.open(origin, now).expect("there is room");
        let opened = Opened { slots: 1, jitter: 0.0, elapsed: Duration::ZERO };
        let id = pool.connected(permit, (), opened, now, &mut actions).expect("a permit of it");
        for millis in (1..4_000).rev() {
            let lease = pool.lease_idle(id, now).expect("it is idle");
            let idle_timeout = Some(Duration::from_millis(millis));
            let keep = Keep { idle_timeout, requests_left: None };
            pool.release(lease, Verdict::Keep(keep), now, &mut actions);
            assert!(pool.alarms.heap.len() <= 2 + SLACK);
            assert_eq!(pool.next_deadline(), Some(now + Duration::from_millis(millis)));
        }
        pool.expire(now + Duration::from_millis(1), &mut actions);
        assert_eq!(actions.closed.len(), 1);
    }
}
