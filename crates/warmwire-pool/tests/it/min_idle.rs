//! Connections that are kept ready.

use std::time::Duration;

use warmwire_pool::{CloseReason, Limits, Permit, Verdict};

use crate::support::{SECOND, Sim};

/// What a driver does at a deadline: the dials that the pool asks for.
fn refills(sim: &mut Sim) -> Vec<Permit> {
    if sim.pool.next_deadline().is_some_and(|deadline| deadline <= sim.now) {
        sim.expire();
    }
    std::iter::from_fn(|| sim.pool.refill(sim.now)).collect()
}

/// A pool that keeps two idle, and has them.
fn ready(limits: Limits) -> Sim {
    let mut sim = Sim::new(Limits { min_idle: 2, ..limits });
    let lease = sim.fresh("a");
    sim.keep(lease);
    for permit in refills(&mut sim) {
        sim.connect(permit);
    }
    assert_eq!(sim.counters("a").idle, 2);
    assert!(refills(&mut sim).is_empty());
    sim
}

#[test]
fn f091_what_closes_is_dialled_anew() {
    let mut sim = ready(Limits::default());
    sim.pass(4 * SECOND);
    let permits = refills(&mut sim);
    assert_eq!(sim.closed().len(), 2, "the server would close them too");
    assert_eq!(permits.len(), 2);
    let ids: Vec<_> = permits.into_iter().map(|permit| sim.connect(permit)).collect();
    sim.pass(SECOND);
    sim.pool.closed_by_peer(ids[0], CloseReason::ClosedByPeer, sim.now, &mut sim.actions);
    sim.closed();
    assert_eq!(refills(&mut sim).len(), 1);
}

#[test]
fn f091_a_lifetime_with_its_jitter_ends_one_after_the_other_and_each_is_replaced() {
    let limits =
        Limits { max_lifetime: Some(100 * SECOND), idle_timeout: None, ..Limits::default() };
    let mut sim = Sim::new(Limits { min_idle: 2, ..limits });
    let lease = sim.fresh("a");
    sim.keep(lease);
    sim.jitter = 1.0;
    for permit in refills(&mut sim) {
        sim.connect(permit);
    }
    sim.pass(90 * SECOND);
    assert_eq!(refills(&mut sim).len(), 1);
    assert_eq!(sim.counters("a").idle, 1);
}

#[test]
fn f091_requests_in_use_are_not_idle_and_limits_hold() {
    let mut sim = ready(Limits { max_connections: 3, ..Limits::default() });
    let (_first, _second) = (sim.reuse("a"), sim.reuse("a"));
    let permits = refills(&mut sim);
    assert_eq!(permits.len(), 1, "room for one");
    for permit in permits {
        sim.connect(permit);
    }
    let _third = sim.reuse("a");
    assert!(refills(&mut sim).is_empty());
    assert_eq!(sim.pool.next_deadline(), None, "and nothing to look at");
}

#[test]
fn f091_requests_that_wait_come_before_refills_under_the_total_limit() {
    let mut sim = Sim::with_total(Limits { min_idle: 1, ..Limits::default() }, 2);
    let (a, b) = (sim.fresh("a"), sim.fresh("b"));
    let waiter = sim.wait("b");
    sim.release(a, Verdict::Close(CloseReason::Failed));
    assert!(refills(&mut sim).is_empty());
    let permit = sim.permit(waiter);
    sim.connect(permit);
    let lease = sim.lease(waiter);
    sim.keep(lease);
    assert!(refills(&mut sim).is_empty(), "refills close nothing to make room");
    sim.release(b, Verdict::Close(CloseReason::Failed));
    let permits = refills(&mut sim);
    assert_eq!(permits.len(), 1, "for the origin that lacks one");
    assert_eq!(sim.pool.key(permits[0].origin()), Some(&"a"));
}

#[test]
fn f097_refills_back_off_with_the_origin() {
    let mut sim = ready(Limits::default());
    sim.pass(4 * SECOND);
    let began = sim.now;
    let mut dials = 0;
    let mut permits = refills(&mut sim);
    while sim.now < began + 10 * SECOND {
        dials += permits.len();
        for permit in permits {
            sim.refuse(permit);
        }
        let deadline = sim.pool.next_deadline().expect("a time to try again");
        assert!(deadline > sim.now, "a busy loop");
        sim.now = deadline;
        permits = refills(&mut sim);
    }
    assert_eq!(dials, 2 + 13, "two at once, then one probe at a time");
    for permit in permits {
        sim.connect(permit);
    }
    assert_eq!(refills(&mut sim).len(), 1, "the rest at once");
}

#[test]
fn a_server_that_closes_at_once_is_not_dialled_in_a_loop() {
    let mut sim = ready(Limits::default());
    sim.pass(4 * SECOND);
    let mut dials = 0;
    let began = sim.now;
    while sim.now < began + 10 * SECOND {
        for permit in refills(&mut sim) {
            dials += 1;
            let id = sim.connect(permit);
            sim.pool.closed_by_peer(id, CloseReason::ClosedByPeer, sim.now, &mut sim.actions);
            sim.closed();
        }
        sim.now = sim.pool.next_deadline().expect("a time to try again");
    }
    assert!((10..=22).contains(&dials), "{dials} dials in ten seconds");
}

#[test]
fn dials_that_are_dropped_are_not_asked_for_again_at_once() {
    let mut sim = ready(Limits::default());
    sim.pass(4 * SECOND);
    for permit in refills(&mut sim) {
        sim.abandon(permit);
    }
    assert!(refills(&mut sim).is_empty());
    sim.pass(SECOND);
    assert_eq!(refills(&mut sim).len(), 2);
}

#[test]
fn f090_an_origin_that_keeps_connections_ready_is_not_forgotten_until_the_pool_closes() {
    let mut sim = ready(Limits::default());
    assert_eq!(sim.pool.close_idle(sim.now, &mut sim.actions), 2);
    sim.closed();
    assert!(sim.known("a").is_some());
    sim.pass(SECOND);
    let permits = refills(&mut sim);
    assert_eq!(permits.len(), 2);
    sim.pool.close(sim.now, &mut sim.actions);
    for permit in permits {
        sim.connect(permit);
    }
    sim.closed();
    assert!(refills(&mut sim).is_empty());
    assert_eq!((sim.known("a"), sim.pool.next_deadline()), (None, None));
    assert!(sim.pool.is_drained());
}

#[test]
fn what_would_close_at_once_is_not_dialled() {
    let zero = Some(Duration::ZERO);
    for limits in [
        Limits { max_idle: 0, ..Limits::default() },
        Limits { idle_timeout: zero, ..Limits::default() },
        Limits { max_lifetime: zero, ..Limits::default() },
    ] {
        let mut sim = Sim::new(Limits { min_idle: 2, ..limits });
        let lease = sim.fresh("a");
        sim.keep(lease);
        assert!(refills(&mut sim).is_empty());
    }
}

#[test]
fn a_shared_connection_with_a_free_slot_is_ready() {
    let mut sim = Sim::new(Limits { min_idle: 1, ..Limits::default() });
    let (permit, waiter) = sim.open("a");
    sim.connect_slots(permit, 2);
    let _first = sim.lease(waiter);
    assert!(refills(&mut sim).is_empty());
    let _second = sim.reuse("a");
    assert_eq!(refills(&mut sim).len(), 1);
}
