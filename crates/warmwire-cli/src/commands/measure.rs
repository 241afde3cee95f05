//! What this process, the client, costs.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// CPU time of all threads of this process since its start.
pub(crate) fn cpu_time() -> Duration {
    let spent = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(spent.tv_sec.try_into().unwrap_or(0), spent.tv_nsec.try_into().unwrap_or(0))
}

/// Resident memory of this process in bytes; `None` where the system does not tell.
pub(crate) fn resident_bytes() -> Option<u64> {
    // The second field of statm counts resident pages (proc(5)).
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = statm.split_ascii_whitespace().nth(1)?.parse().ok()?;
    Some(pages * rustix::param::page_size() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_cost_something() {
        let before = cpu_time();
        let mut sum = 0_u64;
        while cpu_time() - before < Duration::from_millis(2) {
            sum = sum.wrapping_add(std::hint::black_box(1));
        }
        assert!(sum > 0);
        assert!(
            !cfg!(target_os = "linux") || resident_bytes().is_some_and(|bytes| bytes > 100_000)
        );
    }
}
