//! What is known of one name.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use std::{fmt, io};

use futures_util::FutureExt;
use futures_util::future::{Shared, WeakShared};
use tokio::time::Instant;

use super::addresses::Address;
use crate::{BoxFuture, Resolve, Resolved};

/// One name.
pub(super) struct Host {
    name: Box<str>,
    /// When the name is to be looked up again though nobody dials, in ms since the epoch of the
    /// names.
    again: AtomicU64,
    state: Mutex<State>,
}

#[derive(Default)]
pub(super) struct State {
    found: Vec<IpAddr>,
    valid_until: Option<Instant>,
    /// Weak: a look-up that nobody waits for any more ends.
    flight: Option<(WeakShared<Flight>, Instant)>,
    pub(super) addresses: HashMap<SocketAddr, Arc<Address>>,
}

type Flight = BoxFuture<'static, Result<Found, Arc<io::Error>>>;

/// A look-up that takes longer is joined by nobody more, so that one lost answer does not hold up
/// every dial that follows. The system's resolver asks again after 5 s.
const LONGEST_FLIGHT: Duration = Duration::from_secs(5);

/// An answer, and when it came.
#[derive(Clone)]
pub(super) struct Found {
    pub(super) resolved: Resolved,
    pub(super) at: Instant,
}

impl Host {
    pub(super) fn new(name: &str) -> Host {
        Host { name: name.into(), again: AtomicU64::new(u64::MAX), state: Mutex::default() }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The addresses, if their time is not over.
    pub(super) fn valid(&self, now: Instant) -> Option<Vec<IpAddr>> {
        let state = self.lock();
        state.is_valid(now).then(|| state.found.clone())
    }

    pub(super) fn is_valid(&self, now: Instant) -> bool {
        self.lock().is_valid(now)
    }

    /// One caller is told so in each `interval` (ms).
    pub(super) fn is_due(&self, now: u64, interval: u64) -> bool {
        let again = self.again.load(Ordering::Relaxed);
        now >= again && {
            // Until the answer is there, and if none comes.
            let next = now.saturating_add(interval.max(1000));
            self.again.compare_exchange(again, next, Ordering::Relaxed, Ordering::Relaxed).is_ok()
        }
    }

    /// Asks the resolver, or joins those who wait for its answer.
    pub(super) async fn look_up(&self, resolver: &Arc<dyn Resolve>) -> io::Result<Found> {
        let flight = self.flight(resolver);
        flight.await.map_err(|error| io::Error::new(error.kind(), SharedError(error)))
    }

    fn flight(&self, resolver: &Arc<dyn Resolve>) -> Shared<Flight> {
        let mut state = self.lock();
        let now = Instant::now();
        let young = state.flight.as_ref().filter(|(_, began)| now < *began + LONGEST_FLIGHT);
        let under_way = young.and_then(|(flight, _)| flight.upgrade());
        if let Some(flight) = under_way.filter(|flight| flight.peek().is_none()) {
            return flight;
        }
        let (resolver, name) = (resolver.clone(), self.name.clone());
        let flight: Flight = Box::pin(async move {
            // Begins when it is polled, without the lock: it may be a caller's own code.
            let resolved = resolver.resolve(&name).await.map_err(Arc::new)?;
            Ok(Found { resolved, at: Instant::now() })
        });
        let flight = flight.shared();
        state.flight = flight.downgrade().map(|weak| (weak, now));
        flight
    }

    /// Says whether connections are open to addresses that the name no longer has.
    pub(super) fn learn(&self, found: &[IpAddr], valid_until: Instant, again: u64) -> bool {
        let mut state = self.lock();
        state.found = found.to_vec();
        state.valid_until = Some(valid_until);
        self.again.store(again, Ordering::Relaxed);
        let mut lost = false;
        state.addresses.retain(|at, address| {
            let gone = !found.contains(&at.ip());
            address.set_gone(gone);
            lost |= gone && address.open() > 0;
            !gone || address.open() > 0
        });
        lost
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Whether the name has the address, as far as is known.
    pub(super) fn has(&self, ip: IpAddr) -> bool {
        self.found.contains(&ip)
    }

    fn is_valid(&self, now: Instant) -> bool {
        self.valid_until.is_some_and(|until| now < until)
    }
}

/// The error of a look-up that several dials waited for.
#[derive(Debug)]
struct SharedError(Arc<io::Error>);

impl fmt::Display for SharedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for SharedError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source()
    }
}
