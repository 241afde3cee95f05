//! The lock around the pool under thousands of random schedules of threads.
//!
//! `src/pooled/` is included with shuttle's locks in the place of the standard ones, so that
//! every lock is a point at which another thread may run. When a schedule fails, shuttle prints
//! its seed; `SHUTTLE_RANDOM_SEED` runs it again.

#[path = "../../src/pooled/mod.rs"]
#[allow(dead_code, reason = "the agent uses more of it than the schedules do")]
mod pooled;
mod scenario;
mod world;

/// What `pooled` calls its locks by.
mod sync {
    pub(crate) use shuttle::sync::{Arc, Mutex, MutexGuard, PoisonError};
}

use crate::scenario::{Close, Scenario};

const SCHEDULES: usize = 20_000;

/// Every connection is closed by the pool's own decision, while others wait for its place.
#[test]
fn f005_a_connection_keeps_its_place_until_it_is_closed() {
    let scenario = Scenario {
        max_connections: 1,
        max_requests: Some(1),
        min_idle: 0,
        callers: 4,
        abandon: 0.1,
        close: Close::Never,
    };
    shuttle::check_random(move || scenario.run(), SCHEDULES);
}

#[test]
fn f022_a_connection_is_expired_or_handed_out_and_never_both() {
    let scenario = Scenario {
        max_connections: 2,
        max_requests: None,
        min_idle: 0,
        callers: 4,
        abandon: 0.0,
        close: Close::Never,
    };
    shuttle::check_random(move || scenario.run(), SCHEDULES);
}

#[test]
fn f023_cancelled_requests_and_abandoned_dials_leave_nothing_behind() {
    let scenario = Scenario {
        max_connections: 1,
        max_requests: None,
        min_idle: 0,
        callers: 4,
        abandon: 0.5,
        close: Close::Never,
    };
    shuttle::check_random(move || scenario.run(), SCHEDULES);
}

#[test]
fn f059_requests_and_cancellations_at_a_limit_all_end() {
    let scenario = Scenario {
        max_connections: 2,
        max_requests: None,
        min_idle: 0,
        callers: 6,
        abandon: 0.3,
        close: Close::Never,
    };
    shuttle::check_pct(move || scenario.run(), SCHEDULES, 3);
}

#[test]
fn f111_closing_amid_requests_ends_them_all_and_drains_the_pool() {
    let scenario = Scenario {
        max_connections: 2,
        max_requests: None,
        min_idle: 0,
        callers: 4,
        abandon: 0.2,
        close: Close::Amid,
    };
    shuttle::check_random(move || scenario.run(), SCHEDULES);
}

#[test]
fn f091_connections_dialled_ahead_stay_within_the_limit_and_end_with_the_pool() {
    let scenario = Scenario {
        max_connections: 2,
        max_requests: None,
        min_idle: 2,
        callers: 3,
        abandon: 0.2,
        close: Close::Amid,
    };
    shuttle::check_random(move || scenario.run(), SCHEDULES);
}
