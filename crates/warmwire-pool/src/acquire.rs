//! A request asks for a connection.

use std::fmt;
use std::hash::Hash;
use std::time::{Duration, Instant};

use crate::actions::Actions;
use crate::limits::Scheduling;
use crate::pool::Pool;
use crate::token::{ConnectionId, Lease, OriginId, Permit, WaiterId};

/// The answer to [`Pool::acquire`].
#[derive(Debug)]
#[must_use]
pub enum Acquire {
    /// Here is a connection.
    Reuse(Lease),
    /// Dial, and wait in the queue for whichever comes first: this dial, or another connection.
    Open(Permit, WaiterId),
    /// Wait in the queue.
    Wait(WaiterId),
    /// Neither.
    Refuse(RefuseReason),
}

/// What a waiter has got, from [`Pool::poll_waiter`].
#[derive(Debug)]
#[must_use]
pub enum Grant<E> {
    /// A connection. The waiter has ended.
    Lease(Lease),
    /// The right to dial. The waiter stays in the queue, at its place: poll it again.
    Open(Permit),
    /// Its own dial failed, or another one that began after it had come. The waiter has ended.
    Failed(E),
    /// Nothing will come. The waiter has ended.
    Refused(RefuseReason),
}

/// Why there is no connection and no use in waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RefuseReason {
    /// As many requests wait as may.
    QueueFull {
        /// Requests that wait.
        waiting: usize,
        /// `max_waiting` of the origin.
        limit: usize,
    },
    /// [`Pool::open`] only: a limit on connections, of the origin or over all, is reached.
    NoRoom {
        /// Connections open or dialling, under the limit that was reached.
        connections: usize,
        /// That limit.
        limit: usize,
    },
    /// [`Pool::open`] and [`Pool::open_exclusive`] only: the last dials of the origin have failed,
    /// and either it is not dialled yet, or one dial is under way as a probe.
    BackingOff,
    /// The pool is closed.
    Closed,
    /// The pool does not know this origin id, or has forgotten it.
    UnknownOrigin,
    /// The pool does not know this waiter id: it has ended, or was cancelled.
    UnknownWaiter,
}

impl fmt::Display for RefuseReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::QueueFull { waiting, limit } => {
                write!(f, "the queue is full: {waiting} requests wait, {limit} may")
            }
            Self::NoRoom { connections, limit } => {
                write!(f, "no room: {connections} connections are open or opening, {limit} may be")
            }
            Self::BackingOff => f.write_str("the last dials failed, and the next is to come"),
            Self::Closed => f.write_str("the pool is closed"),
            Self::UnknownOrigin => f.write_str("the origin is unknown"),
            Self::UnknownWaiter => f.write_str("the waiter has ended"),
        }
    }
}

impl std::error::Error for RefuseReason {}

impl<K: Clone + Eq + Hash, C, E> Pool<K, C, E> {
    /// Asks for a slot of a connection to `origin`.
    ///
    /// In this order: a free slot (never of a connection whose time is over); a dial, closing the
    /// longest idle connection of any origin if only the limit over all origins is in the way; a
    /// place in the queue; a refusal. There is no dial while earlier ones have failed
    /// ([`Limits::dial_backoff`](crate::Limits::dial_backoff)), nor while a freed connection is
    /// preferred ([`Limits::prefer_wait`](crate::Limits::prefer_wait)).
    pub fn acquire(
        &mut self,
        origin: OriginId,
        now: Instant,
        actions: &mut Actions<K, C>,
    ) -> Acquire {
        let Some(index) = self.origins.find(origin.0) else {
            return Acquire::Refuse(RefuseReason::UnknownOrigin);
        };
        if self.closed {
            return self.refuse(index, RefuseReason::Closed, now);
        }
        if let Some(connection) = self.free_slot(index, now, actions) {
            let lease = self.lend(connection, true, now);
            self.relist(connection);
            if self.origins[index].is_short() {
                self.review(index);
                self.plan_refill(now);
            }
            return Acquire::Reuse(lease);
        }
        let entry = &self.origins[index];
        let uncovered = entry.uncovered(entry.queue.len() + 1);
        let limit = entry.limits.max_waiting;
        let rather_waits = entry.prefers_wait() && uncovered <= limit;
        // Those who wait for the limit over all origins come first.
        let may_dial = entry.may_dial() && self.starving.is_empty();
        if uncovered > 0 && !rather_waits && may_dial && self.make_room_at_once(index, now, actions)
        {
            let permit = self.start_dial(index, None);
            let waiter = self.enqueue(index, Some(permit.dial.index), now);
            self.settle(index, now, actions);
            return Acquire::Open(permit, waiter);
        }
        if uncovered > limit {
            let reason = RefuseReason::QueueFull { waiting: uncovered - 1, limit };
            return self.refuse(index, reason, now);
        }
        let waiter = self.enqueue(index, None, now);
        self.tally(index, |counters| counters.queued += 1);
        self.settle(index, now, actions);
        Acquire::Wait(waiter)
    }

    /// Takes this very connection, if it is idle, for a look at it: whether its peer has closed it,
    /// or to ping it. The lease counts as no request. Release it with [`Verdict::Untouched`] when
    /// nothing was found, `Keep` to begin its idle time anew, or `Close`.
    ///
    /// [`Verdict::Untouched`]: crate::Verdict::Untouched
    pub fn lease_idle(&mut self, id: ConnectionId, now: Instant) -> Option<Lease> {
        let index = self.connections.find(id.0).filter(|&i| self.connections[i].leased == 0)?;
        let lease = self.lend(index, false, now);
        self.relist(index);
        Some(lease)
    }

    /// Marks one slot as lent. The caller moves the connection to its due place.
    pub(crate) fn lend(&mut self, index: usize, counted: bool, now: Instant) -> Lease {
        let id = ConnectionId(self.connections.handle(index));
        let connection = &mut self.connections[index];
        let reused = connection.was_idle || connection.requests > 0;
        let was_idle = reused && connection.leased == 0;
        let idle_for = match was_idle {
            true => now.saturating_duration_since(connection.last_used),
            false => Duration::ZERO,
        };
        let lease = Lease {
            connection: id,
            origin: OriginId(self.origins.handle(connection.origin)),
            counted,
            reused,
            requests: connection.requests,
            opened_at: connection.opened_at,
            was_idle,
            idle_for,
        };
        if connection.leased == 0 {
            connection.lent_at = now;
            connection.surplus_at = None;
        }
        connection.leased += 1;
        connection.requests += u64::from(counted);
        let origin = connection.origin;
        self.tally(origin, |counters| {
            counters.leased += 1;
            if counted {
                counters.count_request(reused);
            }
        });
        lease
    }

    /// Finds the connection to lend next. On the way, those whose time is over retire or close.
    pub(crate) fn free_slot(
        &mut self,
        origin: usize,
        now: Instant,
        actions: &mut Actions<K, C>,
    ) -> Option<usize> {
        while let Some(index) = self.origins[origin].partial.front() {
            self.connections[index].retire_if_outlived(now);
            if self.connections[index].may_lend() {
                return Some(index);
            }
            self.relist(index);
        }
        loop {
            let entry = &self.origins[origin];
            let index = match entry.limits.scheduling {
                Scheduling::Lifo => entry.idle.front(),
                Scheduling::Fifo => entry.idle.back(),
            }?;
            match self.connections[index].expired(now) {
                None => return Some(index),
                Some(reason) => self.remove_connection(index, reason, now, actions),
            }
        }
    }

    fn refuse(&mut self, origin: usize, reason: RefuseReason, now: Instant) -> Acquire {
        self.tally(origin, |counters| counters.refused += 1);
        self.review(origin);
        self.plan_refill(now);
        self.forget_if_empty(origin);
        Acquire::Refuse(reason)
    }
}
