//! A dial past the queue, for a request whose reused connection was dead.

use std::time::{Duration, Instant};

use warmwire_pool::{
    Acquire, Actions, CloseReason, Keep, Lease, Limits, Opened, OriginId, Pool, RefuseReason,
    Verdict,
};

type TestPool = Pool<&'static str, (), ()>;
type TestActions = Actions<&'static str, ()>;

const OPENED: Opened = Opened { slots: 1, jitter: 0.0, elapsed: Duration::ZERO };

fn pool(max_connections: usize, max_total: usize) -> TestPool {
    Pool::new(Limits { max_connections, ..Limits::default() }, max_total)
}

/// Opens a connection by a dial past the queue.
fn fresh(pool: &mut TestPool, origin: OriginId, now: Instant, actions: &mut TestActions) -> Lease {
    let permit = pool.open_exclusive(origin, now, actions).expect("there is room");
    pool.connected_exclusive(permit, (), OPENED, now, actions).expect("the pool is open")
}

fn keep(pool: &mut TestPool, lease: Lease, now: Instant, actions: &mut TestActions) {
    pool.release(lease, Verdict::Keep(Keep::default()), now, actions);
}

#[test]
fn at_the_limit_the_idle_connection_makes_room_and_the_lease_is_fresh() {
    let (mut pool, now, mut actions) = (pool(1, 9), Instant::now(), Actions::new());
    let origin = pool.insert("a");
    let stale = fresh(&mut pool, origin, now, &mut actions);
    keep(&mut pool, stale, now, &mut actions);
    assert_eq!(pool.totals().idle, 1);
    let lease = fresh(&mut pool, origin, now, &mut actions);
    assert!(!lease.reused());
    assert_eq!(actions.closed.len(), 1);
    assert_eq!(actions.closed[0].reason, CloseReason::Evicted);
    assert!(actions.closed[0].closing.is_none(), "its place is the dial's");
    let totals = pool.totals();
    assert_eq!((totals.open, totals.active, totals.opened, totals.closed), (1, 1, 2, 1));
    keep(&mut pool, lease, now, &mut actions);
}

#[test]
fn there_is_no_room_while_every_connection_is_in_use_or_being_opened() {
    let (mut pool, now, mut actions) = (pool(2, 9), Instant::now(), Actions::new());
    let origin = pool.insert("a");
    let lease = fresh(&mut pool, origin, now, &mut actions);
    let permit = pool.open_exclusive(origin, now, &mut actions).expect("room for a second");
    let refused = pool.open_exclusive(origin, now, &mut actions).expect_err("two may be");
    assert_eq!(refused, RefuseReason::NoRoom { connections: 2, limit: 2 });
    assert!(actions.closed.is_empty(), "nothing in use is closed for it");
    pool.connect_abandoned(permit, now, &mut actions);
    assert_eq!(pool.totals().connecting, 0);
    keep(&mut pool, lease, now, &mut actions);
}

#[test]
fn for_the_total_limit_the_longest_idle_connection_of_any_origin_makes_room() {
    let (mut pool, now, mut actions) = (pool(9, 1), Instant::now(), Actions::new());
    let other = pool.insert("other");
    let lease = fresh(&mut pool, other, now, &mut actions);
    keep(&mut pool, lease, now, &mut actions);
    let origin = pool.insert("a");
    let lease = fresh(&mut pool, origin, now, &mut actions);
    let closed = actions.closed.pop().expect("one makes room");
    assert_eq!(closed.reason, CloseReason::MaxTotal);
    pool.close_finished(closed.closing.expect("its own origin's room"), now, &mut actions);
    assert_eq!(pool.find("other"), None, "nothing is left of it");
    keep(&mut pool, lease, now, &mut actions);
}

#[test]
fn a_waiter_keeps_its_place_and_is_not_given_the_lease() {
    let (mut pool, now, mut actions) = (pool(2, 9), Instant::now(), Actions::new());
    let origin = pool.insert("a");
    let first = fresh(&mut pool, origin, now, &mut actions);
    let permit = pool.open_exclusive(origin, now, &mut actions).expect("room for a second");
    let Acquire::Wait(waiter) = pool.acquire(origin, now, &mut actions) else {
        panic!("no room is left")
    };
    let second = pool.connected_exclusive(permit, (), OPENED, now, &mut actions);
    let second = second.expect("the pool is open");
    assert_eq!(pool.totals().leased, 2, "both are out, and neither with the waiter");
    keep(&mut pool, first, now, &mut actions);
    assert_eq!(pool.totals().leased, 2, "what comes back goes to the waiter");
    pool.cancel(waiter, now, &mut actions);
    keep(&mut pool, second, now, &mut actions);
    assert_eq!((pool.totals().idle, pool.totals().leased), (2, 0));
}

#[test]
fn in_a_closed_pool_what_was_dialled_is_closed_at_once() {
    let (mut pool, now, mut actions) = (pool(1, 9), Instant::now(), Actions::new());
    let origin = pool.insert("a");
    let permit = pool.open_exclusive(origin, now, &mut actions).expect("there is room");
    pool.close(now, &mut actions);
    assert!(pool.connected_exclusive(permit, (), OPENED, now, &mut actions).is_none());
    let closed = actions.closed.pop().expect("the connection");
    assert_eq!(closed.reason, CloseReason::Shutdown);
    assert!(!pool.is_drained(), "it is not closed yet");
    pool.close_finished(closed.closing.expect("its place"), now, &mut actions);
    assert!(pool.is_drained());
}
