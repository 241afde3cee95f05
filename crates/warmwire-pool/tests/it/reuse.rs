//! Which connection a request gets, and what comes back to the pool.

use std::time::Duration;

use warmwire_pool::{CloseReason, Keep, Limits, Scheduling, Verdict};

use crate::support::{MILLISECOND, SECOND, Sim};

#[test]
fn a_released_connection_is_lent_again() {
    let mut sim = Sim::new(Limits::default());
    let first = sim.fresh("a");
    assert!(!first.reused());
    assert_eq!((first.requests(), first.opened_at()), (0, sim.now));
    let id = first.connection();
    sim.keep(first);
    sim.pass(SECOND);
    let second = sim.reuse("a");
    assert_eq!(second.connection(), id);
    assert!(second.reused());
    assert_eq!((second.requests(), second.idle_for()), (1, SECOND));
}

#[test]
fn f029_lifo_lends_the_most_recently_used_and_lets_a_surplus_time_out() {
    let mut sim = Sim::new(Limits { idle_timeout: Some(SECOND), ..Limits::default() });
    let ids = sim.idle("a", 100);
    for _ in 0..15 {
        sim.pass(100 * MILLISECOND);
        sim.expire();
        let lease = sim.reuse("a");
        assert_eq!(lease.connection(), ids[99]);
        sim.keep(lease);
    }
    assert_eq!(sim.counters("a").open, 1);
    assert_eq!(sim.counters("a").closed_by(CloseReason::IdleTimeout), 99);
}

#[test]
fn f029_fifo_lends_the_longest_idle_and_keeps_all_open() {
    let limits =
        Limits { idle_timeout: Some(SECOND), scheduling: Scheduling::Fifo, ..Limits::default() };
    let mut sim = Sim::new(limits);
    let ids = sim.idle("a", 5);
    for round in 0..20 {
        sim.pass(100 * MILLISECOND);
        sim.expire();
        let lease = sim.reuse("a");
        assert_eq!(lease.connection(), ids[round % 5]);
        sim.keep(lease);
    }
    assert_eq!(sim.counters("a").open, 5);
}

#[test]
fn f029_surplus_eviction_drops_the_least_recently_used() {
    let mut sim = Sim::new(Limits { max_idle: 2, ..Limits::default() });
    let ids = sim.idle("a", 4);
    let surplus = vec![(ids[0], CloseReason::MaxIdle), (ids[1], CloseReason::MaxIdle)];
    assert_eq!(sim.closed(), surplus);
    assert_eq!(sim.counters("a").idle, 2);
}

/// Waves of ten with two allowed to be idle: with a grace longer than the pauses nothing is dialled
/// again, and once they end all but two close, the least recently used first.
#[test]
fn f070_a_surplus_that_is_used_again_within_its_grace_is_kept() {
    for scheduling in [Scheduling::Lifo, Scheduling::Fifo] {
        let limits = Limits { max_idle: 2, surplus_grace: SECOND, scheduling, ..Limits::default() };
        let mut sim = Sim::new(limits);
        let wave: Vec<_> = (0..10).map(|_| sim.fresh("a")).collect();
        for lease in wave {
            sim.keep(lease);
        }
        for _ in 0..100 {
            sim.pass(SECOND / 10);
            sim.expire();
            let wave: Vec<_> = (0..10).map(|_| sim.reuse("a")).collect();
            for lease in wave {
                sim.keep(lease);
            }
        }
        assert_eq!((sim.pool.totals().opened, sim.closed().len()), (10, 0));
        sim.pass(SECOND - SECOND / 1_000);
        sim.expire();
        assert_eq!(sim.counters("a").idle, 10);
        sim.pass(SECOND / 1_000);
        sim.expire();
        assert_eq!(sim.counters("a").idle, 2);
        let closed = sim.closed();
        assert!(closed.iter().all(|(_, reason)| *reason == CloseReason::MaxIdle), "{closed:?}");
        assert_eq!(closed.len(), 8);
    }
}

#[test]
fn f070_a_surplus_that_is_lent_or_gone_leaves_the_alarm_to_the_next() {
    let limits = Limits { max_idle: 1, surplus_grace: SECOND, ..Limits::default() };
    let mut sim = Sim::new(Limits { scheduling: Scheduling::Fifo, ..limits });
    let ids = sim.idle("a", 3);
    // The one with the alarm is lent and closed.
    let lease = sim.reuse("a");
    assert_eq!(lease.connection(), ids[0]);
    sim.release(lease, Verdict::Close(CloseReason::PeerAsked));
    sim.closed();
    sim.pass(SECOND);
    sim.expire();
    assert_eq!(sim.closed(), [(ids[1], CloseReason::MaxIdle)]);
    assert_eq!(sim.counters("a").idle, 1);
}

#[test]
fn f070_a_max_idle_of_zero_closes_every_connection_on_return() {
    let mut sim = Sim::new(Limits { max_idle: 0, ..Limits::default() });
    for number in 1..=10 {
        let lease = sim.fresh("a");
        assert_eq!(lease.connection().number(), number);
        sim.keep(lease);
        assert_eq!(sim.closed().len(), 1);
    }
    assert_eq!(sim.pool.totals().closed_by(CloseReason::MaxIdle), 10);
    assert_eq!(sim.pool.totals().reused, 0);
}

#[test]
fn a_look_counts_no_request_and_keeps_the_idle_time() {
    let mut sim = Sim::new(Limits { idle_timeout: Some(4 * SECOND), ..Limits::default() });
    let id = sim.idle("a", 1)[0];
    sim.pass(3 * SECOND);
    let look = sim.pool.lease_idle(id, sim.now).expect("it is idle");
    assert!(sim.pool.lease_idle(id, sim.now).is_none(), "it is lent");
    assert_eq!(sim.counters("a").active, 1);
    sim.release(look, Verdict::Untouched);
    assert_eq!((sim.counters("a").requests, sim.counters("a").reused), (1, 0));
    sim.pass(SECOND);
    sim.expire();
    assert_eq!(sim.closed(), [(id, CloseReason::IdleTimeout)]);
}

#[test]
fn a_lease_found_dead_counts_no_request() {
    let mut sim = Sim::new(Limits::default());
    let id = sim.idle("a", 1)[0];
    let lease = sim.reuse("a");
    sim.release(lease, Verdict::Unused(CloseReason::ClosedByPeer));
    assert_eq!(sim.closed(), [(id, CloseReason::ClosedByPeer)]);
    assert_eq!((sim.pool.totals().requests, sim.pool.totals().reused), (1, 0));
}

#[test]
fn what_the_peer_says_about_keeping_is_kept() {
    let mut sim = Sim::new(Limits::default());
    let lease = sim.fresh("a");
    let id = lease.connection();
    let keep = Keep { idle_timeout: Some(60 * SECOND), requests_left: Some(2) };
    sim.release(lease, Verdict::Keep(keep));
    sim.pass(59 * SECOND);
    sim.expire();
    let lease = sim.reuse("a");
    sim.keep(lease);
    let lease = sim.reuse("a");
    sim.keep(lease);
    assert_eq!(sim.closed(), [(id, CloseReason::PeerAsked)]);

    for keep in [
        Keep { idle_timeout: Some(Duration::ZERO), ..Keep::default() },
        Keep { requests_left: Some(0), ..Keep::default() },
    ] {
        let lease = sim.fresh("a");
        let id = lease.connection();
        sim.release(lease, Verdict::Keep(keep));
        assert_eq!(sim.closed(), [(id, CloseReason::PeerAsked)]);
    }
}

#[test]
fn origins_share_nothing() {
    let mut sim = Sim::new(Limits::default());
    sim.idle("a", 1);
    assert!(!sim.fresh("b").reused());
}
