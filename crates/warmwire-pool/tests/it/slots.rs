//! Connections that carry several requests at once.

use warmwire_pool::{CloseReason, Limits, Verdict};

use crate::support::{SECOND, Sim};

#[test]
fn f119_a_cold_burst_opens_one_connection() {
    let mut sim = Sim::new(Limits { expected_slots: 100, ..Limits::default() });
    let (permit, first) = sim.open("a");
    let mut waiters = vec![first];
    waiters.extend((0..99).map(|_| sim.wait("a")));
    assert_eq!(sim.counters("a").waiting, 0, "the dial is expected to serve all");
    let id = sim.connect_slots(permit, 100);
    let leases: Vec<_> = waiters.into_iter().map(|waiter| sim.lease(waiter)).collect();
    assert!(leases.iter().all(|lease| lease.connection() == id));
    let fresh = leases.iter().filter(|lease| !lease.reused()).count();
    assert_eq!(fresh, 1, "one request paid for the handshake");
    let counters = sim.counters("a");
    assert_eq!((counters.opened, counters.active, counters.leased), (1, 1, 100));
}

#[test]
fn f119_a_wrong_expectation_is_corrected_by_the_first_connection() {
    let mut sim = Sim::new(Limits { expected_slots: 100, ..Limits::default() });
    let (permit, first) = sim.open("a");
    let waiters: Vec<_> = (0..9).map(|_| sim.wait("a")).collect();
    sim.connect_slots(permit, 1);
    let _held = sim.lease(first);
    for waiter in waiters {
        let _permit = sim.permit(waiter);
    }
}

#[test]
fn connections_in_use_are_filled_before_idle_ones() {
    let mut sim = Sim::new(Limits::default());
    let origin = sim.pool.insert("a");
    let permits: Vec<_> = (0..2).map(|_| sim.pool.open(origin, sim.now).expect("room")).collect();
    for permit in permits {
        sim.connect_slots(permit, 3);
    }
    let first = sim.reuse("a");
    for _ in 0..2 {
        assert_eq!(sim.reuse("a").connection(), first.connection());
    }
    assert_ne!(sim.reuse("a").connection(), first.connection());
}

#[test]
fn more_slots_serve_waiters_and_fewer_take_effect_with_time() {
    let mut sim = Sim::new(Limits { max_connections: 1, ..Limits::default() });
    let first = sim.fresh("a");
    let id = first.connection();
    let waiters = [sim.wait("a"), sim.wait("a"), sim.wait("a")];
    sim.pool.set_slots(id, 3, sim.now, &mut sim.actions);
    let [second, third] = [sim.lease(waiters[0]), sim.lease(waiters[1])];
    assert!(sim.waits(waiters[2]));
    sim.pool.set_slots(id, 1, sim.now, &mut sim.actions);
    sim.keep(first);
    sim.keep(second);
    assert!(sim.waits(waiters[2]), "one is still lent, and one may be");
    sim.keep(third);
    let _held = sim.lease(waiters[2]);
}

#[test]
fn a_goaway_lends_no_more_and_closes_with_the_last_lease() {
    let mut sim = Sim::new(Limits::default());
    let (permit, waiter) = sim.open("a");
    let id = sim.connect_slots(permit, 10);
    let first = sim.lease(waiter);
    let second = sim.reuse("a");
    sim.pool.closed_by_peer(id, CloseReason::PeerAsked, sim.now, &mut sim.actions);
    let (_permit, _waiter) = sim.open("a");
    sim.keep(first);
    assert_eq!(sim.closed(), []);
    sim.release(second, Verdict::Close(CloseReason::Failed));
    assert_eq!(sim.closed(), [(id, CloseReason::PeerAsked)], "the first reason counts");
}

#[test]
fn f114_idle_time_and_lifetime_apply_to_connections_with_many_slots() {
    let limits = Limits { max_lifetime: Some(10 * SECOND), ..Limits::default() };
    let mut sim = Sim::new(limits);
    let origin = sim.pool.insert("a");
    let permits: Vec<_> =
        (0..1000).map(|_| sim.pool.open(origin, sim.now).expect("room")).collect();
    for permit in permits {
        sim.connect_slots(permit, 100);
    }
    let never_idle = sim.reuse("a");
    sim.pass(5 * SECOND);
    sim.expire();
    assert_eq!(sim.closed().len(), 256 - 1 + 744, "all but one, some over max_idle");
    sim.pass(5 * SECOND);
    let (permit, waiter) = sim.open("a");
    sim.keep(never_idle);
    assert_eq!(sim.closed().last().map(|closed| closed.1), Some(CloseReason::MaxLifetime));
    sim.fail(permit, "refused");
    assert!(sim.poll(waiter).is_ready());
    assert_eq!(sim.pool.totals().open, 0);
}
