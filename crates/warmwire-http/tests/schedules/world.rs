//! What surrounds the pool: a virtual clock, connections that are numbers, threads, and the books
//! that the pool is checked against.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use shuttle::sync::Arc;
use shuttle::thread::{self, JoinHandle};
use warmwire_pool::{CloseReason, Closed, Limits, Opened, Pool, Verdict};

use crate::pooled::{Alarm, Hooks, Left, Lend, Pooled};

pub(crate) type Key = &'static str;
pub(crate) type Shared = Pooled<Key, Connection, &'static str, World>;

/// A connection: its number, which goes out with a lease and comes back.
#[derive(Debug, Default)]
pub(crate) struct Connection(pub(crate) Option<u64>);

impl Lend for Connection {
    fn lend(&mut self) -> Self {
        Connection(self.0.take())
    }

    fn restore(&mut self, lent: Self) {
        *self = lent;
    }

    fn end(&mut self) {}

    fn dropped(&self) -> Verdict {
        Verdict::Close(CloseReason::Cancelled)
    }
}

/// Kept with the standard library's locks: these are the test's own, and no point at which
/// another thread may run.
pub(crate) struct World {
    pool: Weak<Shared>,
    books: Mutex<Books>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    poked: AtomicBool,
    drained: AtomicBool,
}

struct Books {
    now: Instant,
    opened: u64,
    open: HashSet<u64>,
    in_hand: HashSet<u64>,
}

impl World {
    pub(crate) fn around(limits: Limits) -> Arc<Shared> {
        Arc::new_cyclic(|pool| {
            let books = Books {
                now: Instant::now(),
                opened: 0,
                open: HashSet::new(),
                in_hand: HashSet::new(),
            };
            let world = World {
                pool: pool.clone(),
                books: Mutex::new(books),
                threads: Mutex::default(),
                poked: AtomicBool::new(false),
                drained: AtomicBool::new(false),
            };
            Pooled::new(Pool::new(limits, usize::MAX), world)
        })
    }

    /// A new connection.
    pub(crate) fn open(&self) -> Connection {
        let mut books = self.books();
        books.opened += 1;
        let id = books.opened;
        books.open.insert(id);
        Connection(Some(id))
    }

    /// Connections that are open.
    pub(crate) fn open_now(&self) -> usize {
        self.books().open.len()
    }

    /// A request has the connection in hand.
    pub(crate) fn take(&self, id: u64) {
        let mut books = self.books();
        assert!(books.open.contains(&id), "{id} was closed and then handed out");
        assert!(books.in_hand.insert(id), "{id} is in two hands");
    }

    /// The request is about to give it back.
    pub(crate) fn give(&self, id: u64) {
        assert!(self.books().in_hand.remove(&id));
    }

    /// Whether the pool has said that it is shut down and empty.
    pub(crate) fn drained(&self) -> bool {
        self.drained.load(Ordering::Relaxed)
    }

    pub(crate) fn spawn(&self, work: impl FnOnce() + Send + 'static) {
        let thread = thread::spawn(work);
        self.threads().push(thread);
    }

    /// Waits for all threads, those that they start included.
    pub(crate) fn join(&self) {
        loop {
            let next = self.threads().pop();
            let Some(thread) = next else { return };
            thread.join().expect("a thread that panics ends the schedule");
        }
    }

    fn books(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn threads(&self) -> MutexGuard<'_, Vec<JoinHandle<()>>> {
        self.threads.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Hooks<Key, Connection> for World {
    fn now(&self) -> Instant {
        self.books().now
    }

    fn closed(&self, closed: Closed<Key, Connection>) {
        // Others run between the moment when it leaves the pool and its end.
        thread::yield_now();
        let id = closed.connection.0.expect("a connection that is closed is whole");
        let mut books = self.books();
        assert!(!books.in_hand.contains(&id), "{id} was closed in a request's hand");
        assert!(books.open.remove(&id), "{id} was closed twice");
    }

    fn changed(&self, left: Left) {
        if left.drained {
            self.drained.store(true, Ordering::Relaxed);
        }
        match left.alarm {
            Alarm::AsBefore => {}
            Alarm::Earlier => self.poked.store(true, Ordering::Relaxed),
            Alarm::Start(watch) => {
                let pool = self.pool.upgrade().expect("the scenario holds it");
                self.spawn(move || reap(&pool, watch));
            }
        }
    }
}

/// The agent's background task, for which time passes as soon as it waits.
fn reap(pool: &Arc<Shared>, watch: u64) {
    while pool.wake(watch) {
        pool.hooks.poked.store(false, Ordering::Relaxed);
        pool.expire();
        while let Some((_, permit)) = pool.refill() {
            thread::yield_now();
            let opened = Opened { slots: 1, jitter: 0.5, elapsed: Duration::ZERO };
            permit.connected(pool.hooks.open(), opened, |_| ());
        }
        let Some(due) = pool.rest(watch) else { break };
        thread::yield_now();
        if !pool.hooks.poked.load(Ordering::Relaxed) {
            let mut books = pool.hooks.books();
            books.now = books.now.max(due);
        }
    }
    pool.disarm(watch);
}
