//! Requests that cannot be served at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Poll, Wake, Waker};

use warmwire_pool::{CloseReason, Grant, Limits, RefuseReason, Verdict};

use crate::support::{MILLISECOND, SECOND, Sim};

#[test]
fn f005_connections_and_dials_never_exceed_the_limit_and_waiters_are_served_in_order() {
    let mut sim = Sim::new(Limits { max_connections: 5, ..Limits::default() });
    let mut permits = Vec::new();
    let mut waiters = std::collections::VecDeque::new();
    for n in 0..500 {
        if n < 5 {
            let (permit, waiter) = sim.open("a");
            permits.push(permit);
            waiters.push_back(waiter);
        } else {
            waiters.push_back(sim.wait("a"));
        }
        assert!(sim.counters("a").connecting <= 5);
    }
    assert_eq!(sim.counters("a").waiting, 495);
    for permit in permits {
        sim.connect(permit);
    }
    let mut leases: std::collections::VecDeque<_> =
        waiters.drain(..5).map(|waiter| sim.lease(waiter)).collect();
    while let Some(waiter) = waiters.pop_front() {
        assert!(sim.waits(waiter));
        let lease = leases.pop_front().expect("five at a time");
        sim.keep(lease);
        leases.push_back(sim.lease(waiter));
    }
    let counters = sim.counters("a");
    assert_eq!((counters.opened, counters.max_open, counters.requests), (5, 5, 500));
    assert_eq!((counters.queued, counters.max_waiting, counters.waiting), (495, 495, 0));
}

#[test]
fn f006_a_request_that_needs_a_second_connection_of_its_origin_waits_and_can_give_up() {
    let mut sim = Sim::new(Limits { max_connections: 1, ..Limits::default() });
    let outer = sim.fresh("a");
    let inner = sim.wait("a");
    assert!(sim.waits(inner), "the outer request holds the only connection");
    sim.cancel(inner);
    assert_eq!(sim.counters("a").waiting, 0);
    sim.keep(outer);
    let _held = sim.reuse("a");
}

#[test]
fn f040_a_full_queue_refuses_and_keeps_the_order_of_the_others() {
    let limits = Limits { max_connections: 1, max_waiting: 10, ..Limits::default() };
    let mut sim = Sim::new(limits);
    let mut lease = sim.fresh("a");
    let waiters: Vec<_> = (0..10).map(|_| sim.wait("a")).collect();
    for _ in 0..5 {
        let full = RefuseReason::QueueFull { waiting: 10, limit: 10 };
        assert_eq!(sim.refusal("a"), full);
    }
    for waiter in waiters {
        sim.keep(lease);
        lease = sim.lease(waiter);
    }
    assert_eq!(sim.counters("a").refused, 5);
}

#[test]
fn waiters_with_a_dial_do_not_count_against_max_waiting() {
    let limits = Limits { max_connections: 2, max_waiting: 1, ..Limits::default() };
    let mut sim = Sim::new(limits);
    let (first, _) = sim.open("a");
    let (second, _) = sim.open("a");
    sim.wait("a");
    assert_eq!(sim.refusal("a"), RefuseReason::QueueFull { waiting: 1, limit: 1 });
    sim.connect(first);
    assert_eq!(sim.refusal("a"), RefuseReason::QueueFull { waiting: 1, limit: 1 });
    sim.connect(second);
    assert_eq!(sim.refusal("a"), RefuseReason::QueueFull { waiting: 1, limit: 1 });
}

#[test]
fn f042_a_cancelled_waiter_leaves_at_once_and_the_connection_survives() {
    let mut sim = Sim::new(Limits { max_connections: 1, ..Limits::default() });
    let running = sim.fresh("a");
    let dropped = sim.wait("a");
    let next = sim.wait("a");
    assert_eq!(sim.counters("a").waiting, 2);
    sim.cancel(dropped);
    assert_eq!(sim.counters("a").waiting, 1);
    let id = running.connection();
    sim.keep(running);
    assert_eq!(sim.lease(next).connection(), id);
    assert!(matches!(sim.poll(dropped), Poll::Ready(Grant::Refused(RefuseReason::UnknownWaiter))));
    assert!(sim.closed().is_empty());
}

#[test]
fn a_cancelled_hand_over_goes_to_the_next_waiter_then_to_the_pool() {
    let mut sim = Sim::new(Limits { max_connections: 1, ..Limits::default() });
    let running = sim.fresh("a");
    let (first, second) = (sim.wait("a"), sim.wait("a"));
    sim.keep(running);
    sim.cancel(first);
    assert_eq!(sim.counters("a").active, 1);
    sim.cancel(second);
    assert_eq!((sim.counters("a").idle, sim.counters("a").active), (1, 0));
    assert_eq!((sim.counters("a").requests, sim.counters("a").cancelled), (1, 2));
}

#[test]
fn f051_a_waiter_takes_what_comes_first_and_its_dial_is_kept() {
    let mut sim = Sim::new(Limits::default());
    let busy = sim.fresh("a");
    let (permit, waiter) = sim.open("a");
    sim.pass(20 * MILLISECOND);
    sim.keep(busy);
    let lease = sim.lease(waiter);
    assert!(lease.reused());
    sim.pass(480 * MILLISECOND);
    let spare = sim.connect(permit);
    assert_eq!(sim.counters("a").idle, 1);
    let next = sim.reuse("a");
    assert_eq!(next.connection(), spare);
    assert!(next.reused(), "it did not pay for the handshake");
}

#[test]
fn an_orphaned_dial_serves_the_next_request_without_another_dial() {
    let mut sim = Sim::new(Limits::default());
    let busy = sim.fresh("a");
    let (permit, waiter) = sim.open("a");
    sim.keep(busy);
    let _held = sim.lease(waiter);
    let next = sim.wait("a");
    assert_eq!(sim.counters("a").waiting, 0, "the dial is expected to serve it");
    sim.connect(permit);
    assert!(!sim.lease(next).reused());
}

#[test]
fn f044_when_all_dials_fail_every_waiter_ends() {
    let mut sim = Sim::new(Limits { max_connections: 2, ..Limits::default() });
    let (first, waiter_a) = sim.open("a");
    let (second, waiter_b) = sim.open("a");
    let queued: Vec<_> = (0..4).map(|_| sim.wait("a")).collect();
    for (permit, waiter) in [(first, waiter_a), (second, waiter_b)] {
        sim.refuse(permit);
        assert!(matches!(sim.poll(waiter), Poll::Ready(Grant::Failed("refused"))));
    }
    // They had come after those dials began; the next one is for all of them.
    assert!(queued.iter().all(|&waiter| sim.waits(waiter)));
    sim.pass(50 * MILLISECOND);
    sim.expire();
    let permit = sim.permit(queued[0]);
    sim.refuse(permit);
    for waiter in queued {
        assert!(matches!(sim.poll(waiter), Poll::Ready(Grant::Failed("refused"))));
    }
    assert_eq!(sim.pool.totals().open_failed, 3);
    assert_eq!((sim.pool.totals().waiting, sim.pool.totals().connecting), (0, 0));
}

#[test]
fn f044_a_dial_that_fails_spares_who_waits_for_a_connection_in_use() {
    let mut sim = Sim::new(Limits { max_connections: 2, ..Limits::default() });
    let busy = sim.fresh("a");
    let other = sim.fresh("a");
    let (first, second) = (sim.wait("a"), sim.wait("a"));
    sim.release(other, Verdict::Close(CloseReason::Failed));
    let permit = sim.permit(first);
    sim.refuse(permit);
    assert!(matches!(sim.poll(first), Poll::Ready(Grant::Failed("refused"))));
    assert!(sim.waits(second), "what is in use will be free");
    sim.keep(busy);
    let _lease = sim.lease(second);
}

#[test]
fn f023_dropped_requests_leave_no_dial_that_nobody_owns() {
    let mut sim = Sim::new(Limits { max_connections: 1, ..Limits::default() });
    let (permit, first) = sim.open("a");
    let second = sim.wait("a");
    sim.cancel(first);
    sim.cancel(second);
    sim.abandon(permit);
    assert_eq!(sim.pool.totals().connecting, 0);
    assert_eq!(sim.known("a"), None);
    let _held = sim.fresh("a");
}

#[test]
fn an_abandoned_dial_gives_its_waiter_another_permit() {
    let mut sim = Sim::new(Limits { max_connections: 1, ..Limits::default() });
    let (permit, waiter) = sim.open("a");
    let second = sim.wait("a");
    sim.abandon(permit);
    let again = sim.permit(waiter);
    assert_eq!(sim.counters("a").connecting, 1);
    assert!(sim.waits(second));
    sim.connect(again);
    assert!(!sim.lease(waiter).reused());
}

#[test]
fn a_permit_that_was_not_collected_goes_on_when_its_waiter_is_cancelled() {
    let mut sim = Sim::new(Limits { max_connections: 1, ..Limits::default() });
    let busy = sim.fresh("a");
    let (first, second) = (sim.wait("a"), sim.wait("a"));
    sim.release(busy, Verdict::Close(CloseReason::Failed));
    sim.cancel(first);
    let permit = sim.permit(second);
    sim.connect(permit);
    let _held = sim.lease(second);
}

#[test]
fn a_connection_that_dies_between_hand_over_and_collection_is_not_given_out() {
    let limits = Limits { max_connections: 1, idle_timeout: Some(SECOND), ..Limits::default() };
    let mut sim = Sim::new(limits);
    for spoil in [(|sim, _| sim.pass(2 * SECOND)) as fn(&mut Sim, _), |sim, id| {
        let reason = CloseReason::ClosedByPeer;
        sim.pool.closed_by_peer(id, reason, sim.now, &mut sim.actions);
    }] {
        let busy = sim.fresh("a");
        let id = busy.connection();
        let (first, second) = (sim.wait("a"), sim.wait("a"));
        sim.keep(busy);
        spoil(&mut sim, id);
        assert!(sim.waits(first), "its place is free when it is closed");
        let permit = sim.permit(first);
        assert_eq!(sim.closed().len(), 1);
        let fresh = sim.connect(permit);
        let lease = sim.lease(first);
        assert_eq!(lease.connection(), fresh);
        sim.cancel(second);
        sim.release(lease, Verdict::Close(CloseReason::CallerAsked));
        sim.closed();
    }
}

#[test]
fn the_last_waker_is_woken_once() {
    struct Count(AtomicUsize);
    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    let (old, new) = (Arc::new(Count(0.into())), Arc::new(Count(0.into())));
    let mut sim = Sim::new(Limits { max_connections: 1, ..Limits::default() });
    let busy = sim.fresh("a");
    let waiter = sim.wait("a");
    assert!(sim.poll_with(waiter, &Waker::from(old.clone())).is_pending());
    assert!(sim.poll_with(waiter, &Waker::from(new.clone())).is_pending());
    sim.keep(busy);
    sim.actions.wake_all();
    assert!(sim.actions.is_empty());
    assert_eq!((old.0.load(Ordering::Relaxed), new.0.load(Ordering::Relaxed)), (0, 1));
    let _held = sim.lease(waiter);
}
