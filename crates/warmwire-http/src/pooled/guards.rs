//! What is held of the pool: a place in the queue, room for a dial, a connection. Dropping one gives
//! it back.

use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use warmwire_pool::{
    ConnectionId, Failed, Grant, Lease, Opened, Permit, RefuseReason, Verdict, WaiterId,
};

use super::{Hooks, Lend, Pooled, take};
use crate::sync::Arc;

/// The answer to [`Pooled::acquire`].
pub(crate) enum Acquired<K, C, E, H>
where
    K: Clone + Eq + std::hash::Hash,
    C: Lend,
    H: Hooks<K, C>,
{
    Lease(LeaseGuard<K, C, E, H>),
    Open(PermitGuard<K, C, E, H>, Waiter<K, C, E, H>),
    Wait(Waiter<K, C, E, H>),
    Refused(RefuseReason),
}

/// A request in the queue. Dropping it leaves the queue; what was granted goes to the next.
pub(crate) struct Waiter<K, C, E, H>
where
    K: Clone + Eq + std::hash::Hash,
    C: Lend,
    H: Hooks<K, C>,
{
    pooled: Arc<Pooled<K, C, E, H>>,
    id: Option<WaiterId>,
}

/// What a [`Waiter`] was given.
pub(crate) enum Granted<K, C, E, H>
where
    K: Clone + Eq + std::hash::Hash,
    C: Lend,
    H: Hooks<K, C>,
{
    /// A connection; the wait is over.
    Lease(LeaseGuard<K, C, E, H>),
    /// Room to dial; the wait goes on.
    Open(PermitGuard<K, C, E, H>),
    /// The own dial failed, or one that began later; the wait is over.
    Failed(E),
    /// The pool was closed; the wait is over.
    Refused(RefuseReason),
}

impl<K, C, E, H> Waiter<K, C, E, H>
where
    K: Clone + Eq + std::hash::Hash,
    C: Lend,
    H: Hooks<K, C>,
{
    /// Must not be called again after a grant that ended the wait.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Granted<K, C, E, H>> {
        let Some(id) = self.id else { return Poll::Pending };
        let (grant, connection) = self.pooled.with(|pool, now, actions| {
            let grant = pool.poll_waiter(id, cx.waker(), now, actions);
            let connection = match &grant {
                Poll::Ready(Grant::Lease(lease)) => take(pool, lease),
                _ => C::default(),
            };
            (grant, connection)
        });
        let Poll::Ready(grant) = grant else { return Poll::Pending };
        Poll::Ready(match grant {
            Grant::Open(permit) => Granted::Open(self.pooled.permit(permit)),
            Grant::Lease(lease) => {
                self.id = None;
                Granted::Lease(self.pooled.lease(lease, connection))
            }
            Grant::Failed(error) => {
                self.id = None;
                Granted::Failed(error)
            }
            Grant::Refused(reason) => {
                self.id = None;
                Granted::Refused(reason)
            }
        })
    }
}

impl<K, C, E, H> Drop for Waiter<K, C, E, H>
where
    K: Clone + Eq + std::hash::Hash,
    C: Lend,
    H: Hooks<K, C>,
{
    fn drop(&mut self) {
        if let Some(id) = self.id.take() {
            self.pooled.with(|pool, now, actions| pool.cancel(id, now, actions));
        }
    }
}

/// Room for one connection. Dropping it without a result gives the room back.
pub(crate) struct PermitGuard<K, C, E, H>
where
    K: Clone + Eq + std::hash::Hash,
    C: Lend,
    H: Hooks<K, C>,
{
    pooled: Arc<Pooled<K, C, E, H>>,
    permit: Option<Permit>,
}

impl<K, C, E, H> PermitGuard<K, C, E, H>
where
    K: Clone + Eq + std::hash::Hash,
    C: Lend,
    H: Hooks<K, C>,
{
    /// The dial is done; the first waiters get the connection, or it is idle. `report` is told
    /// its number before anybody else is.
    pub(crate) fn connected(
        mut self,
        connection: C,
        opened: Opened,
        report: impl FnOnce(ConnectionId),
    ) -> Option<ConnectionId> {
        let permit = self.permit.take()?;
        let (id, decided) = self.pooled.decide(self.pooled.hooks.now(), |pool, now, actions| {
            pool.connected(permit, connection, opened, now, actions)
        });
        if let Some(id) = id {
            report(id);
        }
        self.pooled.carry_out(decided);
        id
    }

    /// The dial is done and the connection is this caller's first. `None` if the pool is closed,
    /// or the dial was given up and its room is taken.
    pub(crate) fn connected_exclusive(
        mut self,
        connection: C,
        opened: Opened,
    ) -> Option<LeaseGuard<K, C, E, H>> {
        let permit = self.permit.take()?;
        let (lease, connection) = self.pooled.with(|pool, now, actions| {
            let lease = pool.connected_exclusive(permit, connection, opened, now, actions)?;
            let connection = take(pool, &lease);
            Some((lease, connection))
        })?;
        Some(self.pooled.lease(lease, connection))
    }

    /// The dial failed.
    pub(crate) fn failed(mut self, failed: Failed<E>)
    where
        E: Clone,
    {
        if let Some(permit) = self.permit.take() {
            self.pooled
                .with(|pool, now, actions| pool.connect_failed(permit, failed, now, actions));
        }
    }

    /// The room goes on after `time` if the dial has not ended by then.
    pub(crate) fn bound(&self, time: Duration) {
        if let Some(permit) = &self.permit {
            self.pooled.with(|pool, now, _| {
                if let Some(deadline) = now.checked_add(time) {
                    pool.bound_dial(permit, deadline);
                }
            });
        }
    }
}

impl<K, C, E, H> Drop for PermitGuard<K, C, E, H>
where
    K: Clone + Eq + std::hash::Hash,
    C: Lend,
    H: Hooks<K, C>,
{
    fn drop(&mut self) {
        if let Some(permit) = self.permit.take() {
            self.pooled.with(|pool, now, actions| pool.connect_abandoned(permit, now, actions));
        }
    }
}

/// A connection in use. Dropping it gives it back as [`Lend::dropped`] says.
pub(crate) struct LeaseGuard<K, C, E, H>
where
    K: Clone + Eq + std::hash::Hash,
    C: Lend,
    H: Hooks<K, C>,
{
    pooled: Arc<Pooled<K, C, E, H>>,
    lease: Option<Lease>,
    pub(crate) connection: C,
}

impl<K, C, E, H> LeaseGuard<K, C, E, H>
where
    K: Clone + Eq + std::hash::Hash,
    C: Lend,
    H: Hooks<K, C>,
{
    /// What the pool knows of the lease.
    pub(crate) fn lease(&self) -> &Lease {
        self.lease.as_ref().expect("only `release` and drop take the lease, and both end the guard")
    }

    /// The connection's number.
    pub(crate) fn id(&self) -> ConnectionId {
        self.lease().connection()
    }

    pub(crate) fn pooled(&self) -> &Arc<Pooled<K, C, E, H>> {
        &self.pooled
    }

    pub(crate) fn release(mut self, verdict: Verdict) {
        self.give_back(self.pooled.hooks.now(), verdict);
    }

    /// [`release`](Self::release) for a caller that has just read the clock.
    pub(crate) fn release_at(mut self, now: Instant, verdict: Verdict) {
        self.give_back(now, verdict);
    }

    fn give_back(&mut self, now: Instant, verdict: Verdict) {
        let Some(lease) = self.lease.take() else { return };
        let mut connection = std::mem::take(&mut self.connection);
        connection.end();
        self.pooled.with_at(now, |pool, now, actions| {
            if let Some(place) = pool.connection_mut(&lease) {
                place.restore(connection);
            }
            pool.release(lease, verdict, now, actions);
        });
    }
}

impl<K, C, E, H> Drop for LeaseGuard<K, C, E, H>
where
    K: Clone + Eq + std::hash::Hash,
    C: Lend,
    H: Hooks<K, C>,
{
    fn drop(&mut self) {
        self.give_back(self.pooled.hooks.now(), self.connection.dropped());
    }
}

impl<K, C, E, H> Pooled<K, C, E, H>
where
    K: Clone + Eq + std::hash::Hash,
    C: Lend,
    H: Hooks<K, C>,
{
    pub(super) fn lease(self: &Arc<Self>, lease: Lease, connection: C) -> LeaseGuard<K, C, E, H> {
        LeaseGuard { pooled: self.clone(), lease: Some(lease), connection }
    }

    pub(super) fn permit(self: &Arc<Self>, permit: Permit) -> PermitGuard<K, C, E, H> {
        PermitGuard { pooled: self.clone(), permit: Some(permit) }
    }

    pub(super) fn waiter(self: &Arc<Self>, id: WaiterId) -> Waiter<K, C, E, H> {
        Waiter { pooled: self.clone(), id: Some(id) }
    }
}
