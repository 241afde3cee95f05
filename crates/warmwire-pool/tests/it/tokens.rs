//! Tokens and ids that the pool did not give, or that name what is gone.

use warmwire_pool::{Limits, Verdict};

use crate::support::Sim;

/// A bug of the driver, which a debug build reports and a release build survives.
#[test]
#[cfg_attr(debug_assertions, should_panic(expected = "another pool"))]
fn a_lease_of_another_pool_changes_nothing() {
    let (mut sim, mut other) = (Sim::new(Limits::default()), Sim::new(Limits::default()));
    sim.idle("a", 1);
    let foreign = other.fresh("a");
    let before = sim.pool.totals().clone();
    sim.release(foreign, Verdict::Untouched);
    assert_eq!(sim.pool.totals(), &before);
}

#[test]
#[cfg_attr(debug_assertions, should_panic(expected = "another pool"))]
fn a_permit_of_another_pool_changes_nothing() {
    let (mut sim, mut other) = (Sim::new(Limits::default()), Sim::new(Limits::default()));
    sim.idle("a", 1);
    let (foreign, _waiter) = other.open("a");
    let before = sim.pool.totals().clone();
    sim.fail(foreign, "refused");
    assert_eq!(sim.pool.totals(), &before);
}

#[test]
fn an_id_that_names_what_is_gone_does_nothing() {
    let mut sim = Sim::new(Limits { max_idle: 0, ..Limits::default() });
    let (permit, waiter) = sim.open("a");
    let id = sim.connect(permit);
    let lease = sim.lease(waiter);
    sim.keep(lease);
    let (_permit, _waiter) = sim.open("a");
    let before = sim.pool.totals().clone();
    sim.cancel(waiter);
    sim.pool.set_slots(id, 5, sim.now, &mut sim.actions);
    assert!(sim.pool.lease_idle(id, sim.now).is_none());
    assert_eq!(sim.pool.totals(), &before);
}

#[test]
fn connection_numbers_count_from_one_and_are_never_used_again() {
    let mut sim = Sim::new(Limits { max_idle: 0, ..Limits::default() });
    for number in ["1", "2", "3"] {
        let lease = sim.fresh("a");
        assert_eq!(lease.connection().to_string(), number);
        assert_eq!(format!("{:?}", lease.connection()), format!("ConnectionId({number})"));
        sim.keep(lease);
    }
}

#[test]
fn a_pool_can_live_behind_a_mutex() {
    fn shared<T: Send + Sync>(_: &T) {}
    shared(&std::sync::Mutex::new(Sim::new(Limits::default()).pool));
}
