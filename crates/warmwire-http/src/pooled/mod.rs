//! The lock around the pool, and the guards that give back what they hold.
//!
//! Under the lock only [`Pool`] runs, and within it the closure of `Agent::evict`, which chooses
//! among the connections of one moment. What the pool wants done comes out as [`Actions`] and is
//! done after the lock is released: connections are closed, events reported and tasks woken there.
//! Every token of the pool lives in a guard whose drop repairs the count, so that a future may be
//! dropped at any await.
//!
//! The module names its locks by `crate::sync`, so that `tests/schedules` can include it and
//! run it under every schedule.

mod guards;

use std::time::{Duration, Instant};

use smallvec::SmallVec;
use warmwire_pool::{
    Acquire, Actions, Closed, Closing, ConnectionId, Lease, OriginId, Pool, RefuseReason, Verdict,
};

use crate::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub(crate) use self::guards::{Acquired, Granted, LeaseGuard, PermitGuard, Waiter};

/// What the pool's surroundings do for it.
pub(crate) trait Hooks<K, C> {
    /// The time.
    fn now(&self) -> Instant;

    /// Closes a connection that has left the pool. Its place goes on afterwards: whoever gets it
    /// finds the limit kept.
    fn closed(&self, closed: Closed<K, C>);

    /// Called after each change, with how the pool was left.
    fn changed(&self, left: Left);
}

/// A connection as the pool keeps it: the part that a lease needs goes out with it and comes back.
pub(crate) trait Lend: Default {
    /// Takes the part out.
    fn lend(&mut self) -> Self;

    /// Puts it back.
    fn restore(&mut self, lent: Self);

    /// Called on what was lent before it goes back, without the lock.
    fn end(&mut self);

    /// What the drop of a lease without a verdict means.
    fn dropped(&self) -> Verdict;
}

/// What is to be done after the lock is released.
struct Decided<K, C> {
    actions: Actions<K, C>,
    left: Left,
    now: Instant,
}

/// How a change left the pool.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Left {
    pub(crate) alarm: Alarm,
    /// Whether the pool is shut down and empty.
    pub(crate) drained: bool,
}

/// What a change means for whoever runs [`Pool::expire`] when its time has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Alarm {
    /// Nothing.
    AsBefore,
    /// Nobody was waiting for a deadline, or whoever did has let it pass; somebody must begin to,
    /// as the watch of this number.
    Start(u64),
    /// The deadline has moved forward.
    Earlier,
}

/// How late whoever waits for a deadline may be before another takes the watch over. A runtime that
/// is driven is late by a millisecond, one that is blocked by more; to take over from such a one
/// costs a task and nothing else.
const GRACE: Duration = Duration::from_millis(100);

/// A pool that many tasks share.
pub(crate) struct Pooled<K, C, E, H> {
    state: Mutex<State<K, C, E>>,
    pub(crate) hooks: H,
}

struct State<K, C, E> {
    pool: Pool<K, C, E>,
    /// The deadline that somebody is waiting for.
    armed: Option<Instant>,
    /// The number of who waits. An older one that wakes later has nothing to do any more.
    watch: u64,
}

impl<K, C, E> State<K, C, E> {
    fn next_watch(&mut self, until: Option<Instant>) -> Alarm {
        self.armed = until;
        self.watch += 1;
        Alarm::Start(self.watch)
    }
}

impl<K, C, E, H> Pooled<K, C, E, H>
where
    K: Clone + Eq + std::hash::Hash,
    C: Lend,
    H: Hooks<K, C>,
{
    pub(crate) fn new(pool: Pool<K, C, E>, hooks: H) -> Self {
        Pooled { state: Mutex::new(State { pool, armed: None, watch: 0 }), hooks }
    }

    /// Runs `change` under the lock, then does what it asked for.
    pub(crate) fn with<R>(
        &self,
        change: impl FnOnce(&mut Pool<K, C, E>, Instant, &mut Actions<K, C>) -> R,
    ) -> R {
        self.with_at(self.hooks.now(), change)
    }

    /// [`with`](Self::with) for a caller that has just read the clock.
    pub(crate) fn with_at<R>(
        &self,
        now: Instant,
        change: impl FnOnce(&mut Pool<K, C, E>, Instant, &mut Actions<K, C>) -> R,
    ) -> R {
        let (result, decided) = self.decide(now, change);
        self.carry_out(decided);
        result
    }

    fn decide<R>(
        &self,
        now: Instant,
        change: impl FnOnce(&mut Pool<K, C, E>, Instant, &mut Actions<K, C>) -> R,
    ) -> (R, Decided<K, C>) {
        let mut actions = Actions::new();
        let mut state = self.lock();
        let result = change(&mut state.pool, now, &mut actions);
        let alarm = match (state.pool.next_deadline(), state.armed) {
            (next @ Some(_), None) => state.next_watch(next),
            (next @ Some(_), Some(armed)) if now.saturating_duration_since(armed) > GRACE => {
                state.next_watch(next)
            }
            (Some(next), Some(armed)) if next < armed => {
                state.armed = Some(next);
                Alarm::Earlier
            }
            _ => Alarm::AsBefore,
        };
        let left = Left { alarm, drained: state.pool.is_drained() };
        (result, Decided { actions, left, now })
    }

    fn carry_out(&self, mut decided: Decided<K, C>) {
        loop {
            // By reference: with room for what is rarely there, `actions` is dear to move about.
            let Decided { actions, left, now } = &mut decided;
            let (left, now) = (*left, *now);
            let mut places = Places { pooled: self, now, closing: SmallVec::new() };
            if !actions.is_empty() {
                for mut closed in actions.closed.drain(..) {
                    places.closing.extend(closed.closing.take());
                    self.hooks.closed(closed);
                }
                for waker in actions.wake.drain(..) {
                    waker.wake();
                }
            }
            if left.alarm != Alarm::AsBefore || left.drained {
                self.hooks.changed(left);
            }
            match places.give_back() {
                // Whoever gets the place may let more be closed.
                Some(more) => decided = more,
                None => return,
            }
        }
    }

    /// Does what is due; see [`Pool::expire`].
    pub(crate) fn expire(&self) {
        self.with(Pool::expire);
    }

    /// A dial that the pool asks for ahead, and where to; see [`Pool::refill`].
    pub(crate) fn refill(self: &Arc<Self>) -> Option<(K, PermitGuard<K, C, E, H>)> {
        let (key, permit) = self.with(|pool, now, _| {
            let permit = pool.refill(now)?;
            Some((pool.key(permit.origin()).cloned(), permit))
        })?;
        let permit = self.permit(permit);
        Some((key?, permit))
    }

    /// Begins a turn of the watch of this number, which does what is due: until its next
    /// [`rest`](Self::rest) it is not late. `false`: another has taken it over.
    pub(crate) fn wake(&self, watch: u64) -> bool {
        let now = self.hooks.now();
        let mut state = self.lock();
        let own = state.watch == watch;
        if own {
            state.armed = Some(now);
        }
        own
    }

    /// The time at which something is due next, for which the watch of this number waits.
    /// `None`: it has nothing to wait for any more.
    pub(crate) fn rest(&self, watch: u64) -> Option<Instant> {
        let mut state = self.lock();
        if state.watch != watch {
            return None;
        }
        state.armed = state.pool.next_deadline();
        state.armed
    }

    /// The watch of this number is gone.
    pub(crate) fn disarm(&self, watch: u64) {
        let mut state = self.lock();
        if state.watch == watch {
            state.armed = None;
        }
    }

    /// Takes the watch over, if there is one.
    pub(crate) fn take_over(&self) -> Alarm {
        let mut state = self.lock();
        match state.armed {
            None => Alarm::AsBefore,
            armed => state.next_watch(armed),
        }
    }

    /// Reads without changing.
    pub(crate) fn read<R>(&self, read: impl FnOnce(&Pool<K, C, E>) -> R) -> R {
        read(&self.lock().pool)
    }

    fn lock(&self) -> MutexGuard<'_, State<K, C, E>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks for a connection of the origin that `origin` finds or makes.
    pub(crate) fn acquire(
        self: &Arc<Self>,
        now: Instant,
        origin: impl FnOnce(&mut Pool<K, C, E>) -> OriginId,
    ) -> Acquired<K, C, E, H> {
        let known = self.acquire_known(now, |pool| Some(origin(pool)));
        known.expect("the closure always gives an origin")
    }

    /// As [`acquire`](Self::acquire), of an origin that is known already; `None` if it is not.
    pub(crate) fn acquire_known(
        self: &Arc<Self>,
        now: Instant,
        origin: impl FnOnce(&mut Pool<K, C, E>) -> Option<OriginId>,
    ) -> Option<Acquired<K, C, E, H>> {
        let (answer, connection) = self.with_at(now, |pool, now, actions| {
            let origin = origin(pool)?;
            let answer = pool.acquire(origin, now, actions);
            let connection = match &answer {
                Acquire::Reuse(lease) => take(pool, lease),
                _ => C::default(),
            };
            Some((answer, connection))
        })?;
        Some(match answer {
            Acquire::Reuse(lease) => Acquired::Lease(self.lease(lease, connection)),
            Acquire::Open(permit, id) => Acquired::Open(self.permit(permit), self.waiter(id)),
            Acquire::Wait(id) => Acquired::Wait(self.waiter(id)),
            Acquire::Refuse(reason) => Acquired::Refused(reason),
        })
    }

    /// Room for a connection that no request waits for.
    pub(crate) fn open(
        self: &Arc<Self>,
        origin: impl FnOnce(&mut Pool<K, C, E>) -> OriginId,
    ) -> Result<PermitGuard<K, C, E, H>, RefuseReason> {
        let permit = self.with(|pool, now, _| {
            let origin = origin(pool);
            pool.open(origin, now)
        })?;
        Ok(self.permit(permit))
    }

    /// Room for a connection that this caller alone will use first; see [`Pool::open_exclusive`].
    pub(crate) fn open_exclusive(
        self: &Arc<Self>,
        origin: impl FnOnce(&mut Pool<K, C, E>) -> OriginId,
    ) -> Result<PermitGuard<K, C, E, H>, RefuseReason> {
        let permit = self.with(|pool, now, actions| {
            let origin = origin(pool);
            pool.open_exclusive(origin, now, actions)
        })?;
        Ok(self.permit(permit))
    }

    /// Takes an idle connection to look at it; gives it back with [`Verdict::Untouched`].
    pub(crate) fn lease_idle(self: &Arc<Self>, id: ConnectionId) -> Option<LeaseGuard<K, C, E, H>> {
        let (lease, connection) = self.with(|pool, now, _| {
            let lease = pool.lease_idle(id, now)?;
            let connection = take(pool, &lease);
            Some((lease, connection))
        })?;
        Some(self.lease(lease, connection))
    }
}

/// Places of connections that are being closed. They go back also when closing one panics.
struct Places<'a, K, C, E, H>
where
    K: Clone + Eq + std::hash::Hash,
    C: Lend,
    H: Hooks<K, C>,
{
    pooled: &'a Pooled<K, C, E, H>,
    now: Instant,
    closing: SmallVec<[Closing; 1]>,
}

impl<K, C, E, H> Places<'_, K, C, E, H>
where
    K: Clone + Eq + std::hash::Hash,
    C: Lend,
    H: Hooks<K, C>,
{
    fn give_back(&mut self) -> Option<Decided<K, C>> {
        if self.closing.is_empty() {
            return None;
        }
        let closing = std::mem::take(&mut self.closing);
        let ((), decided) = self.pooled.decide(self.now, |pool, now, actions| {
            for place in closing {
                pool.close_finished(place, now, actions);
            }
        });
        Some(decided)
    }
}

impl<K, C, E, H> Drop for Places<'_, K, C, E, H>
where
    K: Clone + Eq + std::hash::Hash,
    C: Lend,
    H: Hooks<K, C>,
{
    fn drop(&mut self) {
        if let Some(decided) = self.give_back() {
            self.pooled.carry_out(decided);
        }
    }
}

fn take<K, C, E>(pool: &mut Pool<K, C, E>, lease: &Lease) -> C
where
    K: Clone + Eq + std::hash::Hash,
    C: Lend,
{
    pool.connection_mut(lease).map(C::lend).unwrap_or_default()
}
