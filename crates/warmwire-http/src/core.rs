//! What all handles of an agent share: the locked pool and its surroundings.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::task::{Poll, Waker};

use http::HeaderMap;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use warmwire_net::Connector;
use warmwire_pool::{CloseReason, Closed, Keep, OriginId, Pool, Verdict};

use crate::conn::Conn;
use crate::dial::DialError;
use crate::event::{Event, Observer};
use crate::h2::Stream;
use crate::held::HeldWatch;
use crate::key::{Address, HttpCounters, Key, OriginName};
use crate::memory::Memories;
use crate::observe;
use crate::policy::Policies;
use crate::pooled::{self, Hooks, LeaseGuard, Left, Lend, PermitGuard, Pooled, Waiter};
use crate::reaper::{self, Notices};
use crate::response::Established;

/// A connection's place in the pool.
#[derive(Default)]
pub(crate) struct Slot {
    /// `None` while the connection is lent, and for HTTP/2.
    pub(crate) conn: Option<Box<Conn>>,
    /// Of HTTP/2: the pool's handle stays here, and what is lent has its own.
    pub(crate) stream: Option<Stream>,
    /// Stays here while the connection is lent: `None` in what was lent.
    pub(crate) established: Option<Arc<Established>>,
}

impl Slot {
    pub(crate) fn new(conn: Box<Conn>) -> Slot {
        let established = Some(conn.established.clone());
        Slot { conn: Some(conn), stream: None, established }
    }

    pub(crate) fn shared(stream: Stream) -> Slot {
        let established = Some(stream.established().clone());
        Slot { conn: None, stream: Some(stream), established }
    }
}

impl Lend for Slot {
    fn lend(&mut self) -> Slot {
        let stream = self.stream.as_ref().map(Stream::lend);
        Slot { conn: self.conn.take(), stream, established: None }
    }

    fn restore(&mut self, lent: Slot) {
        self.conn = lent.conn;
    }

    fn end(&mut self) {
        if let Some(stream) = &mut self.stream {
            stream.end();
        }
    }

    fn dropped(&self) -> Verdict {
        match self.stream {
            None => Verdict::Close(CloseReason::Cancelled),
            // Its stream was reset, and that is all.
            Some(_) => Verdict::Keep(Keep::default()),
        }
    }
}

pub(crate) type Core = Pooled<Key, Slot, Arc<DialError>, AgentHooks>;
pub(crate) type ConnectionLease = LeaseGuard<Key, Slot, Arc<DialError>, AgentHooks>;
pub(crate) type DialPermit = PermitGuard<Key, Slot, Arc<DialError>, AgentHooks>;
pub(crate) type Acquired = pooled::Acquired<Key, Slot, Arc<DialError>, AgentHooks>;
pub(crate) type QueuePlace = Waiter<Key, Slot, Arc<DialError>, AgentHooks>;

/// What requests need to know besides the pool, and what is one for all origins.
pub(crate) struct Config {
    pub(crate) policies: Policies,
    pub(crate) keep_alive: bool,
    pub(crate) default_headers: HeaderMap,
    pub(crate) unix_socket: Option<Arc<std::path::Path>>,
}

/// The pool's surroundings.
pub(crate) struct AgentHooks {
    pub(crate) core: Weak<Core>,
    pub(crate) config: Config,
    pub(crate) connector: Connector,
    pub(crate) observer: Observer,
    pub(crate) notices: Arc<Notices>,
    pub(crate) memories: Memories,
    pub(crate) held: HeldWatch,
    /// Over all origins, forgotten ones too.
    pub(crate) counters: HttpCounters,
    /// Ends dials in progress when the agent is closed.
    pub(crate) shutdown: CancellationToken,
    /// Wakers of those who wait for the pool to be empty.
    closing: Mutex<Vec<Waker>>,
}

impl AgentHooks {
    pub(crate) fn new(
        core: Weak<Core>,
        config: Config,
        connector: Connector,
        observer: Observer,
    ) -> Self {
        AgentHooks {
            core,
            config,
            connector,
            observer,
            notices: Arc::default(),
            memories: Memories::default(),
            held: HeldWatch::default(),
            counters: HttpCounters::default(),
            shutdown: CancellationToken::new(),
            closing: Mutex::default(),
        }
    }

    /// The key of an origin that the pool does not know, with what is remembered of it.
    pub(crate) fn key(&self, address: &Address<'_>) -> Key {
        let policy = self.config.policies.of(address);
        self.memories.key(address, self.now(), |memory| Key::new(address, policy, memory))
    }
}

impl Hooks<Key, Slot> for AgentHooks {
    fn now(&self) -> std::time::Instant {
        Instant::now().into_std()
    }

    fn closed(&self, closed: Closed<Key, Slot>) {
        observe::closed(&closed.key, closed.reason, closed.age);
        self.observer.report(|| Event::Closed {
            origin: OriginName::new(&closed.key),
            connection: closed.id,
            reason: closed.reason,
            requests: closed.requests,
            age: closed.age,
        });
        let established = closed.connection.established.as_ref();
        if let Some(address) = established.and_then(|of| of.address.as_ref()) {
            // A caller that keeps what it was told of the connection keeps its address too.
            address.release();
        }
        if let Some(conn) = closed.connection.conn {
            conn.close();
        }
    }

    fn changed(&self, left: Left) {
        reaper::ensure(self, left.alarm);
        if left.drained {
            self.notices.poke();
            let waiting =
                std::mem::take(&mut *self.closing.lock().unwrap_or_else(PoisonError::into_inner));
            waiting.into_iter().for_each(Waker::wake);
        }
    }
}

/// The origin of `key`, made if the pool does not know it.
pub(crate) fn origin_of(pool: &mut Pool<Key, Slot, Arc<DialError>>, key: &Key) -> OriginId {
    pool.find(key).unwrap_or_else(|| insert(pool, key.renew()))
}

/// Adds an origin that the pool does not know, with the limits of its policy.
pub(crate) fn insert(pool: &mut Pool<Key, Slot, Arc<DialError>>, key: Key) -> OriginId {
    let limits = key.limits();
    pool.insert_with_limits(key, limits)
}

/// As [`origin_of`], and makes `key` the one that the pool has: what is counted with it is counted
/// for the origin as the pool knows it now.
pub(crate) fn origin_again(pool: &mut Pool<Key, Slot, Arc<DialError>>, key: &mut Key) -> OriginId {
    let origin = origin_of(pool, key);
    if let Some(known) = pool.key(origin) {
        key.clone_from(known);
    }
    origin
}

/// Closes the pool: what is idle at once, what is in use when its exchange ends. New requests are
/// refused and dials in progress end.
pub(crate) fn shut(core: &Core) {
    core.with(Pool::close);
    core.hooks.shutdown.cancel();
}

/// Until the closed pool is empty.
pub(crate) async fn drained(core: &Core) {
    std::future::poll_fn(|cx| {
        // The waker is left before the look, so that what happens in between is not missed.
        let mut closing = core.hooks.closing.lock().unwrap_or_else(PoisonError::into_inner);
        if !closing.iter().any(|waker| waker.will_wake(cx.waker())) {
            closing.push(cx.waker().clone());
        }
        drop(closing);
        match core.read(Pool::is_drained) {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    })
    .await;
}

impl ConnectionLease {
    /// Whether it is a stream of an HTTP/2 connection.
    pub(crate) fn is_shared(&self) -> bool {
        self.connection.stream.is_some()
    }

    pub(crate) fn established(&self) -> &Arc<Established> {
        match &self.connection.stream {
            None => &self.conn().established,
            Some(stream) => stream.established(),
        }
    }

    pub(crate) fn stream(&self) -> &Stream {
        self.connection.stream.as_ref().expect(LENT)
    }

    pub(crate) fn stream_mut(&mut self) -> &mut Stream {
        self.connection.stream.as_mut().expect(LENT)
    }

    pub(crate) fn conn(&self) -> &Conn {
        self.connection.conn.as_ref().expect(LENT)
    }

    pub(crate) fn conn_mut(&mut self) -> &mut Conn {
        self.connection.conn.as_mut().expect(LENT)
    }
}

/// The pool lends a connection with one slot once at a time, and a lease gives it back whole; of the
/// others it lends a handle for each slot. Which of the two it is, `is_shared` has said.
const LENT: &str = "a lease holds its connection until it is released";
