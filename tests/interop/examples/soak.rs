//! The agent at full speed against servers that misbehave at random; ends with a report, or with what
//! must not happen. Half of the time it has its own sockets, the other half a connector that counts.
//!
//! `cargo run --release -p warmwire-interop --example soak -- --minutes 10 [--seed 7]`

use std::alloc::System;
use std::io::{self, Write as _};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};
use warmwire_interop::soak::{self, Plan, Way};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const USAGE: &str = "usage: soak [--minutes N] [--seed S]";

#[tokio::main]
async fn main() -> io::Result<()> {
    let wrong = || io::Error::new(io::ErrorKind::InvalidInput, USAGE);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let (mut minutes, mut seed) = (10.0, now.as_secs());
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        let value = arguments.next().ok_or_else(wrong)?;
        match name.as_str() {
            "--minutes" => minutes = value.parse().map_err(|_| wrong())?,
            "--seed" => seed = value.parse().map_err(|_| wrong())?,
            _ => return Err(wrong()),
        }
    }
    let time = Duration::try_from_secs_f64(60.0 * minutes / 2.0).map_err(|_| wrong())?;
    for way in [Way::Sockets, Way::Counted] {
        let report = soak::run(Plan { seed, way, time, requests: 1_000, allocated }).await?;
        writeln!(io::stdout(), "{report}")?;
    }
    Ok(())
}

fn allocated() -> usize {
    let stats = ALLOCATOR.stats();
    stats.bytes_allocated.saturating_sub(stats.bytes_deallocated)
}
