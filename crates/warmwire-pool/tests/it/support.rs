//! A pool with a virtual clock, and shorthand for what a driver does.

use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

use warmwire_pool::{
    Acquire, Actions, CloseReason, ConnectionId, Counters, Failed, Grant, Keep, Lease, Limits,
    Opened, OriginId, Permit, Pool, RefuseReason, Verdict, WaiterId,
};

pub(crate) type Key = &'static str;

/// Connections are nothing but numbers here, errors are text.
pub(crate) struct Sim {
    pub(crate) pool: Pool<Key, u32, &'static str>,
    pub(crate) actions: Actions<Key, u32>,
    pub(crate) now: Instant,
    pub(crate) jitter: f64,
    closed: Vec<(ConnectionId, CloseReason)>,
}

impl Sim {
    pub(crate) fn new(limits: Limits) -> Self {
        Self::with_total(limits, usize::MAX)
    }

    pub(crate) fn with_total(limits: Limits, max_total: usize) -> Self {
        Self {
            pool: Pool::new(limits, max_total),
            actions: Actions::new(),
            now: Instant::now(),
            jitter: 0.0,
            closed: Vec::new(),
        }
    }

    pub(crate) fn pass(&mut self, time: Duration) {
        self.now += time;
    }

    pub(crate) fn acquire(&mut self, key: Key) -> Acquire {
        let origin = self.pool.insert(key);
        let answer = self.pool.acquire(origin, self.now, &mut self.actions);
        self.carry_out();
        answer
    }

    pub(crate) fn reuse(&mut self, key: Key) -> Lease {
        match self.acquire(key) {
            Acquire::Reuse(lease) => lease,
            other => panic!("expected a connection, got {other:?}"),
        }
    }

    pub(crate) fn open(&mut self, key: Key) -> (Permit, WaiterId) {
        match self.acquire(key) {
            Acquire::Open(permit, waiter) => (permit, waiter),
            other => panic!("expected a permit, got {other:?}"),
        }
    }

    pub(crate) fn wait(&mut self, key: Key) -> WaiterId {
        match self.acquire(key) {
            Acquire::Wait(waiter) => waiter,
            other => panic!("expected a place in the queue, got {other:?}"),
        }
    }

    pub(crate) fn refusal(&mut self, key: Key) -> RefuseReason {
        match self.acquire(key) {
            Acquire::Refuse(reason) => reason,
            other => panic!("expected a refusal, got {other:?}"),
        }
    }

    pub(crate) fn connect(&mut self, permit: Permit) -> ConnectionId {
        self.connect_slots(permit, 1)
    }

    pub(crate) fn connect_slots(&mut self, permit: Permit, slots: u32) -> ConnectionId {
        let opened = Opened { slots, jitter: self.jitter, elapsed: Duration::from_millis(10) };
        let id = self.pool.connected(permit, 0, opened, self.now, &mut self.actions);
        self.carry_out();
        id.expect("the permit is of this pool")
    }

    /// A dial fails in a way that does not say that the host is down.
    pub(crate) fn fail(&mut self, permit: Permit, error: &'static str) {
        let failed = Failed { error, backs_off: false, jitter: 0.0 };
        self.pool.connect_failed(permit, failed, self.now, &mut self.actions);
    }

    /// A dial fails since the host is down.
    pub(crate) fn refuse(&mut self, permit: Permit) {
        let failed = Failed { error: "refused", backs_off: true, jitter: self.jitter };
        self.pool.connect_failed(permit, failed, self.now, &mut self.actions);
    }

    pub(crate) fn abandon(&mut self, permit: Permit) {
        self.pool.connect_abandoned(permit, self.now, &mut self.actions);
    }

    pub(crate) fn cancel(&mut self, waiter: WaiterId) {
        self.pool.cancel(waiter, self.now, &mut self.actions);
    }

    pub(crate) fn poll_with(
        &mut self,
        waiter: WaiterId,
        waker: &Waker,
    ) -> Poll<Grant<&'static str>> {
        let polled = self.pool.poll_waiter(waiter, waker, self.now, &mut self.actions);
        self.carry_out();
        polled
    }

    pub(crate) fn poll(&mut self, waiter: WaiterId) -> Poll<Grant<&'static str>> {
        self.poll_with(waiter, Waker::noop())
    }

    pub(crate) fn waits(&mut self, waiter: WaiterId) -> bool {
        self.poll(waiter).is_pending()
    }

    pub(crate) fn lease(&mut self, waiter: WaiterId) -> Lease {
        match self.poll(waiter) {
            Poll::Ready(Grant::Lease(lease)) => lease,
            other => panic!("expected a lease, got {other:?}"),
        }
    }

    pub(crate) fn permit(&mut self, waiter: WaiterId) -> Permit {
        match self.poll(waiter) {
            Poll::Ready(Grant::Open(permit)) => permit,
            other => panic!("expected a permit, got {other:?}"),
        }
    }

    /// A connection that was dialled for this request.
    pub(crate) fn fresh(&mut self, key: Key) -> Lease {
        let (permit, waiter) = self.open(key);
        self.connect(permit);
        self.lease(waiter)
    }

    /// `count` idle connections, the first of which was released first.
    pub(crate) fn idle(&mut self, key: Key, count: usize) -> Vec<ConnectionId> {
        let leases: Vec<_> = (0..count).map(|_| self.fresh(key)).collect();
        let ids = leases.iter().map(Lease::connection).collect();
        for lease in leases {
            self.keep(lease);
        }
        ids
    }

    pub(crate) fn release(&mut self, lease: Lease, verdict: Verdict) {
        self.pool.release(lease, verdict, self.now, &mut self.actions);
        self.carry_out();
    }

    pub(crate) fn keep(&mut self, lease: Lease) {
        self.release(lease, Verdict::Keep(Keep::default()));
    }

    pub(crate) fn expire(&mut self) {
        self.pool.expire(self.now, &mut self.actions);
        self.carry_out();
    }

    /// Closes what is to be closed, and says so.
    pub(crate) fn carry_out(&mut self) {
        while !self.actions.closed.is_empty() {
            for closed in std::mem::take(&mut self.actions.closed) {
                self.closed.push((closed.id, closed.reason));
                if let Some(closing) = closed.closing {
                    self.pool.close_finished(closing, self.now, &mut self.actions);
                }
            }
        }
    }

    /// What was closed since the last call, in order.
    pub(crate) fn closed(&mut self) -> Vec<(ConnectionId, CloseReason)> {
        self.carry_out();
        std::mem::take(&mut self.closed)
    }

    pub(crate) fn known(&self, key: Key) -> Option<OriginId> {
        self.pool.find(&key)
    }

    pub(crate) fn counters(&self, key: Key) -> &Counters {
        self.known(key).and_then(|origin| self.pool.counters(origin)).expect("a known origin")
    }
}

pub(crate) const SECOND: Duration = Duration::from_secs(1);
pub(crate) const MILLISECOND: Duration = Duration::from_millis(1);
