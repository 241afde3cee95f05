//! Which address a connection goes to: the one with the fewest, those that failed last.

use std::cmp::Reverse;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::host::Host;
use super::{NameSettings, Spread};
use crate::race::interleave;

/// The longest set-back, in first ones.
const MOST_SET_BACKS: u32 = 30;

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
    /// From when until when the address is tried last.
    set_back: Option<(Instant, Instant)>,
}

impl Address {
    pub(super) fn open(&self) -> usize {
        self.open.load(Ordering::Relaxed)
    }

    pub(super) fn set_gone(&self, gone: bool) {
        self.gone.store(gone, Ordering::Relaxed);
    }

    fn set_back_until(&self, now: Instant) -> Option<Instant> {
        let failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        failures.set_back.map(|(_, until)| until).filter(|until| now < *until)
    }

    /// It failed a dial that began at `begun`. `first` is how long it is tried last when it failed
    /// once; it is twice as long after each further time.
    fn set_back(&self, begun: Instant, first: Duration) {
        let now = Instant::now();
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        // What many dials have seen together is one outage.
        if failures.set_back.is_some_and(|(since, _)| begun < since) {
            return;
        }
        let doublings = 1 << failures.in_a_row.min(5);
        let time = first.saturating_mul(doublings).min(first.saturating_mul(MOST_SET_BACKS));
        // Half to whole: agents that lost an address together do not come back together.
        let share = 0.5 + (random() % 1024) as f64 / 2048.0;
        failures.in_a_row = failures.in_a_row.saturating_add(1);
        failures.set_back = now.checked_add(time.mul_f64(share)).map(|until| (now, until));
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

    /// The handshakes on the connection are done.
    pub(crate) fn note_success(&self) {
        self.address.clear();
    }

    /// They failed, in a dial that began at `begun`.
    pub(super) fn note_failure(&self, begun: Instant, settings: &NameSettings) {
        self.address.set_back(begun, settings.set_back);
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

    pub(super) fn of(
        host: &Arc<Host>,
        found: &[IpAddr],
        port: u16,
        settings: &NameSettings,
    ) -> Choice {
        let now = Instant::now();
        let mut state = host.lock();
        let prefers_v6 = found.first().is_some_and(IpAddr::is_ipv6);
        let (mut front, mut back) = (Vec::with_capacity(found.len()), Vec::new());
        for ip in found {
            let address = state.addresses.entry(SocketAddr::new(*ip, port)).or_default();
            let rank = match settings.spread {
                Spread::InOrder => (0, 0),
                Spread::LeastConnections => (address.open(), random()),
            };
            match address.set_back_until(now) {
                None => front.push(((Reverse(ip.is_ipv6() == prefers_v6), rank), *ip)),
                Some(until) => back.push((until, *ip)),
            }
        }
        // Stable, and by the family first only so that it leads where both take turns.
        front.sort_by_key(|(rank, _)| *rank);
        // Whichever is due first has had the most time to come back.
        back.sort_by_key(|(until, _)| *until);
        let front = interleave(front.into_iter().map(|(_, ip)| ip).collect());
        let order = front.into_iter().chain(back.into_iter().map(|(_, ip)| ip));
        let addresses: Vec<_> = order.map(|ip| SocketAddr::new(ip, port)).collect();
        let first = addresses.first().and_then(|at| state.addresses.get(at).cloned());
        let first = first.map(|address| AddressUse::new(host, address));
        Choice { addresses, first }
    }

    /// Leaves the choice to somebody who does not tell what became of it: the connection is counted
    /// on the address that was named first.
    pub(crate) fn into_first(self) -> Option<AddressUse> {
        self.first
    }

    /// Sets back what has `failed` in the dial that began at `begun`, and counts the connection on
    /// the address that was `reached`.
    pub(super) fn end(
        self,
        reached: Option<SocketAddr>,
        failed: &[SocketAddr],
        begun: Instant,
        settings: &NameSettings,
    ) -> Option<AddressUse> {
        let host = self.first.as_ref()?.host.clone();
        let mut state = host.lock();
        for address in failed.iter().filter_map(|at| state.addresses.get(at)) {
            address.set_back(begun, settings.set_back);
        }
        let reached = reached?;
        let gone = !state.has(reached.ip());
        let address = state.addresses.entry(reached).or_default().clone();
        // The name may have lost it while it was dialled.
        address.set_gone(gone);
        Some(AddressUse::new(&host, address))
    }
}

fn random() -> u64 {
    RandomState::new().hash_one(0u8)
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn ip(last: u8) -> IpAddr {
        IpAddr::V4(Ipv4Addr::new(10, 0, 0, last))
    }

    fn order(choice: &Choice) -> Vec<IpAddr> {
        choice.addresses.iter().map(SocketAddr::ip).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn f093_an_outage_that_many_dials_see_counts_once() {
        let address = Address::default();
        let begun = Instant::now();
        for _ in 0..10 {
            tokio::time::advance(Duration::from_millis(1)).await;
            address.set_back(begun, SECOND);
        }
        assert!(address.set_back_until(Instant::now()).is_some());
        tokio::time::advance(SECOND).await;
        assert!(address.set_back_until(Instant::now()).is_none());

        // One after the other it is longer each time, half a minute at most.
        for _ in 0..20 {
            tokio::time::advance(Duration::from_millis(1)).await;
            address.set_back(Instant::now(), SECOND);
        }
        let now = Instant::now();
        let until = address.set_back_until(now).expect("it has failed");
        assert!(until > now + 14 * SECOND && until <= now + 30 * SECOND, "{:?}", until - now);
    }

    #[tokio::test(start_paused = true)]
    async fn f093_no_set_back_is_none() {
        let address = Address::default();
        address.set_back(Instant::now(), Duration::ZERO);
        assert!(address.set_back_until(Instant::now()).is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn f093_where_all_have_failed_the_one_that_is_due_first_leads() {
        let host = Arc::new(Host::new("a"));
        let (found, settings) = ([ip(1), ip(2), ip(3)], NameSettings::default());
        for last in [2, 3, 1] {
            let choice = Choice::of(&host, &found, 80, &settings);
            // Far enough apart for the jitter.
            tokio::time::advance(Duration::from_millis(600)).await;
            let failed = [SocketAddr::new(ip(last), 80)];
            // Later ones are set back for longer too.
            let first = SECOND * (10 * u32::from(last == 3) + 100 * u32::from(last == 1) + 1);
            choice.end(
                None,
                &failed,
                Instant::now(),
                &NameSettings { set_back: first, ..settings },
            );
        }
        let choice = Choice::of(&host, &found, 80, &settings);
        assert_eq!(order(&choice), [ip(2), ip(3), ip(1)]);
    }

    #[tokio::test(start_paused = true)]
    async fn f092_an_address_that_is_lost_while_it_is_dialled_is_gone() {
        let host = Arc::new(Host::new("a"));
        let (now, settings) = (Instant::now(), NameSettings::default());
        host.learn(&[ip(1)], now + SECOND, u64::MAX);
        let choice = Choice::of(&host, &[ip(1)], 80, &settings);
        host.learn(&[ip(2)], now + SECOND, u64::MAX);
        let reached = Some(SocketAddr::new(ip(1), 80));
        let counted = choice.end(reached, &[], now, &settings).expect("it was reached");
        assert!(counted.is_gone());
    }
}
