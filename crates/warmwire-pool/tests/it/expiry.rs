//! Idle time, lifetime and number of requests.

use std::time::Duration;

use warmwire_pool::{CloseReason, Keep, Limits, Verdict};

use crate::support::{MILLISECOND, SECOND, Sim};

/// Every combination of the three limits: the connection ends at the first that is reached, idle or
/// after the response, and not a tick before.
#[test]
fn f011_a_connection_ends_at_its_first_limit_for_that_reason() {
    let times = [None, Some(SECOND), Some(10 * SECOND)];
    for idle_timeout in times {
        for max_lifetime in times {
            let mut sim = Sim::new(Limits { idle_timeout, max_lifetime, ..Limits::default() });
            let id = sim.idle("a", 1)[0];
            let first = idle_timeout.into_iter().chain(max_lifetime).min();
            assert_eq!(sim.pool.next_deadline(), first.map(|first| sim.now + first));
            let Some(first) = first else { continue };
            sim.pass(first - Duration::from_nanos(1));
            sim.expire();
            assert_eq!(sim.closed(), []);
            sim.pass(Duration::from_nanos(1));
            sim.expire();
            let reason = match idle_timeout {
                Some(idle) if idle == first => CloseReason::IdleTimeout,
                _ => CloseReason::MaxLifetime,
            };
            assert_eq!(sim.closed(), [(id, reason)]);
        }
    }
}

#[test]
fn f011_a_busy_connection_retires_after_the_response() {
    let mut sim = Sim::new(Limits { max_lifetime: Some(SECOND), ..Limits::default() });
    let lease = sim.fresh("a");
    let id = lease.connection();
    sim.pass(2 * SECOND);
    sim.expire();
    assert_eq!(sim.closed(), []);
    sim.keep(lease);
    assert_eq!(sim.closed(), [(id, CloseReason::MaxLifetime)]);
}

#[test]
fn f011_a_connection_takes_no_more_requests_than_allowed() {
    let limits = Limits { max_requests_per_connection: Some(3), ..Limits::default() };
    let mut sim = Sim::new(limits);
    let mut lease = sim.fresh("a");
    let id = lease.connection();
    for _ in 0..2 {
        sim.keep(lease);
        assert_eq!(sim.closed(), []);
        lease = sim.reuse("a");
    }
    sim.keep(lease);
    assert_eq!(sim.closed(), [(id, CloseReason::MaxRequests)]);
}

#[test]
fn jitter_spreads_the_ends_of_connections_opened_together() {
    let limits =
        Limits { idle_timeout: None, max_lifetime: Some(100 * SECOND), ..Limits::default() };
    let mut sim = Sim::new(limits);
    let mut leases = Vec::new();
    for jitter in [0.0, 0.5, 1.0] {
        sim.jitter = jitter;
        leases.push(sim.fresh("a"));
    }
    for lease in leases {
        sim.keep(lease);
    }
    for (seconds, open) in [(89, 3), (1, 2), (5, 1), (4, 1), (1, 0)] {
        sim.pass(seconds * SECOND);
        sim.expire();
        assert_eq!(sim.pool.totals().open, open);
    }
}

/// Both orders of an expiry and a request in the same tick, and a tick to either side.
#[test]
fn f022_a_connection_is_either_expired_or_handed_out() {
    let idle_timeout = Duration::from_micros(100);
    for tick in 0..100_000_u32 {
        let mut sim = Sim::new(Limits { idle_timeout: Some(idle_timeout), ..Limits::default() });
        let id = sim.idle("a", 1)[0];
        sim.pass(Duration::from_nanos(u64::from(tick % 200) * 1_000));
        let expire_first = tick % 2 == 0;
        if expire_first {
            sim.expire();
        }
        let over = tick % 200 >= 100;
        if over {
            let _held = sim.open("a");
            assert_eq!(sim.closed(), [(id, CloseReason::IdleTimeout)]);
        } else {
            let lease = sim.reuse("a");
            sim.pass(SECOND);
            sim.expire();
            assert_eq!(sim.closed(), [], "it is not idle");
            sim.keep(lease);
        }
    }
}

#[test]
fn a_request_skips_and_closes_what_is_over_without_a_timer() {
    let mut sim = Sim::new(Limits { idle_timeout: Some(SECOND), ..Limits::default() });
    let ids = sim.idle("a", 3);
    let kept = sim.reuse("a");
    assert_eq!(kept.connection(), ids[2]);
    sim.pass(SECOND);
    let (permit, waiter) = sim.open("a");
    assert_eq!(sim.closed().len(), 2);
    sim.connect(permit);
    let _held = sim.lease(waiter);
    sim.keep(kept);
}

#[test]
fn an_empty_pool_has_no_timer() {
    let mut sim = Sim::new(Limits { idle_timeout: Some(SECOND), ..Limits::default() });
    assert_eq!(sim.pool.next_deadline(), None);
    let lease = sim.fresh("a");
    assert_eq!(sim.pool.next_deadline(), None, "nothing is idle");
    sim.keep(lease);
    assert_eq!(sim.pool.next_deadline(), Some(sim.now + SECOND));
    let lease = sim.reuse("a");
    assert_eq!(sim.pool.next_deadline(), None);
    sim.release(lease, Verdict::Close(CloseReason::CallerAsked));
    assert_eq!(sim.pool.next_deadline(), None);
}

/// The timer may fire early, by what was due before a reuse, but each time it fires it makes
/// progress: one round for every idle period at most.
#[test]
fn a_driver_that_sleeps_until_the_deadline_closes_everything_in_few_wakes() {
    let mut sim = Sim::new(Limits { idle_timeout: Some(SECOND), ..Limits::default() });
    sim.idle("a", 10);
    for _ in 0..50 {
        sim.pass(10 * MILLISECOND);
        let lease = sim.reuse("a");
        sim.keep(lease);
    }
    let mut wakes = 0;
    while let Some(deadline) = sim.pool.next_deadline() {
        sim.now = sim.now.max(deadline);
        sim.expire();
        wakes += 1;
    }
    assert_eq!(sim.pool.totals().open, 0);
    assert!(wakes <= 3, "{wakes} wakes");
}

#[test]
fn ever_shorter_idle_times_keep_the_timer_right() {
    let mut sim = Sim::new(Limits::default());
    sim.idle("a", 1);
    for seconds in (1..500).rev() {
        let lease = sim.reuse("a");
        let keep = Keep { idle_timeout: Some(seconds * SECOND), requests_left: None };
        sim.release(lease, Verdict::Keep(keep));
        assert!(sim.pool.next_deadline() <= Some(sim.now + seconds * SECOND));
    }
    sim.pass(SECOND);
    sim.expire();
    assert_eq!(sim.pool.totals().open, 0);
}

#[test]
fn times_beyond_the_clock_mean_never() {
    let limits = Limits {
        idle_timeout: Some(Duration::MAX),
        max_lifetime: Some(Duration::MAX),
        ..Limits::default()
    };
    let mut sim = Sim::new(limits);
    sim.idle("a", 1);
    assert_eq!(sim.pool.next_deadline(), None);
}
