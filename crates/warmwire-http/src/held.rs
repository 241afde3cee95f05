//! Responses that are held unread: each keeps a connection from everybody else, or a stream of one,
//! which is how pools run dry.
//!
//! A task looks at the bodies that are on their way, while there are any, and ends with the last of
//! them. It costs a reader one atomic exchange for each piece that it reads, and a response that is
//! complete with its head nothing.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::runtime::Handle;
use warmwire_pool::ConnectionId;

use crate::core::{AgentHooks, Core};
use crate::event::Event;
use crate::h2::Link;
use crate::key::Key;
use crate::pooled::Hooks as _;
use crate::response::Established;

/// The body is counted as held.
const HELD: u64 = 1;
/// The reader waits for the server, and so holds nothing up.
const WAITING: u64 = 2;
/// There is a body.
const UNDER_WAY: u64 = 4;
/// Counts what is read, in the bits above.
const STEP: u64 = 8;
const FLAGS: u64 = HELD | WAITING | UNDER_WAY;

/// How far the reader of a connection's response is. Written by the reader, and looked at by the
/// task; the mark for held is what both change.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    state: AtomicU64,
    /// The count when the body began.
    first: AtomicU64,
    /// Since when nothing was read, in nanoseconds of [`HeldWatch`].
    since: AtomicU64,
    /// How long the server may be silent before the reader is woken, so that one which was not has
    /// gone; `u64::MAX` for no limit.
    patience: AtomicU64,
}

impl Reading {
    fn begin(&self, since: u64, patience: Option<Duration>) {
        let count = (self.state.load(Ordering::Relaxed) & !FLAGS).wrapping_add(STEP);
        self.since.store(since, Ordering::Relaxed);
        self.first.store(count, Ordering::Relaxed);
        self.patience.store(patience.map_or(u64::MAX, nanos), Ordering::Relaxed);
        self.state.store(count | UNDER_WAY, Ordering::Release);
    }

    /// Whether it was held.
    fn step(&self, waiting: bool) -> bool {
        let count = (self.state.load(Ordering::Relaxed) & !FLAGS).wrapping_add(STEP);
        let waiting = if waiting { WAITING } else { 0 };
        self.state.swap(count | UNDER_WAY | waiting, Ordering::AcqRel) & HELD != 0
    }

    /// Whether it was held.
    fn end(&self) -> bool {
        let count = self.state.load(Ordering::Relaxed) & !FLAGS;
        self.state.swap(count, Ordering::AcqRel) & HELD != 0
    }

    pub(crate) fn is_under_way(&self) -> bool {
        self.state.load(Ordering::Acquire) & UNDER_WAY != 0
    }
}

/// The readers of an HTTP/2 connection's responses.
#[derive(Default)]
pub(crate) struct Readings(Mutex<ReadingsState>);

#[derive(Default)]
struct ReadingsState {
    /// The number of the last one. 0 is that of a connection's only reader.
    last: u64,
    under_way: Vec<(u64, Arc<Reading>)>,
}

impl Readings {
    pub(crate) fn count(&self) -> usize {
        self.lock().under_way.len()
    }

    fn add(&self) -> (u64, Arc<Reading>) {
        let mut state = self.lock();
        state.last += 1;
        let added = (state.last, Arc::default());
        state.under_way.push(added.clone());
        added
    }

    fn remove(&self, number: u64) {
        self.lock().under_way.retain(|(other, _)| *other != number);
    }

    fn lock(&self) -> MutexGuard<'_, ReadingsState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The body of a response under way, as its reader tells of it.
pub(crate) struct Watched {
    established: Arc<Established>,
    stream: Option<StreamReading>,
}

/// The reader of one stream among others.
struct StreamReading {
    link: Arc<Link>,
    number: u64,
    reading: Arc<Reading>,
}

impl Watched {
    /// The head has come at `now`, and the body has not yet; the server may be silent for `patience`.
    pub(crate) fn begin(
        hooks: &AgentHooks,
        established: &Arc<Established>,
        now: Instant,
        patience: Option<Duration>,
    ) -> Option<Watched> {
        let held_after = established.origin.policy().held_after?;
        let watched = Watched { established: established.clone(), stream: None };
        watched.start(hooks, held_after, now, patience);
        Some(watched)
    }

    /// [`begin`](Self::begin), of one of many streams.
    pub(crate) fn begin_stream(
        hooks: &AgentHooks,
        established: &Arc<Established>,
        link: &Arc<Link>,
        now: Instant,
        patience: Option<Duration>,
    ) -> Option<Watched> {
        let held_after = established.origin.policy().held_after?;
        let (number, reading) = link.readings.add();
        let stream = Some(StreamReading { link: link.clone(), number, reading });
        let watched = Watched { established: established.clone(), stream };
        watched.start(hooks, held_after, now, patience);
        Some(watched)
    }

    fn start(
        &self,
        hooks: &AgentHooks,
        held_after: Duration,
        now: Instant,
        patience: Option<Duration>,
    ) {
        self.reading().begin(hooks.held.nanos(now), patience);
        if !hooks.held.running.load(Ordering::Acquire) {
            start(hooks, held_after);
        }
    }

    fn reading(&self) -> &Reading {
        self.stream.as_ref().map_or(&self.established.reading, |stream| &stream.reading)
    }

    /// Something was read, or the server is `waiting` to be heard.
    pub(crate) fn step(&self, hooks: &AgentHooks, waiting: bool) {
        if self.reading().step(waiting) {
            count_off(hooks, self.established.origin.key());
        }
    }

    /// The connection is about to be given back, or closed.
    pub(crate) fn end(self, hooks: &AgentHooks) {
        if self.reading().end() {
            count_off(hooks, self.established.origin.key());
        }
        if let Some(StreamReading { link, number, .. }) = &self.stream {
            link.readings.remove(*number);
        }
    }
}

fn count_on(hooks: &AgentHooks, key: &Key) {
    for counters in [key.counters(), &hooks.counters] {
        counters.held.fetch_add(1, Ordering::Relaxed);
    }
}

fn count_off(hooks: &AgentHooks, key: &Key) {
    for counters in [key.counters(), &hooks.counters] {
        counters.held.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Whether the task runs, and what its times count from.
#[derive(Debug)]
pub(crate) struct HeldWatch {
    began: Instant,
    running: AtomicBool,
}

impl Default for HeldWatch {
    fn default() -> Self {
        HeldWatch { began: tokio::time::Instant::now().into_std(), running: AtomicBool::new(false) }
    }
}

impl HeldWatch {
    fn nanos(&self, at: Instant) -> u64 {
        nanos(at.saturating_duration_since(self.began))
    }

    fn claim(&self) -> bool {
        !self.running.swap(true, Ordering::AcqRel)
    }
}

fn nanos(duration: Duration) -> u64 {
    // 584 years.
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX - 1)
}

fn start(hooks: &AgentHooks, held_after: Duration) {
    let Ok(runtime) = Handle::try_current() else { return };
    if !hooks.held.claim() {
        return;
    }
    let running = Running(hooks.core.clone());
    let shutdown = hooks.shutdown.clone();
    runtime.spawn(async move {
        shutdown.run_until_cancelled(watch(running, held_after)).await;
    });
}

/// Says that no task looks any more, also when the runtime drops it.
struct Running(std::sync::Weak<Core>);

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(core) = self.0.upgrade() {
            core.hooks.held.running.store(false, Ordering::Release);
        }
    }
}

async fn watch(running: Running, held_after: Duration) {
    let mut seen = HashMap::new();
    let mut pause = held_after;
    loop {
        tokio::time::sleep(pause).await;
        let Some(core) = running.0.upgrade() else { return };
        if let Some(next) = look_at_all(&core, &mut seen) {
            pause = next;
            continue;
        }
        // A body that begins between the look and the mark would find a task that is ending.
        core.hooks.held.running.store(false, Ordering::Release);
        match look_at_all(&core, &mut seen) {
            Some(next) if core.hooks.held.claim() => pause = next,
            _ => return,
        }
    }
}

/// Reports what is held, and says when to look again; `None` when no body is under way.
fn look_at_all(core: &Core, seen: &mut HashMap<(ConnectionId, u64), u64>) -> Option<Duration> {
    let mut under_way = Vec::new();
    core.read(|pool| {
        for (_, view) in pool.connections().filter(|(_, view)| view.leased > 0) {
            let Some(established) = &view.connection.established else { continue };
            let mut add = |number, reading| {
                under_way.push(((view.id, number), established.clone(), reading));
            };
            match &view.connection.stream {
                Some(stream) => {
                    let readings = stream.link().readings.lock();
                    readings
                        .under_way
                        .iter()
                        .for_each(|(n, reading)| add(*n, Some(reading.clone())));
                }
                None if established.reading.is_under_way() => add(0, None),
                None => {}
            }
        }
    });
    let now = core.hooks.now();
    let before = std::mem::take(seen);
    under_way
        .into_iter()
        .filter_map(|(id, established, reading)| {
            let held_after = established.origin.policy().held_after?;
            let reading = reading.as_deref().unwrap_or(&established.reading);
            let state = reading.state.load(Ordering::Acquire);
            let mark = state & !HELD;
            seen.insert(id, mark);
            let first = mark & !FLAGS == reading.first.load(Ordering::Relaxed);
            if !first && before.get(&id) != Some(&mark) {
                reading.since.store(core.hooks.held.nanos(now), Ordering::Relaxed);
            }
            let since = Duration::from_nanos(reading.since.load(Ordering::Relaxed));
            let unread = now.saturating_duration_since(core.hooks.held.began + since);
            let patience = match state & WAITING {
                0 => Duration::ZERO,
                _ => Duration::from_nanos(reading.patience.load(Ordering::Relaxed)),
            };
            let left = held_after.saturating_add(patience).saturating_sub(unread);
            if left.is_zero() {
                report(core, id.0, &established, reading, state, unread);
                return Some(held_after);
            }
            // Not for each body at its own moment, where many are under way.
            Some(left.clamp(held_after / 8, held_after))
        })
        .min()
}

fn report(
    core: &Core,
    id: ConnectionId,
    of: &Established,
    reading: &Reading,
    state: u64,
    unread: Duration,
) {
    if state & HELD != 0 {
        return;
    }
    // Counted before it is marked: who unmarks it counts it off.
    count_on(&core.hooks, of.origin.key());
    let marked =
        reading.state.compare_exchange(state, state | HELD, Ordering::AcqRel, Ordering::Relaxed);
    match marked {
        Err(_) => count_off(&core.hooks, of.origin.key()),
        Ok(_) => core.hooks.observer.report(|| Event::Held {
            origin: of.origin.clone(),
            connection: id,
            unread,
        }),
    }
}
