//! An origin whose dials fail is left in peace, then probed by one dial at a time.

use std::task::Poll;
use std::time::Duration;

use warmwire_pool::{Backoff, Grant, Limits, RefuseReason, WaiterId};

use crate::support::{MILLISECOND, SECOND, Sim};

/// Requests to "a" that have no dial.
fn waiting(sim: &mut Sim, count: usize) -> Vec<WaiterId> {
    (0..count).map(|_| sim.wait("a")).collect()
}

fn failed(sim: &mut Sim, waiter: WaiterId) -> bool {
    matches!(sim.poll(waiter), Poll::Ready(Grant::Failed("refused")))
}

/// Fails a first dial to "a", so that its back-off begins.
fn take_down(sim: &mut Sim) {
    let (permit, waiter) = sim.open("a");
    sim.refuse(permit);
    assert!(failed(sim, waiter));
}

#[test]
fn f097_probes_follow_the_schedule_one_at_a_time_whatever_the_load() {
    let mut sim = Sim::new(Limits::default());
    let began = sim.now;
    take_down(&mut sim);
    let mut probes = Vec::new();
    let mut waiters = Vec::new();
    while sim.now < began + 10 * SECOND {
        waiters.push(sim.wait("a"));
        sim.pass(10 * MILLISECOND);
        if sim.pool.next_deadline().is_some_and(|deadline| deadline <= sim.now) {
            sim.expire();
        }
        if let Poll::Ready(Grant::Open(permit)) = sim.poll(waiters[0]) {
            probes.push((sim.now - began).as_millis());
            assert_eq!(sim.counters("a").connecting, 1);
            sim.refuse(permit);
            for waiter in waiters.drain(..) {
                assert!(failed(&mut sim, waiter), "all of them came before the probe began");
            }
        }
    }
    assert_eq!(probes[..6], [50, 150, 350, 750, 1550, 2550]);
    assert_eq!(probes.len(), 13);
}

#[test]
fn f097_the_first_success_lets_everyone_dial_at_once() {
    let mut sim = Sim::new(Limits::default());
    take_down(&mut sim);
    let waiters = waiting(&mut sim, 5);
    assert_eq!(sim.pool.next_deadline(), Some(sim.now + 50 * MILLISECOND));
    sim.pass(50 * MILLISECOND);
    sim.expire();
    let probe = sim.permit(waiters[0]);
    assert!(waiters[1..].iter().all(|&waiter| sim.waits(waiter)), "one probe at a time");
    sim.connect(probe);
    let _first = sim.lease(waiters[0]);
    for &waiter in &waiters[1..] {
        let _dial = sim.permit(waiter);
    }
    assert_eq!(sim.counters("a").connecting, 4);
    assert_eq!(sim.pool.backing_off(sim.known("a").expect("a known origin")), None);
}

#[test]
fn dials_that_fail_together_are_one_failure() {
    let mut sim = Sim::new(Limits::default());
    let dials: Vec<_> = (0..20).map(|_| sim.open("a")).collect();
    for (permit, waiter) in dials {
        sim.refuse(permit);
        assert!(failed(&mut sim, waiter));
    }
    assert_eq!(sim.pool.next_deadline(), Some(sim.now + 50 * MILLISECOND));
}

#[test]
fn an_idle_connection_is_used_while_the_origin_backs_off() {
    let mut sim = Sim::new(Limits::default());
    let busy = sim.fresh("a");
    take_down(&mut sim);
    let waiter = sim.wait("a");
    sim.keep(busy);
    let lease = sim.lease(waiter);
    sim.keep(lease);
    let _reused = sim.reuse("a");
}

#[test]
fn while_the_origin_backs_off_the_queue_is_bounded_and_nothing_is_warmed() {
    let mut sim = Sim::new(Limits { max_waiting: 2, ..Limits::default() });
    take_down(&mut sim);
    let _waiters = waiting(&mut sim, 2);
    assert_eq!(sim.refusal("a"), RefuseReason::QueueFull { waiting: 2, limit: 2 });
    let origin = sim.known("a").expect("a known origin");
    let refused = sim.pool.open(origin, sim.now).expect_err("it backs off");
    assert_eq!(refused, RefuseReason::BackingOff);
    let refused = sim.pool.open_exclusive(origin, sim.now, &mut sim.actions);
    assert_eq!(refused.expect_err("it backs off"), RefuseReason::BackingOff);
}

#[test]
fn an_isolated_failure_delays_the_next_request_by_the_initial_time_at_most_and_is_forgotten() {
    let mut sim = Sim::new(Limits::default());
    for _ in 0..3 {
        take_down(&mut sim);
        assert!(sim.known("a").is_some(), "its failure is remembered");
        sim.pass(50 * MILLISECOND);
        sim.expire();
        assert_eq!((sim.known("a"), sim.pool.next_deadline()), (None, None));
    }
}

#[test]
fn a_probe_that_is_dropped_or_cancelled_leaves_its_turn_to_the_next() {
    let mut sim = Sim::new(Limits::default());
    take_down(&mut sim);
    let waiters = waiting(&mut sim, 3);
    sim.pass(50 * MILLISECOND);
    sim.expire();
    let probe = sim.permit(waiters[0]);
    sim.abandon(probe);
    let _again = sim.permit(waiters[0]);
    assert!(sim.waits(waiters[1]));
    sim.abandon(_again);
    sim.cancel(waiters[0]);
    let probe = sim.permit(waiters[1]);
    sim.cancel(waiters[1]);
    assert!(sim.waits(waiters[2]), "the dial goes on for the pool");
    sim.connect(probe);
    let _lease = sim.lease(waiters[2]);
}

#[test]
fn jitter_shortens_a_back_off_by_a_half_at_most() {
    let mut sim = Sim::new(Limits::default());
    sim.jitter = 1.0;
    take_down(&mut sim);
    assert_eq!(sim.pool.next_deadline(), Some(sim.now + 25 * MILLISECOND));
}

#[test]
fn without_a_back_off_each_request_dials_at_once() {
    for dial_backoff in [Backoff::OFF, Backoff { max: Duration::ZERO, ..Backoff::default() }] {
        let mut sim = Sim::new(Limits { dial_backoff, ..Limits::default() });
        take_down(&mut sim);
        take_down(&mut sim);
        assert_eq!((sim.known("a"), sim.pool.next_deadline()), (None, None));
    }
}

#[test]
fn a_closed_pool_remembers_no_failure() {
    let mut sim = Sim::new(Limits::default());
    take_down(&mut sim);
    sim.pool.close(sim.now, &mut sim.actions);
    assert_eq!((sim.known("a"), sim.pool.next_deadline()), (None, None));
    assert!(sim.pool.is_drained());
}
