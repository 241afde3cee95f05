//! Which address a connection goes to: the one with the fewest, those that failed last.

use std::cmp::Reverse;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::Spread;
use super::host::Host;
use crate::error::Attempt;
use crate::race::interleave;

/// How long an address is tried last after it failed once; twice as long after each further time.
const SET_BACK: Duration = Duration::from_secs(1);
const LONGEST_SET_BACK: Duration = Duration::from_secs(30);

/// One address of a name, with a port.
#[derive(Debug, Default)]
pub(super) struct Address {
    /// Connections that are open to it, and dials that try it first.
    open: AtomicUsize,
    /// The name no longer has it.
    gone: AtomicBool,
    failures: Mutex<Failures>,
}

#[derive(Debug, Default)]
struct Failures {
    in_a_row: u32,
    set_back_until: Option<Instant>,
}

impl Address {
    pub(super) fn open(&self) -> usize {
        self.open.load(Ordering::Relaxed)
    }

    pub(super) fn set_gone(&self, gone: bool) {
        self.gone.store(gone, Ordering::Relaxed);
    }

    fn is_set_back(&self, now: Instant) -> bool {
        let failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        failures.set_back_until.is_some_and(|until| now < until)
    }

    fn set_back(&self, now: Instant) {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        let time = SET_BACK.saturating_mul(1 << failures.in_a_row.min(5)).min(LONGEST_SET_BACK);
        // Half to whole: agents that lost an address together do not come back together.
        let share = 0.5 + (random() % 1024) as f64 / 2048.0;
        failures.in_a_row = failures.in_a_row.saturating_add(1);
        failures.set_back_until = Some(now + time.mul_f64(share));
    }

    fn clear(&self) {
        *self.failures.lock().unwrap_or_else(PoisonError::into_inner) = Failures::default();
    }
}

/// A connection, as it is counted on its address.
pub struct AddressUse {
    host: Arc<Host>,
    address: Arc<Address>,
    released: AtomicBool,
}

impl AddressUse {
    /// Whether the name no longer has the address.
    pub fn is_gone(&self) -> bool {
        self.address.gone.load(Ordering::Relaxed)
    }

    /// The connection is closed. So is it at the latest when this is dropped.
    pub fn release(&self) {
        if !self.released.swap(true, Ordering::Relaxed) {
            self.address.open.fetch_sub(1, Ordering::Relaxed);
        }
    }

    pub(super) fn host(&self) -> &Arc<Host> {
        &self.host
    }

    fn new(host: &Arc<Host>, address: Arc<Address>) -> AddressUse {
        address.open.fetch_add(1, Ordering::Relaxed);
        AddressUse { host: host.clone(), address, released: AtomicBool::new(false) }
    }
}

impl fmt::Debug for AddressUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AddressUse")
            .field("host", &self.host.name())
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

impl Drop for AddressUse {
    fn drop(&mut self) {
        self.release();
    }
}

/// The addresses for one dial, in the order in which they are to be tried.
pub(crate) struct Choice {
    pub(crate) addresses: Vec<SocketAddr>,
    /// The dial is counted on the first of them, so that dials at the same time spread too. `None`
    /// for an IP literal.
    first: Option<AddressUse>,
}

impl Choice {
    pub(super) fn literal(address: SocketAddr) -> Choice {
        Choice { addresses: vec![address], first: None }
    }

    pub(super) fn of(host: &Arc<Host>, found: &[IpAddr], port: u16, spread: Spread) -> Choice {
        let now = Instant::now();
        let mut state = host.lock();
        let prefers_v6 = found.first().is_some_and(IpAddr::is_ipv6);
        let mut ranked: Vec<_> = found
            .iter()
            .map(|ip| {
                let address = state.addresses.entry(SocketAddr::new(*ip, port)).or_default();
                let rank = match spread {
                    Spread::InOrder => (0, 0),
                    Spread::LeastConnections => (address.open(), random()),
                };
                let preferred = ip.is_ipv6() == prefers_v6;
                ((address.is_set_back(now), Reverse(preferred), rank), *ip)
            })
            .collect();
        // Stable, and by the family first only so that it leads where both take turns.
        ranked.sort_by_key(|(rank, _)| *rank);
        let (back, front): (Vec<_>, Vec<_>) = ranked.into_iter().partition(|((back, ..), _)| *back);
        let turns =
            |group: Vec<(_, IpAddr)>| interleave(group.into_iter().map(|of| of.1).collect());
        let order = turns(front).into_iter().chain(turns(back));
        let addresses: Vec<_> = order.map(|ip| SocketAddr::new(ip, port)).collect();
        let first = addresses.first().and_then(|at| state.addresses.get(at).cloned());
        let first = first.map(|address| AddressUse::new(host, address));
        Choice { addresses, first }
    }

    /// The dial is done: what has failed is set back, and what was reached is counted.
    pub(crate) fn done(
        self,
        reached: Option<SocketAddr>,
        attempts: &[Attempt],
        patience: Duration,
    ) -> Option<AddressUse> {
        let host = self.first.as_ref()?.host.clone();
        let mut state = host.lock();
        let now = Instant::now();
        for Attempt { address, elapsed, error } in attempts {
            // One that lost the race, or was never tried, has not failed.
            if *elapsed < patience && error.kind() == std::io::ErrorKind::TimedOut {
                continue;
            }
            if let Some(address) = state.addresses.get(address) {
                address.set_back(now);
            }
        }
        let address = state.addresses.entry(reached?).or_default().clone();
        address.clear();
        Some(AddressUse::new(&host, address))
    }
}

fn random() -> u64 {
    RandomState::new().hash_one(0u8)
}
