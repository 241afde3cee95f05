//! Requests that wait, and the dials that are made for them.

use std::hash::Hash;
use std::task::{Poll, Waker};
use std::time::Instant;

use crate::acquire::{Grant, RefuseReason};
use crate::actions::Actions;
use crate::list::{Linked, Links};
use crate::origin::{Queue, Undialled};
use crate::overdue::COLLECT;
use crate::pool::Pool;
use crate::release::Verdict;
use crate::timers::Timer;
use crate::token::{Lease, OriginId, Permit, WaiterId};

impl<K: Clone + Eq + Hash, C, E> Pool<K, C, E> {
    /// Asks for what a waiter has got. While it has nothing, `waker` is kept, in place of the one
    /// from the call before.
    ///
    /// The waiter ends with every [`Grant`] except [`Grant::Open`]; its id is stale then, and
    /// polling it again gives [`RefuseReason::UnknownWaiter`].
    pub fn poll_waiter(
        &mut self,
        waiter: WaiterId,
        waker: &Waker,
        now: Instant,
        actions: &mut Actions<K, C>,
    ) -> Poll<Grant<E>> {
        let Some(index) = self.waiters.find(waiter.0) else {
            return Poll::Ready(Grant::Refused(RefuseReason::UnknownWaiter));
        };
        self.take_back_aside(index, now, actions);
        self.take_back_spoilt(index, now, actions);
        match std::mem::replace(&mut self.waiters[index].state, State::Queued) {
            // One that was aside is in the queue again by now.
            State::Queued | State::Aside => {
                let kept = &mut self.waiters[index].waker;
                if !kept.as_ref().is_some_and(|kept| kept.will_wake(waker)) {
                    *kept = Some(waker.clone());
                }
                Poll::Pending
            }
            // The dial's time is the driver's to bound from now on.
            State::Offered(permit) => {
                self.set_dial_deadline(permit.dial.index, None);
                Poll::Ready(Grant::Open(permit))
            }
            State::Answered(mut grant) => {
                self.waiters.remove(index);
                if let Grant::Lease(lease) = &mut grant {
                    self.count_wait_as_idle(lease, now);
                }
                Poll::Ready(grant)
            }
        }
    }

    /// Ends a waiter whose request was dropped or has timed out. What it was given and has not
    /// collected, a slot or a permit, goes to the next waiter. Its own dial goes on for the pool.
    ///
    /// A stale id does nothing.
    pub fn cancel(&mut self, waiter: WaiterId, now: Instant, actions: &mut Actions<K, C>) {
        let Some(index) = self.waiters.find(waiter.0) else { return };
        if let Some(origin) = self.queue_of(index) {
            self.leave_queue(index);
            self.waiters.remove(index);
            self.tally(origin, |counters| counters.cancelled += 1);
            self.settle(origin, now, actions);
            return;
        }
        let waiter = self.waiters.remove(index);
        let origin = waiter.origin.0.index;
        match waiter.state {
            State::Answered(Grant::Lease(lease)) => {
                self.tally(origin, |counters| counters.cancelled += 1);
                self.release(lease, Verdict::Untouched, now, actions);
            }
            State::Aside => {
                self.origins[origin].aside -= 1;
                self.tally(origin, |counters| counters.cancelled += 1);
                self.settle(origin, now, actions);
            }
            State::Answered(_) | State::Queued | State::Offered(_) => {}
        }
    }

    /// Adds a waiter at the end of the queue; `dial` is its own.
    pub(crate) fn enqueue(&mut self, origin: usize, dial: Option<usize>, now: Instant) -> WaiterId {
        let handle = self.waiters.insert(Waiter {
            origin: OriginId(self.origins.handle(origin)),
            state: State::Queued,
            waker: None,
            dial,
            patience: None,
            queue_links: Links::new(),
            undialled_links: Links::new(),
        });
        let entry = &mut self.origins[origin];
        entry.queue.push_back(&mut self.waiters, handle.index);
        match dial {
            Some(dial) => self.dials[dial].waiter = Some(handle.index),
            None => entry.undialled.push_back(&mut self.waiters, handle.index),
        }
        if dial.is_none() && !entry.limits.prefer_wait.is_zero() {
            let until = now.checked_add(entry.limits.prefer_wait);
            self.set_patience(handle.index, until);
        }
        WaiterId(handle)
    }

    fn set_patience(&mut self, index: usize, until: Option<Instant>) {
        let patience = &mut self.waiters[index].patience;
        self.timers.set(Timer::Patience(index), patience, until);
    }

    /// Ends a waiter that is in the queue; the driver learns it by polling.
    pub(crate) fn end_waiter(
        &mut self,
        index: usize,
        grant: Grant<E>,
        actions: &mut Actions<K, C>,
    ) {
        self.leave_queue(index);
        let waiter = &mut self.waiters[index];
        waiter.state = State::Answered(grant);
        actions.wake.extend(waiter.waker.take());
    }

    /// Gives a permit to the first waiter that has no dial of its own. It keeps its place.
    pub(crate) fn offer_dial(&mut self, origin: usize, now: Instant, actions: &mut Actions<K, C>) {
        let Some(index) = self.origins[origin].undialled.front() else { return };
        self.origins[origin].undialled.remove(&mut self.waiters, index);
        self.set_patience(index, None);
        let permit = self.start_dial(origin, Some(index));
        self.give_permit(index, permit, now, actions);
    }

    /// Hands a permit to a waiter of the queue, to be collected by polling.
    pub(crate) fn give_permit(
        &mut self,
        index: usize,
        permit: Permit,
        now: Instant,
        actions: &mut Actions<K, C>,
    ) {
        self.set_dial_deadline(permit.dial.index, now.checked_add(COLLECT));
        let waiter = &mut self.waiters[index];
        waiter.dial = Some(permit.dial.index);
        waiter.state = State::Offered(permit);
        actions.wake.extend(waiter.waker.take());
    }

    /// Parts a finished dial from its waiter, which stays in the queue.
    pub(crate) fn lose_dial(&mut self, index: usize) {
        let waiter = &mut self.waiters[index];
        waiter.dial = None;
        let origin = waiter.origin.0.index;
        self.origins[origin].undialled.insert_by_serial(&mut self.waiters, index);
    }

    /// The origin in whose queue a waiter is; `None` when it has ended or was put aside.
    pub(crate) fn queue_of(&self, index: usize) -> Option<usize> {
        let waiter = &self.waiters[index];
        let is_queued = matches!(waiter.state, State::Queued | State::Offered(_));
        is_queued.then_some(waiter.origin.0.index)
    }

    /// A permit that the waiter has not collected ends with it, since nobody would dial; a dial
    /// under way goes on for the pool.
    fn leave_queue(&mut self, index: usize) {
        self.set_patience(index, None);
        let waiter = &mut self.waiters[index];
        let origin = waiter.origin.0.index;
        let dial = waiter.dial.take();
        let state = std::mem::replace(&mut waiter.state, State::Queued);
        self.origins[origin].queue.remove(&mut self.waiters, index);
        match (dial, state) {
            (None, _) => self.origins[origin].undialled.remove(&mut self.waiters, index),
            (Some(dial), State::Offered(_)) => _ = self.end_dial(dial),
            (Some(dial), _) => self.dials[dial].waiter = None,
        }
    }

    /// A connection may expire, or be closed by its peer, between the hand-over and the moment
    /// when the waiter's task runs. Such a one is not given out: the waiter goes back to its place.
    ///
    /// A fresh connection is exempt. It cannot be stale from a former use, and a peer that closes
    /// every connection at once would keep the waiter in the queue for ever, without an error.
    fn take_back_spoilt(&mut self, index: usize, now: Instant, actions: &mut Actions<K, C>) {
        let State::Answered(Grant::Lease(lease)) = &self.waiters[index].state else { return };
        let Some(connection) = self.connections.get(lease.connection.0) else { return };
        let reason = connection.retired.or_else(|| match connection.leased {
            1 => connection.expired(now),
            _ => None,
        });
        let Some(reason) = reason.filter(|_| lease.reused && !self.closed) else { return };
        let state = std::mem::replace(&mut self.waiters[index].state, State::Queued);
        let origin = self.waiters[index].origin.0.index;
        self.origins[origin].queue.insert_by_serial(&mut self.waiters, index);
        self.origins[origin].undialled.insert_by_serial(&mut self.waiters, index);
        if let State::Answered(Grant::Lease(lease)) = state {
            self.release(lease, Verdict::Unused(reason), now, actions);
        }
    }

    /// The time between a hand-over and its collection is idle time too.
    fn count_wait_as_idle(&self, lease: &mut Lease, now: Instant) {
        let index = self.connections.find(lease.connection.0).filter(|_| lease.was_idle);
        if let Some(index) = index {
            lease.idle_for += now.saturating_duration_since(self.connections[index].lent_at);
        }
    }
}

/// A dial in progress: a permit that is out.
#[derive(Debug)]
pub(crate) struct Dial {
    pub(crate) origin: usize,
    /// The waiter whose request makes this dial, while it is in the queue.
    pub(crate) waiter: Option<usize>,
    /// The youngest waiter when it began.
    pub(crate) last_waiter: u64,
    /// When it is given up.
    pub(crate) deadline: Option<Instant>,
    /// Whether it was given up: then it counts against no limit.
    pub(crate) overdue: bool,
}

#[derive(Debug)]
pub(crate) struct Waiter<E> {
    pub(crate) origin: OriginId,
    pub(crate) state: State<E>,
    pub(crate) waker: Option<Waker>,
    /// Its own dial. Only while it is in the queue.
    pub(crate) dial: Option<usize>,
    /// Until when it prefers a freed connection to a dial.
    pub(crate) patience: Option<Instant>,
    queue_links: Links,
    undialled_links: Links,
}

impl<E> Waiter<E> {
    pub(crate) fn is_offered(&self) -> bool {
        matches!(self.state, State::Offered(_))
    }
}

#[derive(Debug)]
pub(crate) enum State<E> {
    /// In the queue.
    Queued,
    /// In the queue, with a permit that it has not collected.
    Offered(Permit),
    /// Out of the queue, with nothing, until it is polled: its task seems not to run.
    Aside,
    /// Out of the queue, with an answer that it has not collected.
    Answered(Grant<E>),
}

impl<E> Linked<Queue> for Waiter<E> {
    fn links(&self) -> &Links {
        &self.queue_links
    }

    fn links_mut(&mut self) -> &mut Links {
        &mut self.queue_links
    }
}

impl<E> Linked<Undialled> for Waiter<E> {
    fn links(&self) -> &Links {
        &self.undialled_links
    }

    fn links_mut(&mut self) -> &mut Links {
        &mut self.undialled_links
    }
}
