//! Places under the limits: kept until a connection is closed, and given on when a dial does not
//! end.

use std::task::Poll;

use warmwire_pool::{
    Acquire, Actions, CloseReason, Grant, Keep, Limits, Opened, Pool, RefuseReason, Verdict,
};

use crate::support::{MILLISECOND, SECOND, Sim};

type TestPool = Pool<&'static str, (), ()>;

const OPENED: Opened = Opened { slots: 1, jitter: 0.0, elapsed: MILLISECOND };

#[test]
fn f005_the_place_of_a_connection_is_free_only_when_it_is_closed() {
    let limits =
        Limits { max_connections: 1, max_requests_per_connection: Some(1), ..Limits::default() };
    let (mut pool, now) = (TestPool::new(limits, usize::MAX), std::time::Instant::now());
    let mut actions = Actions::new();
    let origin = pool.insert("a");
    let permit = pool.open(origin, now).expect("there is room");
    let lease = pool.connected_exclusive(permit, (), OPENED, now, &mut actions).expect("a lease");
    let Acquire::Wait(waiter) = pool.acquire(origin, now, &mut actions) else { panic!("full") };
    pool.release(lease, Verdict::Keep(Keep::default()), now, &mut actions);
    let poll = |pool: &mut TestPool| {
        pool.poll_waiter(waiter, std::task::Waker::noop(), now, &mut Actions::new())
    };
    assert!(poll(&mut pool).is_pending(), "the server still counts the first");
    assert_eq!((pool.totals().open, pool.totals().closing), (0, 1));
    let refused = pool.open(origin, now).expect_err("its place is taken");
    assert_eq!(refused, RefuseReason::NoRoom { connections: 1, limit: 1 });
    let closed = actions.closed.pop().expect("a connection to close");
    assert_eq!(closed.reason, CloseReason::MaxRequests);
    pool.close_finished(closed.closing.expect("its place"), now, &mut actions);
    assert!(matches!(poll(&mut pool), Poll::Ready(Grant::Open(_))));
    assert_eq!(pool.totals().closing, 0);
}

#[test]
fn f005_an_origin_whose_connection_makes_room_for_another_still_has_it_until_it_is_closed() {
    let limits = Limits { max_connections: 1, ..Limits::default() };
    let (mut pool, now) = (TestPool::new(limits, 2), std::time::Instant::now());
    let mut actions = Actions::new();
    let [a, b, c] = ["a", "b", "c"].map(|key| pool.insert(key));
    for origin in [a, b] {
        let permit = pool.open(origin, now).expect("there is room");
        pool.connected(permit, (), OPENED, now, &mut actions);
    }
    // The dial of `c` begins when its caller has closed the connection of `a`.
    let Acquire::Open(permit, _waiter) = pool.acquire(c, now, &mut actions) else { panic!() };
    // Another thread is quicker, and has room under the limit over all.
    pool.evict(CloseReason::Evicted, now, &mut actions, |key, _| *key == "b");
    let evicted = actions.closed.pop().and_then(|closed| closed.closing).expect("its place");
    pool.close_finished(evicted, now, &mut actions);
    let refused = pool.open(a, now).expect_err("the server of `a` still counts one");
    assert_eq!(refused, RefuseReason::NoRoom { connections: 1, limit: 1 });
    let left = actions.closed.pop().and_then(|closed| closed.closing).expect("its origin's room");
    pool.close_finished(left, now, &mut actions);
    let a = pool.insert("a");
    let permits = (pool.open(a, now).expect("now there is room"), permit);
    assert_eq!(pool.totals().connecting, 2);
    pool.connect_abandoned(permits.0, now, &mut actions);
    pool.connect_abandoned(permits.1, now, &mut actions);
}

#[test]
fn f005_a_request_that_finds_only_expired_connections_has_their_place_at_once() {
    let mut sim = Sim::new(Limits { max_connections: 1, ..Limits::default() });
    sim.idle("a", 1);
    sim.pass(4 * SECOND);
    let (permit, waiter) = sim.open("a");
    assert_eq!(sim.closed().len(), 1);
    assert_eq!(sim.counters("a").queued, 0);
    sim.connect(permit);
    let _lease = sim.lease(waiter);
}

#[test]
fn a_dial_that_does_not_end_gives_its_place_to_the_next_request() {
    let mut sim = Sim::new(Limits { max_connections: 1, ..Limits::default() });
    let (lost, first) = sim.open("a");
    sim.pool.bound_dial(&lost, sim.now + 10 * SECOND);
    let second = sim.wait("a");
    sim.pass(10 * SECOND);
    assert_eq!(sim.pool.next_deadline(), Some(sim.now));
    sim.expire();
    let permit = sim.permit(second);
    assert_eq!((sim.counters("a").connecting, sim.counters("a").overdue), (1, 1));
    // The first one's task runs after all: it is at its place again.
    assert!(sim.waits(first));
    let fresh = sim.connect(permit);
    let lease = sim.lease(first);
    assert_eq!(lease.connection(), fresh);
    // So does its dial, and there is no room for what it brings.
    let late = sim.connect(lost);
    assert_eq!(sim.closed(), [(late, CloseReason::Overdue)]);
    assert_eq!((sim.counters("a").open, sim.counters("a").overdue), (1, 0));
    assert_eq!(sim.counters("a").max_open, 1);
    sim.keep(lease);
    let _lease = sim.lease(second);
}

#[test]
fn a_dial_that_ends_late_is_kept_where_there_is_room() {
    let mut sim = Sim::new(Limits { max_connections: 2, ..Limits::default() });
    let (late, waiter) = sim.open("a");
    sim.pool.bound_dial(&late, sim.now + SECOND);
    sim.pass(SECOND);
    sim.expire();
    let id = sim.connect(late);
    assert_eq!(sim.lease(waiter).connection(), id);
}

#[test]
fn a_dial_that_fails_late_tells_nothing_new() {
    let mut sim = Sim::new(Limits::default());
    let (late, waiter) = sim.open("a");
    sim.pool.bound_dial(&late, sim.now + SECOND);
    sim.pass(SECOND);
    sim.expire();
    sim.refuse(late);
    let permit = sim.permit(waiter);
    sim.connect(permit);
    let _lease = sim.lease(waiter);
    assert_eq!(sim.counters("a").open_failed, 1);
}

#[test]
fn a_permit_that_nobody_collects_goes_on() {
    let mut sim = Sim::new(Limits { max_connections: 1, ..Limits::default() });
    let busy = sim.fresh("a");
    let (asleep, next) = (sim.wait("a"), sim.wait("a"));
    sim.release(busy, Verdict::Close(CloseReason::Failed));
    assert!(sim.waits(next), "the permit is the first one's");
    sim.pass(SECOND);
    sim.expire();
    let permit = sim.permit(next);
    sim.connect(permit);
    let lease = sim.lease(next);
    assert!(sim.waits(asleep));
    sim.keep(lease);
    let _lease = sim.lease(asleep);
}

#[test]
fn a_closed_pool_is_drained_though_a_dial_does_not_end() {
    let mut sim = Sim::new(Limits::default());
    let (late, waiter) = sim.open("a");
    sim.pool.bound_dial(&late, sim.now + SECOND);
    sim.pass(SECOND);
    sim.expire();
    sim.pool.close(sim.now, &mut sim.actions);
    assert!(sim.pool.is_drained());
    let refused = sim.poll(waiter);
    assert!(matches!(refused, Poll::Ready(Grant::Refused(RefuseReason::Closed))));
    sim.connect(late);
    assert_eq!(sim.closed().len(), 1);
    assert_eq!(sim.known("a"), None);
}

#[test]
fn f051_a_request_that_prefers_to_wait_dials_only_when_its_time_is_over() {
    let limits = Limits { prefer_wait: 50 * MILLISECOND, ..Limits::default() };
    let mut sim = Sim::new(limits);
    let busy = sim.fresh("a");
    let first = sim.wait("a");
    sim.pass(20 * MILLISECOND);
    sim.keep(busy);
    let busy = sim.lease(first);
    assert_eq!(sim.counters("a").opened, 1, "no dial was made");
    let second = sim.wait("a");
    assert_eq!(sim.pool.next_deadline(), Some(sim.now + 50 * MILLISECOND));
    sim.pass(50 * MILLISECOND);
    sim.expire();
    let _permit = sim.permit(second);
    // Where nothing is open, nothing can be freed.
    let _dial = sim.open("b");
    let third = sim.wait("a");
    sim.release(busy, Verdict::Close(CloseReason::Failed));
    assert!(matches!(sim.poll(third), Poll::Ready(Grant::Open(_))));
}

#[test]
fn f051_a_request_that_may_not_wait_dials_at_once() {
    let limits =
        Limits { prefer_wait: SECOND, max_waiting: 1, max_connections: 2, ..Limits::default() };
    let mut sim = Sim::new(limits);
    let _busy = sim.fresh("a");
    let first = sim.wait("a");
    let (permit, second) = sim.open("a");
    sim.connect(permit);
    let _lease = sim.lease(first);
    assert!(sim.waits(second));
}
