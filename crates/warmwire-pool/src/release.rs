//! A lease comes back.

use std::hash::Hash;
use std::time::{Duration, Instant};

use crate::acquire::Grant;
use crate::actions::Actions;
use crate::pool::Pool;
use crate::reason::CloseReason;
use crate::token::{ConnectionId, Lease, Returned};

/// What the driver says of the connection when it gives a lease back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It was used and can be used again.
    Keep(Keep),
    /// It was only looked at: as if the lease had never been given. No request is counted, and its
    /// idle time goes on from where it was.
    Untouched,
    /// It was used and must not be used again. It closes when the last of its leases is back.
    Close(CloseReason),
    /// It was not used since it turned out to be dead. As `Close`, but no request is counted.
    Unused(CloseReason),
}

/// What the peer said about keeping the connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Keep {
    /// How long it may be idle now, in place of the origin's `idle_timeout`. Zero means that the
    /// peer does not want to keep it.
    pub idle_timeout: Option<Duration>,
    /// How many more requests the peer will take.
    pub requests_left: Option<u64>,
}

impl<K: Clone + Eq + Hash, C, E> Pool<K, C, E> {
    /// Gives a lease back. The slot goes to the first waiter, if there is one; otherwise the
    /// connection becomes idle, or closes.
    pub fn release(
        &mut self,
        lease: Lease,
        verdict: Verdict,
        now: Instant,
        actions: &mut Actions<K, C>,
    ) {
        let lease = lease.redeem();
        let index = self.connections.find(lease.connection.0);
        let index = index.filter(|&index| self.connections[index].leased > 0);
        debug_assert!(index.is_some(), "a lease of another pool");
        let Some(index) = index else { return };
        self.take_back(index, &lease, verdict, now);

        let connection = &mut self.connections[index];
        let origin = connection.origin;
        let over = connection
            .retired
            .or_else(|| connection.exhausted())
            .or_else(|| connection.expired(now))
            .filter(|_| connection.leased == 0);
        match over {
            Some(reason) => self.remove_connection(index, reason, now, actions),
            None => {
                connection.retire_if_outlived(now);
                self.offer_slots(index, now, actions);
            }
        }
        self.settle(origin, now, actions);
    }

    /// The peer has closed a connection, or asked to. An idle one closes at once, another one when
    /// its leases are back. A stale id does nothing.
    pub fn closed_by_peer(
        &mut self,
        id: ConnectionId,
        reason: CloseReason,
        now: Instant,
        actions: &mut Actions<K, C>,
    ) {
        if let Some(index) = self.connections.find(id.0) {
            self.retire_connection(index, reason, now, actions);
        }
    }

    /// The peer has changed how many requests it takes at once; 0 counts as 1. More serve waiters
    /// at once; fewer take effect as leases come back. A stale id does nothing.
    pub fn set_slots(
        &mut self,
        id: ConnectionId,
        slots: u32,
        now: Instant,
        actions: &mut Actions<K, C>,
    ) {
        let Some(index) = self.connections.find(id.0) else { return };
        let slots = crate::origin::slots(slots);
        let connection = &mut self.connections[index];
        connection.slots = slots;
        let origin = connection.origin;
        if connection.leased > 0 {
            connection.retire_if_outlived(now);
        }
        self.origins[origin].expected_slots = slots;
        self.offer_slots(index, now, actions);
        self.settle(origin, now, actions);
    }

    fn take_back(&mut self, index: usize, lease: &Returned, verdict: Verdict, now: Instant) {
        let connection = &mut self.connections[index];
        let origin = connection.origin;
        connection.leased -= 1;
        match verdict {
            Verdict::Keep(keep) => {
                connection.last_used = now;
                let timeout = keep.idle_timeout.or(self.origins[origin].limits.idle_timeout);
                connection.idle_deadline = timeout.and_then(|timeout| now.checked_add(timeout));
                if let Some(left) = keep.requests_left {
                    connection.peer_max_requests = connection.requests.saturating_add(left);
                }
                if keep.idle_timeout == Some(Duration::ZERO) {
                    connection.retire(CloseReason::PeerAsked);
                }
            }
            Verdict::Untouched => {}
            Verdict::Close(reason) => {
                connection.last_used = now;
                connection.retire(reason);
            }
            Verdict::Unused(reason) => connection.retire(reason),
        }
        let unused = matches!(verdict, Verdict::Untouched | Verdict::Unused(_)) && lease.counted;
        connection.requests = connection.requests.saturating_sub(u64::from(unused));
        self.tally(origin, |counters| {
            counters.leased -= 1;
            if unused {
                counters.uncount_request(lease.reused);
            }
        });
    }

    /// Lends the connection's free slots to the first waiters, then moves it to its due place.
    pub(crate) fn offer_slots(&mut self, index: usize, now: Instant, actions: &mut Actions<K, C>) {
        let origin = self.connections[index].origin;
        while let Some(waiter) = self.origins[origin].queue.front() {
            if !self.connections[index].may_lend() {
                break;
            }
            let lease = self.lend(index, true, now);
            self.end_waiter(waiter, Grant::Lease(lease), actions);
        }
        self.relist(index);
        self.close_one_too_many(origin, now, actions);
    }
}
