//! Shows that no call of the pool depends on how much is in it.
//!
//! `cargo bench -p warmwire-pool`

use std::collections::VecDeque;
use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use warmwire_pool::{
    Acquire, Actions, Keep, Lease, Limits, Opened, OriginId, Pool, Verdict, WaiterId,
};

criterion_group!(benches, reuse, find, cancel, hand_over, expire);
criterion_main!(benches);

const OPENED: Opened = Opened { slots: 1, jitter: 0.5, elapsed: Duration::from_millis(1) };
const KEEP: Verdict = Verdict::Keep(Keep { idle_timeout: None, requests_left: None });

struct Driver {
    pool: Pool<String, (), ()>,
    actions: Actions<String, ()>,
    now: Instant,
}

impl Driver {
    fn new(max_connections: usize) -> Self {
        let limits = Limits { max_connections, max_idle: usize::MAX, ..Limits::default() };
        let pool = Pool::new(limits, usize::MAX);
        Self { pool, actions: Actions::new(), now: Instant::now() }
    }

    /// Adds idle connections to origins that take turns.
    fn warm(&mut self, origins: usize, connections: usize) {
        for number in 0..connections {
            let origin = self.pool.insert(format!("host-{}", number % origins));
            let permit = self.pool.open(origin, self.now).expect("there is room");
            self.pool.connected(permit, (), OPENED, self.now, &mut self.actions);
        }
    }

    fn origins(&self) -> Vec<OriginId> {
        self.pool.origins().map(|(id, ..)| id).collect()
    }

    fn reuse(&mut self, origin: OriginId) -> Lease {
        match self.pool.acquire(origin, self.now, &mut self.actions) {
            Acquire::Reuse(lease) => lease,
            other => panic!("{other:?}"),
        }
    }

    fn wait(&mut self, origin: OriginId) -> WaiterId {
        match self.pool.acquire(origin, self.now, &mut self.actions) {
            Acquire::Wait(waiter) => waiter,
            other => panic!("{other:?}"),
        }
    }

    fn release(&mut self, lease: Lease) {
        self.pool.release(lease, KEEP, self.now, &mut self.actions);
    }
}

fn reuse(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("acquire_and_release");
    for (origins, connections) in [(1, 1), (100, 100), (10_000, 10_000), (1, 1_000), (1, 100_000)] {
        let mut driver = Driver::new(usize::MAX);
        driver.warm(origins, connections);
        let ids = driver.origins();
        let mut turn = 0;
        let name = format!("{origins} origins, {connections} idle");
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                turn = (turn + 1) % ids.len();
                driver.now += Duration::from_nanos(1);
                let lease = driver.reuse(ids[turn]);
                driver.release(black_box(lease));
            });
        });
    }
}

fn find(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("find");
    for origins in [1, 100, 10_000] {
        let mut driver = Driver::new(usize::MAX);
        driver.warm(origins, origins);
        group.bench_function(BenchmarkId::from_parameter(origins), |bencher| {
            bencher.iter(|| driver.pool.find(black_box("host-0")));
        });
    }
}

/// One request that joins the queue and one in its middle that leaves.
fn cancel(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("wait_and_cancel_in_the_middle");
    for waiting in [1, 100, 10_000] {
        let mut driver = Driver::new(1);
        driver.warm(1, 1);
        let origin = driver.origins()[0];
        let _held = driver.reuse(origin);
        for _ in 0..waiting / 2 {
            driver.wait(origin);
        }
        let mut later: VecDeque<_> = (waiting / 2..waiting).map(|_| driver.wait(origin)).collect();
        group.bench_function(BenchmarkId::from_parameter(waiting), |bencher| {
            bencher.iter(|| {
                later.push_back(driver.wait(origin));
                let middle = later.pop_front().expect("one was just added");
                driver.pool.cancel(middle, driver.now, &mut driver.actions);
            });
        });
    }
}

/// A lease that comes back, goes to the first of the queue, and that one joins the queue again.
fn hand_over(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("release_to_a_waiter");
    for waiting in [1, 100, 10_000] {
        let mut driver = Driver::new(1);
        driver.warm(1, 1);
        let origin = driver.origins()[0];
        let mut lease = Some(driver.reuse(origin));
        let mut queue: VecDeque<_> = (0..waiting).map(|_| driver.wait(origin)).collect();
        group.bench_function(BenchmarkId::from_parameter(waiting), |bencher| {
            bencher.iter(|| {
                driver.release(lease.take().expect("one is always lent"));
                let first = queue.pop_front().expect("the queue is never empty");
                let (now, waker) = (driver.now, std::task::Waker::noop());
                lease = match driver.pool.poll_waiter(first, waker, now, &mut driver.actions) {
                    std::task::Poll::Ready(warmwire_pool::Grant::Lease(lease)) => Some(lease),
                    other => panic!("{other:?}"),
                };
                queue.push_back(driver.wait(origin));
            });
        });
    }
}

/// The timer fires early, by what was due before a reuse: what a driver pays for laziness.
fn expire(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("reuse_with_a_timer");
    for connections in [1, 1_000, 100_000] {
        let mut driver = Driver::new(usize::MAX);
        driver.warm(1, connections);
        let origin = driver.origins()[0];
        group.bench_function(BenchmarkId::from_parameter(connections), |bencher| {
            bencher.iter(|| {
                driver.now += Duration::from_nanos(10);
                let lease = driver.reuse(origin);
                driver.release(lease);
                if driver.pool.next_deadline().is_some_and(|deadline| deadline <= driver.now) {
                    driver.pool.expire(driver.now, &mut driver.actions);
                }
            });
        });
    }
}
