//! A few thousand requests of the soak; `examples/soak.rs` is the long one. A binary of its own, since
//! it counts what the process has on the heap and how many connections the kernel knows.
#![cfg(target_os = "linux")]

use std::alloc::System;
use std::time::Duration;

use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};
use warmwire_interop::soak::{self, Plan, Way};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_mischief_leaves_nothing_behind() {
    for (seed, way) in [(1, Way::Counted), (2, Way::Sockets), (4, Way::Counted), (9, Way::Sockets)]
    {
        let plan = Plan { seed, way, time: Duration::ZERO, requests: 20, allocated };
        soak::run(plan).await.unwrap();
    }
}

fn allocated() -> usize {
    let stats = ALLOCATOR.stats();
    stats.bytes_allocated.saturating_sub(stats.bytes_deallocated)
}
