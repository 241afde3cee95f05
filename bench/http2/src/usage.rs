//! What this process uses, and where it runs.

use std::io;
use std::time::Duration;

use nix::sched::{CpuSet, sched_setaffinity};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeVal;
use nix::unistd::Pid;

#[cfg(feature = "count-alloc")]
#[global_allocator]
static ALLOCATOR: &stats_alloc::StatsAlloc<std::alloc::System> = &stats_alloc::INSTRUMENTED_SYSTEM;

/// Keeps this process on one core.
pub fn pin(core: usize) -> io::Result<()> {
    let mut cores = CpuSet::new();
    cores.set(core)?;
    Ok(sched_setaffinity(Pid::from_raw(0), &cores)?)
}

/// CPU time of this process until now.
pub fn cpu() -> io::Result<Duration> {
    let usage = getrusage(UsageWho::RUSAGE_SELF)?;
    Ok(duration(usage.user_time()) + duration(usage.system_time()))
}

fn duration(time: TimeVal) -> Duration {
    let micros = time.tv_sec() * 1_000_000 + time.tv_usec();
    Duration::from_micros(micros.unsigned_abs())
}

/// Allocations until now, growing ones included; 0 unless built with `count-alloc`.
pub fn allocations() -> usize {
    #[cfg(feature = "count-alloc")]
    {
        let stats = ALLOCATOR.stats();
        stats.allocations + stats.reallocations
    }
    #[cfg(not(feature = "count-alloc"))]
    0
}
