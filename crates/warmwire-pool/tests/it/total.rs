//! The limit over all origins, and origins that come and go.

use warmwire_pool::{CloseReason, Limits, RefuseReason, Scheduling, Verdict};

use crate::support::{SECOND, Sim};

#[test]
fn the_longest_idle_connection_of_any_origin_makes_room() {
    let mut sim = Sim::with_total(Limits::default(), 3);
    let oldest = sim.idle("a", 1)[0];
    sim.idle("b", 1);
    sim.idle("c", 1);
    let (_permit, _waiter) = sim.open("d");
    assert_eq!(sim.closed(), [(oldest, CloseReason::MaxTotal)]);
    assert_eq!(sim.known("a"), None);
    assert_eq!(sim.pool.totals().open + sim.pool.totals().connecting, 3);
}

#[test]
fn origins_that_wait_for_total_room_are_served_in_order_of_arrival() {
    let mut sim = Sim::with_total(Limits::default(), 1);
    let busy = sim.fresh("a");
    let id = busy.connection();
    let waiting = [sim.wait("b"), sim.wait("c"), sim.wait("b")];
    sim.keep(busy);
    assert_eq!(sim.closed(), [(id, CloseReason::MaxTotal)], "idle where others starve");
    for waiter in waiting {
        let permit = sim.permit(waiter);
        sim.connect(permit);
        let lease = sim.lease(waiter);
        sim.release(lease, Verdict::Close(CloseReason::CallerAsked));
    }
    assert_eq!(sim.pool.totals().waiting, 0);
}

#[test]
fn a_connection_goes_to_its_own_waiters_before_others_get_its_place() {
    let mut sim = Sim::with_total(Limits::default(), 1);
    let busy = sim.fresh("a");
    let other = sim.wait("b");
    let own = sim.wait("a");
    sim.keep(busy);
    assert!(sim.waits(other));
    let lease = sim.lease(own);
    sim.keep(lease);
    let _permit = sim.permit(other);
}

#[test]
fn warming_stays_within_the_limits_and_closes_nothing() {
    let mut sim = Sim::with_total(Limits { max_connections: 2, ..Limits::default() }, 3);
    let a = sim.pool.insert("a");
    for _ in 0..2 {
        let permit = sim.pool.open(a, sim.now).expect("there is room");
        sim.connect(permit);
    }
    let full = RefuseReason::NoRoom { connections: 2, limit: 2 };
    assert_eq!(sim.pool.open(a, sim.now).err(), Some(full));
    sim.idle("b", 1);
    let b = sim.pool.insert("b");
    let full = RefuseReason::NoRoom { connections: 3, limit: 3 };
    assert_eq!(sim.pool.open(b, sim.now).err(), Some(full));
    assert_eq!(sim.closed(), []);
    assert_eq!(
        sim.known("b").map(|_| sim.pool.totals().refused),
        Some(0),
        "no request was refused"
    );
    assert!(sim.reuse("a").reused(), "a warm connection costs no handshake");
}

#[test]
fn a_request_waits_for_a_warming_dial_instead_of_making_its_own() {
    let mut sim = Sim::new(Limits::default());
    let origin = sim.pool.insert("a");
    let permit = sim.pool.open(origin, sim.now).expect("there is room");
    let waiter = sim.wait("a");
    sim.connect(permit);
    let _held = sim.lease(waiter);
    assert_eq!(sim.pool.totals().opened, 1);
}

#[test]
fn a_failed_warming_dial_lets_the_waiter_dial() {
    let mut sim = Sim::new(Limits::default());
    let origin = sim.pool.insert("a");
    let permit = sim.pool.open(origin, sim.now).expect("there is room");
    let waiter = sim.wait("a");
    sim.fail(permit, "refused");
    let _permit = sim.permit(waiter);
}

#[test]
fn f118_an_origin_may_have_limits_of_its_own() {
    let mut sim = Sim::new(Limits::default());
    let own = Limits { max_connections: 1, max_waiting: 0, ..Limits::default() };
    sim.pool.insert_with_limits("a", own);
    let _held = sim.open("a");
    assert_eq!(sim.refusal("a"), RefuseReason::QueueFull { waiting: 0, limit: 0 });
    let _first = sim.open("b");
    let _second = sim.open("b");
}

#[test]
fn f117_the_counters_of_a_hundred_requests_add_up() {
    let limits = Limits { max_connections: 5, idle_timeout: Some(SECOND), ..Limits::default() };
    let mut sim = Sim::new(limits);
    for round in 0..10 {
        let mut leases = Vec::new();
        for _ in 0..5 {
            leases.push(if round % 5 == 0 { sim.fresh("a") } else { sim.reuse("a") });
        }
        let waiters: Vec<_> = leases.iter().map(|_| sim.wait("a")).collect();
        for lease in leases {
            sim.keep(lease);
        }
        for waiter in waiters {
            let lease = sim.lease(waiter);
            sim.keep(lease);
        }
        if round % 5 == 4 {
            sim.pass(2 * SECOND);
            sim.expire();
        }
    }
    let totals = sim.pool.totals();
    assert_eq!((totals.requests, totals.opened, totals.reused), (100, 10, 90));
    assert_eq!((totals.closed, totals.open), (10, 0));
    assert_eq!(totals.closed_by(CloseReason::IdleTimeout), 10);
    assert_eq!(totals.mean_connect_time(), Some(std::time::Duration::from_millis(10)));
    assert_eq!(sim.pool.origins().count(), 0, "origins with nothing left vanish");
}

#[test]
fn a_hundred_thousand_origins_visited_once_leave_nothing() {
    let mut pool = warmwire_pool::Pool::<String, (), ()>::new(Limits::default(), usize::MAX);
    let (now, mut actions) = (std::time::Instant::now(), warmwire_pool::Actions::new());
    for number in 0..100_000 {
        let origin = pool.insert(format!("host-{number}"));
        let permit = pool.open(origin, now).expect("there is room");
        let opened = warmwire_pool::Opened { slots: 1, jitter: 0.0, elapsed: SECOND };
        pool.connected(permit, (), opened, now, &mut actions);
    }
    assert_eq!(pool.origins().count(), 100_000);
    pool.expire(now + 5 * SECOND, &mut actions);
    let closed = std::mem::take(&mut actions.closed);
    assert_eq!(closed.len(), 100_000);
    for closing in closed.into_iter().filter_map(|closed| closed.closing) {
        pool.close_finished(closing, now, &mut actions);
    }
    assert_eq!(pool.origins().count(), 0);
    assert_eq!(pool.find("host-7"), None);
    assert_eq!((pool.totals().opened, pool.totals().closed), (100_000, 100_000));
}

#[test]
fn the_id_of_a_forgotten_origin_never_names_another() {
    let mut sim = Sim::new(Limits::default());
    let (permit, waiter) = sim.open("a");
    let stale = permit.origin();
    sim.fail(permit, "refused");
    let _ = sim.poll(waiter);
    let _held = sim.open("b");
    assert_eq!(sim.pool.key(stale), None);
    let refused = sim.pool.acquire(stale, sim.now, &mut sim.actions);
    let unknown = RefuseReason::UnknownOrigin;
    assert!(matches!(refused, warmwire_pool::Acquire::Refuse(reason) if reason == unknown));
    assert_eq!(sim.pool.open(stale, sim.now).err(), Some(unknown));
}

#[test]
fn fifo_gives_a_looked_at_connection_its_place_back() {
    let limits = Limits { scheduling: Scheduling::Fifo, ..Limits::default() };
    let mut sim = Sim::new(limits);
    let first = sim.fresh("a");
    let second = sim.fresh("a");
    let oldest = first.connection();
    sim.keep(first);
    sim.pass(SECOND);
    sim.keep(second);
    let look = sim.pool.lease_idle(oldest, sim.now).expect("it is idle");
    sim.release(look, Verdict::Untouched);
    assert_eq!(sim.reuse("a").connection(), oldest);
}
