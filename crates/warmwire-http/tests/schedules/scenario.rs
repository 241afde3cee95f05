//! Requests that come, dial, wait, give up and give back, each on a thread of its own.

use std::task::{Context, Poll, Waker};
use std::time::Duration;

use shuttle::rand::Rng;
use shuttle::sync::Arc;
use shuttle::thread;
use warmwire_pool::{CloseReason, Failed, Keep, Limits, Opened, Pool, Verdict};

use crate::pooled::{Acquired, Granted, Hooks as _};
use crate::world::{Connection, Key, Shared, World};

type Waiter = crate::pooled::Waiter<Key, Connection, &'static str, World>;
type Permit = crate::pooled::PermitGuard<Key, Connection, &'static str, World>;
type Lease = crate::pooled::LeaseGuard<Key, Connection, &'static str, World>;

/// Requests of each caller: more than one, so that idle connections are used and not only expired.
const REQUESTS: usize = 3;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Close {
    Never,
    /// While requests are under way.
    Amid,
}

#[derive(Clone, Copy)]
pub(crate) struct Scenario {
    pub(crate) max_connections: usize,
    pub(crate) max_requests: Option<u64>,
    pub(crate) min_idle: usize,
    /// Threads that send one request after the other.
    pub(crate) callers: usize,
    /// How likely a request gives up, or a dial ends without a result.
    pub(crate) abandon: f64,
    pub(crate) close: Close,
}

impl Scenario {
    /// Runs all requests, checks at every hand-over, and wants an empty pool at the end.
    pub(crate) fn run(self) {
        let limits = Limits {
            max_connections: self.max_connections,
            max_requests_per_connection: self.max_requests,
            min_idle: self.min_idle,
            idle_timeout: Some(Duration::from_millis(10)),
            ..Limits::default()
        };
        let pool = World::around(limits);
        for _ in 0..self.callers {
            let shared = pool.clone();
            pool.hooks.spawn(move || {
                for _ in 0..REQUESTS {
                    self.request(&shared);
                    thread::yield_now();
                }
            });
        }
        if self.close == Close::Amid {
            let shared = pool.clone();
            pool.hooks.spawn(move || shared.with(Pool::close));
        }
        pool.hooks.join();
        if self.close == Close::Never {
            // Whatever has happened, one more request is served.
            Scenario { abandon: 0.0, ..self }.request(&pool);
            pool.hooks.join();
        }
        self.check_end(&pool);
    }

    fn check_end(self, pool: &Shared) {
        pool.read(|pool| {
            let totals = pool.totals();
            assert_eq!((totals.open, totals.connecting, totals.waiting), (0, 0, 0), "{totals:?}");
            assert_eq!(totals.opened, totals.closed);
            assert_eq!(pool.origins().count(), 0, "an origin with nothing left is forgotten");
            assert_eq!(pool.next_deadline(), None);
        });
        assert_eq!(pool.hooks.open_now(), 0);
        assert_eq!(pool.hooks.drained(), self.close == Close::Amid);
    }

    fn request(self, pool: &Arc<Shared>) {
        let now = pool.hooks.now();
        match pool.acquire(now, |pool| pool.insert("origin")) {
            Acquired::Lease(lease) => self.exchange(lease),
            Acquired::Open(permit, waiter) => {
                self.dial(pool, permit);
                self.wait(pool, waiter);
            }
            Acquired::Wait(waiter) => self.wait(pool, waiter),
            Acquired::Refused(reason) => self.refused(&reason.to_string()),
        }
    }

    fn wait(self, pool: &Arc<Shared>, mut waiter: Waiter) {
        if chance(self.abandon) {
            let mut cx = Context::from_waker(Waker::noop());
            if let Poll::Ready(granted) = waiter.poll(&mut cx) {
                self.granted(pool, granted);
            }
            thread::yield_now();
            return;
        }
        loop {
            let granted = shuttle::future::block_on(std::future::poll_fn(|cx| waiter.poll(cx)));
            if self.granted(pool, granted) {
                return;
            }
        }
    }

    /// Whether the wait is over.
    fn granted(
        self,
        pool: &Arc<Shared>,
        granted: Granted<Key, Connection, &'static str, World>,
    ) -> bool {
        match granted {
            Granted::Open(permit) => {
                self.dial(pool, permit);
                return false;
            }
            Granted::Lease(lease) => self.exchange(lease),
            Granted::Failed(error) => assert_eq!(error, "refused"),
            Granted::Refused(reason) => self.refused(&reason.to_string()),
        }
        true
    }

    fn refused(self, reason: &str) {
        assert!(self.close == Close::Amid, "refused by an open pool: {reason}");
    }

    /// A dial has a thread of its own, as in the agent: it goes on when its request gives up.
    fn dial(self, pool: &Arc<Shared>, permit: Permit) {
        let shared = pool.clone();
        pool.hooks.spawn(move || {
            thread::yield_now();
            if chance(self.abandon) {
                return drop(permit);
            }
            if chance(self.abandon) {
                let jitter = shuttle::rand::thread_rng().gen_range(0.0..1.0);
                return permit.failed(Failed { error: "refused", backs_off: true, jitter });
            }
            let opened = Opened { slots: 1, jitter: 0.5, elapsed: Duration::ZERO };
            let connection = shared.hooks.open();
            assert!(shared.hooks.open_now() <= self.max_connections, "above the limit");
            permit.connected(connection, opened, |_| ());
        });
    }

    fn exchange(self, lease: Lease) {
        let world = &lease.pooled().clone().hooks;
        let id = lease.connection.0.expect("a lease has its connection");
        world.take(id);
        thread::yield_now();
        world.give(id);
        match shuttle::rand::thread_rng().gen_range(0..6) {
            0 => drop(lease),
            1 => lease.release(Verdict::Close(CloseReason::PeerAsked)),
            _ => lease.release(Verdict::Keep(Keep::default())),
        }
    }
}

fn chance(likely: f64) -> bool {
    shuttle::rand::thread_rng().gen_bool(likely)
}
