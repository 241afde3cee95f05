//! The one background task of an agent: it closes what has expired and what peers have closed,
//! ends back-offs, and dials ahead.
//!
//! It runs while the pool has a deadline, as it has while a connection is idle, and ends when it has
//! none. It belongs to the runtime on which
//! it was started; if that is shut down, the next connection that goes idle starts another.

use std::collections::HashSet;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Poll, Waker};

use tokio::runtime::Handle;
use tokio::time::Instant;
use warmwire_pool::{ConnectionId, Verdict};

use crate::core::{AgentHooks, Core};
use crate::dial::{self, DialPhase};
use crate::pooled::Alarm;
use crate::release;

/// What the reaper has to look at. Shared with every connection's watch.
#[derive(Debug, Default)]
pub(crate) struct Notices(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// Idle connections on which something happened: a set, so that it is bounded by their count.
    noticed: HashSet<ConnectionId>,
    /// The deadline has changed since the reaper last asked for it.
    poked: bool,
    waker: Option<Waker>,
}

impl Notices {
    /// Something happened on an idle connection.
    pub(crate) fn push(&self, id: ConnectionId) {
        self.wake(|state| {
            state.noticed.insert(id);
        });
    }

    /// The reaper's deadline has changed.
    pub(crate) fn poke(&self) {
        self.wake(|state| state.poked = true);
    }

    fn wake(&self, change: impl FnOnce(&mut State)) {
        let waker = {
            let mut state = self.lock();
            change(&mut state);
            state.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Makes sure that somebody acts at the pool's next deadline.
pub(crate) fn ensure(hooks: &AgentHooks, alarm: Alarm) {
    match alarm {
        Alarm::AsBefore => {}
        Alarm::Earlier => hooks.notices.poke(),
        Alarm::Start => start(hooks),
    }
}

fn start(hooks: &AgentHooks) {
    // Made before the spawn, so that a runtime that is shutting down and drops the task unpolled
    // leaves the mark right; and so does the lack of a runtime.
    let mut gone = Gone(hooks.core.clone());
    if let Ok(runtime) = Handle::try_current() {
        runtime.spawn(async move {
            if let Some(core) = gone.0.upgrade() {
                run(&core).await;
                // It ended since nothing is left to wait for, and somebody else may have begun
                // to wait since.
                gone.defuse();
            }
        });
    }
}

/// Says that nobody waits for the deadline any more, also when the runtime drops the task.
struct Gone(Weak<Core>);

impl Gone {
    fn defuse(&mut self) {
        self.0 = Weak::new();
    }
}

impl Drop for Gone {
    fn drop(&mut self) {
        if let Some(core) = self.0.upgrade() {
            core.disarm();
        }
    }
}

async fn run(core: &Arc<Core>) {
    let notices = &core.hooks.notices;
    loop {
        let noticed = {
            let mut state = notices.lock();
            state.poked = false;
            std::mem::take(&mut state.noticed)
        };
        for id in noticed {
            inspect(core, id);
        }
        core.expire();
        while let Some((key, permit)) = core.refill() {
            let timeout = key.policy().timeouts.connect;
            dial::spawn(core, key, timeout, permit, DialPhase::new(), None);
        }
        let Some(due) = core.rest() else { return };
        wait(notices, due).await;
    }
}

/// Until `due`, or until something is noticed, or until an earlier deadline is set.
async fn wait(notices: &Notices, due: std::time::Instant) {
    let mut timer = pin!(tokio::time::sleep_until(Instant::from_std(due)));
    std::future::poll_fn(|cx| {
        {
            let mut state = notices.lock();
            if state.poked || !state.noticed.is_empty() {
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
    let found = lease.conn_mut().go_idle();
    if found.is_err() {
        release::idle_time_ended(&lease);
    }
    lease.release(match found {
        Ok(()) => Verdict::Untouched,
        Err(reason) => Verdict::Unused(reason),
    });
}
