//! The one background task of an agent: it closes what has expired and what peers have closed,
//! ends back-offs, and dials ahead.
//!
//! It runs while the pool has a deadline, as it has while a connection is idle, and ends when it has
//! none. It belongs to the runtime on which it was started. If that is shut down, the next change in
//! the pool starts another. If it is kept and not driven, another one takes over: where a change
//! finds the deadline passed, and, before it has come to that, on the runtime on which a connection
//! is opened, to which one moves, or on which a request waits.

use std::collections::HashSet;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Poll, Waker};
use std::time::Duration;

use tokio::runtime::{Handle, Id, RuntimeFlavor};
use tokio::time::Instant;
use warmwire_pool::ConnectionId;

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
    /// The number of the reaper that counts: `waker` is its own.
    watch: u64,
    home: Option<Home>,
    /// When the reaper was last brought to another runtime.
    brought: Option<Instant>,
    /// Runtimes to which it will come after a [`PAUSE`].
    called: HashSet<Id>,
}

/// How far the reaper is from a runtime.
enum Distance {
    /// It is there, or on one that is driven, or on its way.
    Near,
    /// It should come.
    Far,
    /// It should come, and was brought elsewhere just now.
    FarAgain,
}

/// Where the reaper lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Home {
    runtime: Id,
    /// A runtime with threads of its own is driven as long as it lives.
    driven: bool,
}

impl Home {
    fn of(runtime: &Handle) -> Home {
        let driven = runtime.runtime_flavor() != RuntimeFlavor::CurrentThread;
        Home { runtime: runtime.id(), driven }
    }
}

/// How often the reaper comes at once when it is called to another runtime: where many runtimes share
/// an agent and all are driven, connections move at every other request and the reaper need not.
const PAUSE: Duration = Duration::from_millis(100);

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

    /// A reaper begins, and the one before, if there is one, looks up and ends.
    fn begin(&self, watch: u64, home: Home) {
        self.wake(|state| {
            // Two that begin at once may come here in either order.
            if watch > state.watch {
                state.watch = watch;
                state.home = Some(home);
            }
        });
    }

    /// Whether the reaper should come to the runtime `here`, if there is one.
    fn distance(&self, here: Home) -> Distance {
        let mut state = self.lock();
        if state.home.is_none_or(|home| home == here || home.driven) {
            return Distance::Near;
        }
        let now = Instant::now();
        if state.brought.is_none_or(|at| now.duration_since(at) >= PAUSE) {
            state.brought = Some(now);
            return Distance::Far;
        }
        match state.called.insert(here.runtime) {
            true => Distance::FarAgain,
            false => Distance::Near,
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
        Alarm::Start(watch) => start(hooks, watch),
    }
}

/// Brings the reaper to the current runtime, which is driven, if it lives on one that may not be.
/// For what happens rarely: a dial, a connection that comes from another runtime, a request that
/// waits.
pub(crate) fn bring_here(core: &Core) {
    let Ok(here) = Handle::try_current() else { return };
    match core.hooks.notices.distance(Home::of(&here)) {
        Distance::Near => {}
        Distance::Far => ensure(&core.hooks, core.take_over()),
        Distance::FarAgain => {
            let called = Called { core: core.hooks.core.clone(), to: here.id() };
            here.spawn(async move {
                tokio::time::sleep(PAUSE).await;
                if let Some(core) = called.core.upgrade() {
                    ensure(&core.hooks, core.take_over());
                }
            });
        }
    }
}

/// The reaper was called to a runtime, which may end before it comes.
struct Called {
    core: Weak<Core>,
    to: Id,
}

impl Drop for Called {
    fn drop(&mut self) {
        if let Some(core) = self.core.upgrade() {
            core.hooks.notices.lock().called.remove(&self.to);
        }
    }
}

fn start(hooks: &AgentHooks, watch: u64) {
    // Made before the spawn, so that a runtime that is shutting down and drops the task unpolled
    // leaves the mark right; and so does the lack of a runtime.
    let mut gone = Gone { core: hooks.core.clone(), watch };
    if let Ok(runtime) = Handle::try_current() {
        hooks.notices.begin(watch, Home::of(&runtime));
        runtime.spawn(async move {
            if let Some(core) = gone.core.upgrade() {
                run(&core, watch).await;
                // It ended since nothing is left to wait for, and somebody else may have begun
                // to wait since.
                gone.defuse();
            }
        });
    }
}

/// Says that nobody waits for the deadline any more, also when the runtime drops the task.
struct Gone {
    core: Weak<Core>,
    watch: u64,
}

impl Gone {
    fn defuse(&mut self) {
        self.core = Weak::new();
    }
}

impl Drop for Gone {
    fn drop(&mut self) {
        if let Some(core) = self.core.upgrade() {
            core.disarm(self.watch);
        }
    }
}

async fn run(core: &Arc<Core>, watch: u64) {
    let notices = &core.hooks.notices;
    while core.wake(watch) {
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
        let Some(due) = core.rest(watch) else { return };
        wait(notices, watch, due).await;
    }
}

/// Until `due`, or until something is noticed, or until an earlier deadline is set, or until another
/// has taken over.
async fn wait(notices: &Notices, watch: u64, due: std::time::Instant) {
    let mut timer = pin!(tokio::time::sleep_until(Instant::from_std(due)));
    std::future::poll_fn(|cx| {
        {
            let mut state = notices.lock();
            if state.watch != watch || state.poked || !state.noticed.is_empty() {
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
    if let Some(lease) = core.lease_idle(id) {
        release::give_back(lease);
    }
}
