//! A connection as the pool and its requests hold it.

use std::convert::Infallible;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::{Duration, Instant};

use hyper::client::conn::http2::SendRequest;
use tokio::sync::oneshot;
use warmwire_pool::{CloseReason, ConnectionId};

use super::home::{self, Home};
use super::outgoing::Outgoing;
use crate::core::Core;
use crate::held::Readings;
use crate::observe::Open;
use crate::response::Established;

/// One stream of a connection, or the pool's own handle on it.
pub(crate) struct Stream {
    shared: Arc<Shared>,
    /// Whether it stands for a request, and not for the pool.
    begun: bool,
}

struct Shared {
    sender: SendRequest<Outgoing>,
    established: Arc<Established>,
    link: Arc<Link>,
    load: Mutex<Load>,
    /// Tells the connection's task by its drop that nobody has the connection any more.
    _held: oneshot::Sender<Infallible>,
}

impl Drop for Shared {
    /// To say goodbye it must be run.
    fn drop(&mut self) {
        home::visit(&self.link);
    }
}

/// For the metrics, which know connections in use and idle ones.
struct Load {
    open: Open,
    requests: usize,
}

impl Stream {
    pub(super) fn new(
        sender: SendRequest<Outgoing>,
        established: Arc<Established>,
        link: Arc<Link>,
        open: Open,
        held: oneshot::Sender<Infallible>,
    ) -> Stream {
        let load = Mutex::new(Load { open, requests: 0 });
        let shared = Arc::new(Shared { sender, established, link, load, _held: held });
        Stream { shared, begun: false }
    }

    /// Another stream of the same connection.
    pub(crate) fn lend(&self) -> Stream {
        Stream { shared: self.shared.clone(), begun: false }
    }

    pub(crate) fn established(&self) -> &Arc<Established> {
        &self.shared.established
    }

    pub(crate) fn link(&self) -> &Arc<Link> {
        &self.shared.link
    }

    pub(super) fn sender(&self) -> SendRequest<Outgoing> {
        self.shared.sender.clone()
    }

    /// Whether requests can be sent, as far as that is known.
    pub(crate) fn is_open(&self) -> bool {
        !self.shared.sender.is_closed()
    }

    /// Called before a request is sent: makes sure that the connection is run.
    pub(crate) fn visit(&self) {
        home::visit(&self.shared.link);
    }

    /// A request has got the stream.
    pub(crate) fn begin(&mut self, reused: bool, queued: Duration) {
        self.begun = true;
        let mut load = lock(&self.shared.load);
        load.requests += 1;
        load.open.busy(reused, queued);
    }

    /// The request is over, if there was one.
    pub(crate) fn end(&mut self) {
        if std::mem::take(&mut self.begun) {
            let mut load = lock(&self.shared.load);
            load.requests -= 1;
            if load.requests == 0 {
                load.open.idle();
            }
        }
    }
}

/// What a connection's task and the pool know of each other.
pub(crate) struct Link {
    core: Weak<Core>,
    /// The most slots that the pool is told of.
    max_streams: u32,
    /// Counts what was read, to tell a slow answer from a dead path.
    reads: AtomicU64,
    began: Instant,
    /// The time of the last look at the socket in nanoseconds after `began`; 0 if nobody has asked.
    looked: AtomicU64,
    home: Home,
    socket_end: OnceLock<CloseReason>,
    pub(crate) readings: Readings,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// `None` until the pool has it.
    id: Option<ConnectionId>,
    slots: u32,
    over: Option<CloseReason>,
}

impl Link {
    /// Of a connection that lives on the current runtime, and can leave it if it is `movable`.
    pub(super) fn new(core: Weak<Core>, max_streams: u32, movable: bool) -> Link {
        Link {
            core,
            max_streams,
            reads: AtomicU64::new(0),
            began: tokio::time::Instant::now().into_std(),
            looked: AtomicU64::new(0),
            home: Home::here(movable),
            socket_end: OnceLock::new(),
            readings: Readings::default(),
            state: Mutex::default(),
        }
    }

    pub(super) fn home(&self) -> &Home {
        &self.home
    }

    /// Names the connection, which has its number only once the pool has it, and tells what has
    /// happened to it before that. `slots`: what the pool believes.
    pub(crate) fn name(&self, id: ConnectionId, slots: u32) {
        let mut state = lock(&self.state);
        state.id = Some(id);
        if state.slots != slots {
            self.tell_slots(id, state.slots);
        }
        if let Some(reason) = state.over {
            self.tell_over(id, reason);
        }
    }

    pub(super) fn slots(&self) -> u32 {
        lock(&self.state).slots
    }

    /// The peer says how many streams it takes. Told under the lock, so that the pool hears the
    /// last of two numbers last.
    pub(super) fn set_streams(&self, streams: usize) {
        let mut state = lock(&self.state);
        state.slots = u32::try_from(streams).unwrap_or(u32::MAX).min(self.max_streams);
        if let Some(id) = state.id {
            self.tell_slots(id, state.slots);
        }
    }

    /// No further request may use the connection; those in progress go on. The first reason counts.
    pub(super) fn retire(&self, reason: CloseReason) {
        let mut state = lock(&self.state);
        if state.over.is_none() {
            state.over = Some(reason);
            if let Some(id) = state.id {
                self.tell_over(id, reason);
            }
        }
    }

    /// The time, as of the last look at the socket: hyper asks for each frame, to know when to ping.
    pub(super) fn now(&self) -> Instant {
        match self.looked.load(Ordering::Relaxed) {
            0 => {
                let now = tokio::time::Instant::now().into_std();
                let nanos = now.saturating_duration_since(self.began).as_nanos();
                self.looked
                    .store(u64::try_from(nanos).unwrap_or(u64::MAX).max(1), Ordering::Relaxed);
                now
            }
            nanos => self.began + Duration::from_nanos(nanos),
        }
    }

    /// The socket is about to be looked at. Gives [`reads`](Self::reads).
    pub(super) fn begin_reading(&self) -> u64 {
        self.looked.store(0, Ordering::Relaxed);
        self.reads()
    }

    pub(super) fn count_read(&self) {
        self.reads.fetch_add(1, Ordering::Relaxed);
    }

    /// The socket has ended, by its peer's FIN or by an error.
    pub(super) fn note_socket_end(&self, error: Option<&std::io::Error>) {
        let reset = error.is_some_and(|error| error.kind() == std::io::ErrorKind::ConnectionReset);
        let reason = if reset { CloseReason::Reset } else { CloseReason::ClosedByPeer };
        // The first one counts.
        let _ = self.socket_end.set(reason);
    }

    pub(super) fn socket_end(&self) -> Option<CloseReason> {
        self.socket_end.get().copied()
    }

    pub(super) fn reads(&self) -> u64 {
        self.reads.load(Ordering::Relaxed)
    }

    fn tell_slots(&self, id: ConnectionId, slots: u32) {
        if let Some(core) = self.core.upgrade() {
            core.with(|pool, now, actions| pool.set_slots(id, slots, now, actions));
        }
    }

    fn tell_over(&self, id: ConnectionId, reason: CloseReason) {
        if let Some(core) = self.core.upgrade() {
            core.with(|pool, now, actions| pool.closed_by_peer(id, reason, now, actions));
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
