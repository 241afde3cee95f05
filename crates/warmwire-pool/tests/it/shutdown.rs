//! Many connections closed on purpose, and the end of the pool.

use std::task::Poll;

use warmwire_pool::{CloseReason, Grant, Limits, RefuseReason};

use crate::support::Sim;

#[test]
fn f034_eviction_spares_requests_in_flight_and_pools_their_connections_no_more() {
    let mut sim = Sim::new(Limits::default());
    sim.idle("a", 3);
    sim.idle("b", 2);
    let in_flight = sim.reuse("a");
    let busy = in_flight.connection();
    let count =
        sim.pool.evict(CloseReason::Evicted, sim.now, &mut sim.actions, |&key, _| key == "a");
    assert_eq!(count, 3);
    assert_eq!(sim.closed().len(), 2);
    let (_permit, _waiter) = sim.open("a");
    sim.keep(in_flight);
    assert_eq!(sim.closed(), [(busy, CloseReason::Evicted)]);
    assert_eq!(sim.pool.totals().closed_by(CloseReason::Evicted), 3);
    assert_eq!(sim.counters("b").idle, 2);
}

#[test]
fn f111_close_idle_closes_what_is_idle_and_the_pool_goes_on() {
    let mut sim = Sim::new(Limits::default());
    sim.idle("a", 3);
    let busy = sim.reuse("a");
    assert_eq!(sim.pool.close_idle(sim.now, &mut sim.actions), 2);
    assert!(sim.closed().iter().all(|closed| closed.1 == CloseReason::CloseIdle));
    sim.keep(busy);
    assert!(sim.reuse("a").reused());
}

#[test]
fn f111_a_closed_pool_refuses_and_drains() {
    let mut sim = Sim::new(Limits { max_connections: 3, ..Limits::default() });
    let busy = sim.fresh("a");
    let (uncollected, given) = sim.open("a");
    sim.connect(uncollected);
    let (dialling, dialler) = sim.open("a");
    let queued = sim.wait("a");
    let idle = sim.idle("b", 1)[0];

    sim.pool.close(sim.now, &mut sim.actions);
    assert_eq!(sim.closed(), [(idle, CloseReason::Shutdown)]);
    for waiter in [dialler, queued] {
        let polled = sim.poll(waiter);
        assert!(matches!(polled, Poll::Ready(Grant::Refused(RefuseReason::Closed))));
    }
    assert_eq!(sim.refusal("a"), RefuseReason::Closed);
    assert_eq!(sim.refusal("c"), RefuseReason::Closed);
    let origin = sim.pool.insert("a");
    assert_eq!(sim.pool.open(origin, sim.now).err(), Some(RefuseReason::Closed));
    assert!(!sim.pool.is_drained());

    let given = sim.lease(given);
    sim.connect(dialling);
    sim.keep(busy);
    sim.keep(given);
    let reasons: Vec<_> = sim.closed().into_iter().map(|closed| closed.1).collect();
    assert_eq!(reasons, [CloseReason::Shutdown; 3]);
    assert!(sim.pool.is_drained());
    assert_eq!(sim.pool.origins().count(), 0);
}

#[test]
fn f112_nothing_of_a_closed_pool_with_idle_connections_stays() {
    let mut sim = Sim::new(Limits::default());
    sim.idle("a", 10);
    sim.pool.close(sim.now, &mut sim.actions);
    assert_eq!(sim.closed().len(), 10);
    assert!(sim.pool.is_drained());
    assert_eq!(sim.pool.next_deadline(), None, "no timer is left running");
}

#[test]
fn the_news_of_a_peer_that_closes_is_taken_once() {
    let mut sim = Sim::new(Limits::default());
    let id = sim.idle("a", 1)[0];
    for _ in 0..2 {
        sim.pool.closed_by_peer(id, CloseReason::ClosedByPeer, sim.now, &mut sim.actions);
    }
    assert_eq!(sim.closed(), [(id, CloseReason::ClosedByPeer)]);
    assert_eq!(sim.pool.lease_idle(id, sim.now).map(|_| ()), None);
}
