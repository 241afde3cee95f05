//! Random sequences of every input, against the reference, with the laws of the pool checked after
//! every step.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Poll, Wake, Waker};
use std::time::{Duration, Instant};

use warmwire_pool::{
    Acquire, Actions, Backoff, CloseReason, Closing, ConnectionId, Failed, Grant, Keep, Lease,
    Limits, Opened, Permit, Pool, RefuseReason, Scheduling, Verdict, WaiterId,
};

use crate::reference::{self, Answer, Polled, Reference, State};

const EPISODES: u64 = 500;
const STEPS: u64 = 2_000;

/// A million steps in total: no request is stuck, no permit is lost, and no counter drifts, whatever
/// is cancelled, fails or closes when. `WARMWIRE_SEED` adds one sequence more.
#[test]
fn f059_f068_random_sequences_agree_with_the_reference() {
    let extra = std::env::var("WARMWIRE_SEED").ok();
    let extra = extra.map(|seed| seed.parse().expect("WARMWIRE_SEED is a number"));
    for seed in extra.into_iter().chain(1..=EPISODES) {
        let outcome = std::panic::catch_unwind(|| {
            let mut run = Run::new(seed);
            for _ in 0..STEPS {
                run.step();
            }
            run.drain();
        });
        assert!(outcome.is_ok(), "repeat with WARMWIRE_SEED={seed}");
    }
}

/// Xorshift: the sequences are the same on every machine.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }

    fn take<T>(&mut self, from: &mut Vec<T>) -> Option<T> {
        (!from.is_empty()).then(|| from.swap_remove(self.below(from.len())))
    }
}

struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

struct Waiting {
    id: WaiterId,
    number: u64,
    /// Its waker, once it was polled and had to wait.
    asleep: Option<Arc<Flag>>,
}

impl Waiting {
    fn is_woken(&self) -> bool {
        self.asleep.as_ref().is_none_or(|flag| flag.0.load(Ordering::Relaxed))
    }
}

struct Dialling {
    permit: Permit,
    dial: u64,
    /// Whether no waiter waits for it.
    ahead: bool,
}

struct Run {
    random: Random,
    pool: Pool<usize, u64, u64>,
    reference: Reference,
    actions: Actions<usize, u64>,
    now: Instant,
    /// Whether few requests begin at present: limits matter in a rush, idle connections in a calm.
    calm: bool,
    /// Whether most dials fail at present.
    host_is_down: bool,
    permits: Vec<Dialling>,
    /// Connections that are closed but not said to be.
    closing: Vec<(Closing, u64)>,
    leases: Vec<(Lease, reference::Lease)>,
    waiters: Vec<Waiting>,
    /// Of every connection so far, so that stale ids are used too.
    ids: Vec<ConnectionId>,
}

impl Run {
    fn new(seed: u64) -> Self {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let origins = random.below(4) + 1;
        let limits: Vec<_> = (0..origins).map(|_| random_limits(&mut random)).collect();
        let max_total = random.of(&[1, 2, 3, 5, 8, 8, usize::MAX]);
        Self {
            random,
            pool: Pool::new(Limits::default(), max_total),
            reference: Reference::new(limits, max_total),
            actions: Actions::new(),
            now: Instant::now(),
            calm: false,
            host_is_down: false,
            permits: Vec::new(),
            closing: Vec::new(),
            leases: Vec::new(),
            waiters: Vec::new(),
            ids: Vec::new(),
        }
    }

    fn step(&mut self) {
        if self.random.below(40) == 0 {
            self.calm = !self.calm;
        }
        if self.random.below(100) == 0 {
            self.host_is_down = self.random.below(4) == 0;
        }
        match self.random.below(110) {
            100..103 => self.open_exclusive(),
            103..105 => self.bound_dial(),
            105..107 => self.refill(),
            107..110 => self.finish_close(),
            0..18 if self.calm => self.release(),
            18..24 if self.calm => self.finish_dial(),
            0..26 => self.acquire(),
            26..44 => self.poll(),
            44..46 => self.cancel(),
            46..60 => self.finish_dial(),
            60..62 => self.open(),
            62..84 => self.release(),
            84 => self.closed_by_peer(),
            85..88 => self.look(),
            88..90 => self.set_slots(),
            90..98 => self.pass_time(),
            98 => self.retire_many(),
            _ if self.random.below(400) == 0 => {
                self.pool.close(self.now, &mut self.actions);
                self.reference.close(self.now);
            }
            _ => self.expire(),
        }
        self.check();
    }

    fn acquire(&mut self) {
        let key = self.random.below(self.reference.limits.len());
        let origin = self.pool.insert_with_limits(key, self.reference.limits[key]);
        let answer = self.pool.acquire(origin, self.now, &mut self.actions);
        let expected = self.reference.acquire(key, self.now);
        match (answer, expected) {
            (Acquire::Reuse(lease), Answer::Reuse(expected)) => self.got_lease(lease, expected),
            (Acquire::Open(permit, id), Answer::Open { dial, waiter: number }) => {
                self.permits.push(Dialling { permit, dial, ahead: false });
                self.waiters.push(Waiting { id, number, asleep: None });
            }
            (Acquire::Wait(id), Answer::Wait(number)) => {
                self.waiters.push(Waiting { id, number, asleep: None });
            }
            (Acquire::Refuse(reason), Answer::Refuse(expected)) => assert_eq!(reason, expected),
            (answer, expected) => panic!("{answer:?}, expected {expected:?}"),
        }
    }

    fn got_lease(&mut self, lease: Lease, expected: reference::Lease) {
        assert_eq!(lease.connection().number(), expected.connection);
        assert_eq!(lease.reused(), expected.reused);
        assert_eq!(lease.requests(), expected.requests);
        assert_eq!(lease.idle_for(), expected.idle_for);
        let nonce = self.pool.connection_mut(&lease).copied();
        assert_eq!(nonce, Some(expected.connection), "the lease leads to its connection");
        self.leases.push((lease, expected));
    }

    fn poll(&mut self) {
        if self.waiters.is_empty() {
            return;
        }
        let mut at = self.random.below(self.waiters.len());
        if self.random.below(4) > 0 {
            at = self.waiters.iter().position(Waiting::is_woken).unwrap_or(at);
        }
        let flag = Arc::new(Flag(AtomicBool::new(false)));
        let waker = Waker::from(flag.clone());
        let waiting = &mut self.waiters[at];
        let polled = self.pool.poll_waiter(waiting.id, &waker, self.now, &mut self.actions);
        let expected = self.reference.poll(waiting.number, self.now);
        waiting.asleep = None;
        match (polled, expected) {
            (Poll::Pending, Polled::Pending) => waiting.asleep = Some(flag),
            (Poll::Ready(Grant::Open(permit)), Polled::Open(dial)) => {
                self.permits.push(Dialling { permit, dial, ahead: false });
            }
            (Poll::Ready(grant), Polled::Ended(expected)) => {
                let id = self.waiters.swap_remove(at).id;
                self.ended(id, grant, expected);
            }
            (polled, expected) => panic!("{polled:?}, expected {expected:?}"),
        }
    }

    fn ended(&mut self, id: WaiterId, grant: Grant<u64>, expected: State) {
        match (grant, expected) {
            (Grant::Lease(lease), State::Leased(expected)) => {
                let connection = self.reference.find(lease.connection().number());
                assert!(
                    !lease.reused()
                        || connection.leased > 1
                        || self.reference.is_closed
                        || connection.expired(self.now).is_none(),
                    "an expired connection is given out"
                );
                self.got_lease(lease, expected);
            }
            (Grant::Failed(dial), State::Failed(expected)) => assert_eq!(dial, expected),
            (Grant::Refused(RefuseReason::Closed), State::Refused) => {}
            (grant, expected) => panic!("{grant:?}, expected {expected:?}"),
        }
        let again = self.pool.poll_waiter(id, Waker::noop(), self.now, &mut self.actions);
        assert!(matches!(again, Poll::Ready(Grant::Refused(RefuseReason::UnknownWaiter))));
    }

    fn cancel(&mut self) {
        if let Some(Waiting { id, number, .. }) = self.random.take(&mut self.waiters) {
            self.pool.cancel(id, self.now, &mut self.actions);
            self.reference.cancel(number, self.now);
            self.pool.cancel(id, self.now, &mut self.actions);
        }
    }

    fn finish_dial(&mut self) {
        let Some(Dialling { permit, dial, ahead }) = self.random.take(&mut self.permits) else {
            return;
        };
        let jitter = self.random.of(&[0.0, 0.5, 1.0]);
        let slots = self.random.of(&[1, 1, 1, 0, 2, 5]);
        let opened = Opened { slots, jitter, elapsed: Duration::from_millis(10) };
        match self.random.below(if self.host_is_down { 4 } else { 16 }) {
            0 | 1 => {
                let backs_off = self.random.below(4) > 0;
                let failed = Failed { error: dial, backs_off, jitter };
                self.pool.connect_failed(permit, failed, self.now, &mut self.actions);
                self.reference.connect_failed(dial, backs_off, jitter, self.now);
            }
            2 => {
                self.pool.connect_abandoned(permit, self.now, &mut self.actions);
                self.reference.connect_abandoned(dial, self.now);
            }
            _ if ahead && self.random.below(2) == 0 => {
                let expected = self.reference.connected_exclusive(dial, slots, jitter, self.now);
                let nonce = self.reference.last_connection();
                let (now, actions) = (self.now, &mut self.actions);
                let lease = self.pool.connected_exclusive(permit, nonce, opened, now, actions);
                match (lease, expected) {
                    (Some(lease), Some(expected)) => {
                        self.ids.push(lease.connection());
                        self.got_lease(lease, expected);
                    }
                    (None, None) => {}
                    (lease, expected) => panic!("{lease:?}, expected {expected:?}"),
                }
            }
            _ => {
                let expected = self.reference.connected(dial, slots, jitter, self.now);
                let id = self.pool.connected(permit, expected, opened, self.now, &mut self.actions);
                let id = id.expect("the permit is of this pool");
                assert_eq!(id.number(), expected);
                self.ids.push(id);
            }
        }
    }

    fn open(&mut self) {
        let key = self.random.below(self.reference.limits.len());
        let origin = self.pool.insert_with_limits(key, self.reference.limits[key]);
        let opened = self.pool.open(origin, self.now);
        let expected = self.reference.open(key);
        self.opened(opened, expected);
    }

    fn open_exclusive(&mut self) {
        let key = self.random.below(self.reference.limits.len());
        let origin = self.pool.insert_with_limits(key, self.reference.limits[key]);
        let opened = self.pool.open_exclusive(origin, self.now, &mut self.actions);
        let expected = self.reference.open_exclusive(key, self.now);
        self.opened(opened, expected);
    }

    fn opened(&mut self, opened: Result<Permit, RefuseReason>, expected: Result<u64, ()>) {
        match (opened, expected) {
            (Ok(permit), Ok(dial)) => self.permits.push(Dialling { permit, dial, ahead: true }),
            (Err(_), Err(())) => {}
            (opened, expected) => panic!("{opened:?}, expected {expected:?}"),
        }
    }

    fn bound_dial(&mut self) {
        if self.permits.is_empty() {
            return;
        }
        let deadline = self.now + millis(self.random.of(&[0, 1, 20, 5000]));
        let dialling = &self.permits[self.random.below(self.permits.len())];
        self.pool.bound_dial(&dialling.permit, deadline);
        self.reference.bound_dial(dialling.dial, deadline);
    }

    fn refill(&mut self) {
        let may = self.reference.may_refill();
        while let Some(permit) = self.pool.refill(self.now) {
            let key = *self.pool.key(permit.origin()).expect("a known origin");
            assert!(may && self.reference.lacks(key), "a refill that nobody needs");
            let dial = self.reference.refill(key);
            self.permits.push(Dialling { permit, dial, ahead: true });
        }
    }

    fn finish_close(&mut self) {
        if let Some((closing, number)) = self.random.take(&mut self.closing) {
            self.pool.close_finished(closing, self.now, &mut self.actions);
            self.reference.close_finished(number, self.now);
        }
    }

    fn release(&mut self) {
        let Some((lease, expected)) = self.random.take(&mut self.leases) else { return };
        let verdict = match self.random.below(20) {
            0 => Verdict::Close(CloseReason::Failed),
            1 => Verdict::Unused(CloseReason::ClosedByPeer),
            2 => Verdict::Untouched,
            3 => Verdict::Keep(Keep {
                idle_timeout: self.random.of(&[None, Some(0), Some(5), Some(2000)]).map(millis),
                requests_left: self.random.of(&[None, Some(0), Some(1), Some(3)]),
            }),
            _ => Verdict::Keep(Keep::default()),
        };
        self.pool.release(lease, verdict, self.now, &mut self.actions);
        self.reference.release(&expected, verdict, self.now);
    }

    fn closed_by_peer(&mut self) {
        if let Some(id) = self.some_id() {
            let reason = self.random.of(&[CloseReason::ClosedByPeer, CloseReason::Reset]);
            self.pool.closed_by_peer(id, reason, self.now, &mut self.actions);
            self.reference.closed_by_peer(id.number(), reason, self.now);
        }
    }

    fn look(&mut self) {
        let Some(id) = self.some_id() else { return };
        let lease = self.pool.lease_idle(id, self.now);
        match (lease, self.reference.lease_idle(id.number(), self.now)) {
            (Some(lease), Some(expected)) => self.got_lease(lease, expected),
            (None, None) => {}
            (lease, expected) => panic!("{lease:?}, expected {expected:?}"),
        }
    }

    fn set_slots(&mut self) {
        if let Some(id) = self.some_id() {
            let slots = self.random.of(&[0, 1, 2, 7]);
            self.pool.set_slots(id, slots, self.now, &mut self.actions);
            self.reference.set_slots(id.number(), slots, self.now);
        }
    }

    fn pass_time(&mut self) {
        self.now += millis(self.random.of(&[0, 0, 0, 1, 1, 5, 20, 1000]));
        if self.random.below(3) > 0 {
            self.expire();
        }
    }

    fn expire(&mut self) {
        self.pool.expire(self.now, &mut self.actions);
        self.reference.expire(self.now);
    }

    fn retire_many(&mut self) {
        let (pool, now, actions) = (&mut self.pool, self.now, &mut self.actions);
        let (count, expected) = if self.random.below(2) == 0 {
            let expected =
                self.reference.retire_all(CloseReason::CloseIdle, self.now, |connection| {
                    connection.leased == 0
                });
            (pool.close_idle(now, actions), expected)
        } else {
            let origin = self.random.below(self.reference.limits.len());
            let reason = CloseReason::Evicted;
            let count = pool.evict(reason, now, actions, |&key, view| {
                key == origin && !view.id.number().is_multiple_of(3)
            });
            let chosen = |connection: &reference::Connection| {
                connection.key == origin && !connection.number.is_multiple_of(3)
            };
            (count, self.reference.retire_all(reason, now, chosen))
        };
        assert_eq!(count, expected);
    }

    /// Mostly of a connection that is open.
    fn some_id(&mut self) -> Option<ConnectionId> {
        if self.random.below(4) > 0 {
            self.ids
                .retain(|id| self.reference.connections.iter().any(|c| c.number == id.number()));
        }
        (!self.ids.is_empty()).then(|| self.random.of(&self.ids))
    }

    /// Whatever happened, an end without anything left is possible.
    fn drain(&mut self) {
        while !self.permits.is_empty()
            || !self.leases.is_empty()
            || !self.waiters.is_empty()
            || !self.closing.is_empty()
        {
            let inputs = [Self::cancel, Self::finish_dial, Self::release, Self::finish_close];
            for input in inputs {
                input(self);
                self.check();
            }
        }
        self.pool.close_idle(self.now, &mut self.actions);
        self.reference.retire_all(CloseReason::CloseIdle, self.now, |_| true);
        self.check();
        // Back-offs pass, and only the end of the pool ends the wish for idle connections.
        self.now += Duration::from_secs(60);
        self.expire();
        self.check();
        if self.reference.limits.iter().any(|limits| limits.min_idle > 0) {
            self.pool.close(self.now, &mut self.actions);
            self.reference.close(self.now);
            self.check();
        }
        while !self.closing.is_empty() {
            self.finish_close();
            self.check();
        }
        let totals = self.pool.totals();
        assert_eq!((totals.open, totals.connecting, totals.waiting, totals.leased), (0, 0, 0, 0));
        assert_eq!(self.pool.origins().count(), 0, "an origin with nothing left is forgotten");
        assert_eq!(self.pool.next_deadline(), None, "an empty pool has no timer");
    }

    fn check(&mut self) {
        self.reference.finish_step();
        self.check_actions();
        self.check_counters();
        self.check_connections();
        self.check_waiters();
        self.check_limits();
        self.check_deadline();
    }

    fn check_actions(&mut self) {
        self.actions.wake_all();
        let mut closed = Vec::new();
        for gone in self.actions.closed.drain(..) {
            let number = gone.id.number();
            assert_eq!(gone.connection, number);
            let has_place = gone.closing.is_some();
            closed.push(reference::Closed {
                number,
                key: gone.key,
                reason: gone.reason,
                has_place,
            });
            self.closing.extend(gone.closing.map(|closing| (closing, number)));
        }
        let mut expected = std::mem::take(&mut self.reference.closed);
        closed.sort_unstable();
        expected.sort_unstable();
        assert_eq!(closed, expected);
    }

    fn check_counters(&self) {
        assert_eq!(self.pool.totals(), &self.reference.totals);
        for (key, origin) in self.reference.origins.iter().enumerate() {
            let found = self.pool.find(&key).and_then(|id| self.pool.counters(id));
            assert_eq!(found, origin.known.then_some(&origin.counters), "origin {key}");
        }
        let dials = self.reference.dials.iter().filter(|dial| !dial.overdue).count();
        let live = self.reference.connections.len() + dials + self.reference.leaving_in_total();
        assert_eq!(self.pool.is_drained(), self.reference.is_closed && live == 0);
        let mut open = 0;
        for counters in self.pool.origins().map(|(_, _, c)| c).chain([self.pool.totals()]) {
            assert_eq!(counters.opened, counters.closed + counters.open as u64);
            assert_eq!(counters.closed, counters.closed_by_reason.iter().sum::<u64>());
            assert_eq!(counters.open, counters.idle + counters.active);
            assert!(counters.reused <= counters.requests);
            open += counters.open;
        }
        assert_eq!(open, 2 * self.pool.totals().open, "the origins' sum is the total");
    }

    fn check_connections(&self) {
        let mut seen = BTreeSet::new();
        for (&key, view) in self.pool.connections() {
            let connection = self.reference.find(view.id.number());
            assert!(seen.insert(connection.number));
            assert_eq!(key, connection.key);
            assert_eq!(view.leased, connection.leased);
            assert_eq!(view.requests, connection.requests);
            assert_eq!(view.idle_since.is_some(), view.leased == 0, "idle or leased, never both");
            let uncollected = |waiter: &&reference::Waiter| matches!(&waiter.state, State::Leased(lease) if lease.connection == connection.number);
            let held = |(_, lease): &&(_, reference::Lease)| lease.connection == connection.number;
            let leases = self.leases.iter().filter(held).count()
                + self.reference.waiters.iter().filter(uncollected).count();
            assert_eq!(view.leased, leases, "each lease is held once");
        }
        assert_eq!(seen.len(), self.reference.connections.len());
    }

    fn check_waiters(&self) {
        assert_eq!(self.waiters.len(), self.reference.waiters.len());
        for waiting in &self.waiters {
            let state = self.reference.waiters.iter().find(|w| w.number == waiting.number);
            let state = &state.expect("a waiter lives until it is polled or cancelled").state;
            let offered =
                |dial: &reference::Dial| dial.waiter == Some(waiting.number) && !dial.collected;
            let has_news = *state != State::Queued || self.reference.dials.iter().any(offered);
            assert!(waiting.is_woken() || !has_news, "a waiter sleeps through its news");
        }
        for key in 0..self.reference.limits.len() {
            if self.reference.queue(key).is_empty() {
                continue;
            }
            let limits = &self.reference.limits[key];
            let free = |c: &&reference::Connection| c.key == key && c.may_lend(limits);
            assert!(
                !self.reference.connections.iter().any(|c| free(&c)),
                "stranded at a free slot"
            );
        }
        // With a connection on its way out, what is idle stays: the place will be free soon.
        let (idle, closing) = (self.pool.totals().idle, self.reference.leaving_in_total());
        let room = self.reference.has_total_room() || idle > 0 && closing == 0;
        assert!(self.reference.next_to_dial().is_none() || !room, "stranded while there is room");
    }

    fn check_limits(&self) {
        let totals = self.pool.totals();
        assert!(totals.open + totals.connecting + totals.closing <= self.reference.max_total);
        for (_, &key, counters) in self.pool.origins() {
            let limits = self.reference.limits[key];
            let taken = counters.open + counters.connecting + counters.closing;
            assert!(taken <= limits.max_connections);
            assert!(counters.idle <= limits.max_idle || self.reference.has_grace(key));
            assert!(self.reference.probes(key) <= 1, "a storm on an origin whose dials fail");
        }
    }

    fn check_deadline(&self) {
        let deadline = self.pool.next_deadline();
        let timers = self.reference.timers();
        let lacks = (0..self.reference.limits.len()).any(|key| self.reference.lacks(key));
        let looks = self.leases.iter().any(|(_, lease)| !lease.counted);
        // While a connection is looked at, it is not yet missing.
        let refill = (lacks && self.reference.may_refill() && !looks).then_some(self.now);
        for &due in timers.iter().chain(&self.reference.deadline()).chain(&refill) {
            assert!(deadline.is_some_and(|deadline| deadline <= due), "the timer is late");
        }
        let reason = self.pool.totals().idle > 0 || !timers.is_empty() || lacks;
        assert!(deadline.is_none() || reason, "a timer with nothing to do");
    }
}

fn random_limits(random: &mut Random) -> Limits {
    Limits {
        max_connections: random.of(&[0, 1, 1, 2, 2, 3, 3, 5, 5, 8, usize::MAX, usize::MAX]),
        max_idle: random.of(&[0, 1, 2, 3, 256, 256, 256]),
        surplus_grace: millis(random.of(&[0, 0, 1, 20, 100])),
        min_idle: random.of(&[0, 0, 0, 0, 1, 2, 4]),
        max_waiting: random.of(&[0, 1, 3, 10, usize::MAX]),
        idle_timeout: random.of(&[None, Some(0), Some(10), Some(50), Some(1000)]).map(millis),
        max_lifetime: random.of(&[None, None, None, Some(0), Some(50), Some(3000)]).map(millis),
        max_requests_per_connection: random.of(&[None, None, None, Some(0), Some(1), Some(9)]),
        scheduling: random.of(&[Scheduling::Lifo, Scheduling::Fifo]),
        expected_slots: random.of(&[1, 1, 0, 3]),
        prefer_wait: millis(random.of(&[0, 0, 0, 1, 20])),
        dial_backoff: random.of(&[
            Backoff::OFF,
            Backoff::default(),
            Backoff { initial: millis(1), max: millis(10) },
        ]),
    }
}

fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}
