//! The one background task of an agent: it closes what has expired and what peers have closed.
//!
//! It runs while a connection is idle and ends when none is. It belongs to the runtime on which
//! it was started; if that is shut down, the next connection that goes idle starts another.

use std::collections::HashSet;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

use tokio::runtime::Handle;
use tokio::time::Instant;
use warmwire_pool::{ConnectionId, Pool, Verdict};

use crate::core::{AgentHooks, Core};
use crate::pooled::Left;

/// What the reaper has to look at. Shared with every connection's watch.
#[derive(Debug)]
pub(crate) struct Notices {
    running: AtomicBool,
    /// When the reaper will wake by itself, in nanoseconds since `epoch`. Read without a lock at
    /// every release.
    armed: AtomicU64,
    epoch: std::time::Instant,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Idle connections on which something happened: a set, so that it is bounded by their count.
    noticed: HashSet<ConnectionId>,
    waker: Option<Waker>,
}

impl Notices {
    pub(crate) fn new() -> Self {
        Notices {
            running: AtomicBool::new(false),
            armed: AtomicU64::new(u64::MAX),
            epoch: Instant::now().into_std(),
            state: Mutex::default(),
        }
    }

    /// Something happened on an idle connection.
    pub(crate) fn push(&self, id: ConnectionId) {
        let waker = {
            let mut state = self.lock();
            state.noticed.insert(id);
            state.waker.take()
        };
        wake(waker);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn since_epoch(&self, at: std::time::Instant) -> u64 {
        let since = at.saturating_duration_since(self.epoch).as_nanos();
        u64::try_from(since).unwrap_or(u64::MAX)
    }
}

fn wake(waker: Option<Waker>) {
    if let Some(waker) = waker {
        waker.wake();
    }
}

/// Makes sure that somebody acts at the pool's next deadline.
pub(crate) fn ensure(hooks: &AgentHooks, left: Left) {
    let Some(due) = left.next_deadline else { return };
    let notices = &hooks.notices;
    if notices.running.load(Ordering::Acquire) {
        let due = notices.since_epoch(due);
        if due < notices.armed.load(Ordering::Acquire)
            && due < notices.armed.fetch_min(due, Ordering::AcqRel)
        {
            let waker = notices.lock().waker.take();
            wake(waker);
        }
    } else if let Ok(runtime) = Handle::try_current()
        && let Some(core) = hooks.core.upgrade()
        && !notices.running.swap(true, Ordering::AcqRel)
    {
        // Made before the spawn, so that a runtime that is shutting down and drops the task
        // unpolled leaves the mark right.
        let stopped = Stopped(notices.clone());
        runtime.spawn(async move {
            let _stopped = stopped;
            run(&core).await;
        });
    }
}

struct Stopped(Arc<Notices>);

impl Drop for Stopped {
    fn drop(&mut self) {
        self.0.running.store(false, Ordering::Release);
    }
}

async fn run(core: &Arc<Core>) {
    let notices = &core.hooks.notices;
    loop {
        let noticed = std::mem::take(&mut notices.lock().noticed);
        for id in noticed {
            inspect(core, id);
        }
        // Before the deadline is read: whoever makes an earlier one after that lowers this again.
        notices.armed.store(u64::MAX, Ordering::Release);
        let next = core.with(|pool, now, actions| {
            pool.expire(now, actions);
            pool.next_deadline()
        });
        match next {
            Some(due) => wait(notices, due).await,
            None => {
                // Whoever let a connection go idle in between saw this task running and relied
                // on it, so look once more.
                notices.running.store(false, Ordering::SeqCst);
                let idle_again = core.read(Pool::next_deadline).is_some();
                if !idle_again || notices.running.swap(true, Ordering::SeqCst) {
                    return;
                }
            }
        }
    }
}

/// Until `due`, or until something is noticed, or until an earlier deadline is set.
async fn wait(notices: &Notices, due: std::time::Instant) {
    let nanos = notices.since_epoch(due);
    notices.armed.fetch_min(nanos, Ordering::AcqRel);
    let mut timer = pin!(tokio::time::sleep_until(Instant::from_std(due)));
    std::future::poll_fn(|cx| {
        {
            let mut state = notices.lock();
            let earlier = notices.armed.load(Ordering::Acquire) < nanos;
            if earlier || !state.noticed.is_empty() {
                return Poll::Ready(());
            }
            state.waker = Some(cx.waker().clone());
        }
        timer.as_mut().poll(cx)
    })
    .await;
}

/// Closes an idle connection if what happened on it means that it is of no more use.
fn inspect(core: &Arc<Core>, id: ConnectionId) {
    let Some(mut lease) = core.lease_idle(id) else { return };
    let found = lease.connection.conn.as_mut().map_or(Ok(()), |conn| conn.rest());
    lease.release(match found {
        Ok(()) => Verdict::Untouched,
        Err(reason) => Verdict::Unused(reason),
    });
}
