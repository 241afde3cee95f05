//! Names: looked up once for all dials that wait, remembered for their time, and which of their
//! addresses a connection goes to.

mod addresses;
mod host;

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use self::host::Host;
use crate::{Resolve, SystemResolver};

pub use self::addresses::AddressUse;
pub(crate) use self::addresses::Choice;

/// How connections are spread over the addresses of a name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Spread {
    /// A connection goes to the address that has the fewest, by chance among equals.
    #[default]
    LeastConnections,
    /// Every connection goes to the first address that can be reached, in the resolver's order.
    InOrder,
}

/// Settings of [`Names`].
#[derive(Clone, Copy, Debug)]
pub struct NameSettings {
    /// How long addresses hold if the resolver tells no TTL.
    pub cache: Duration,
    /// How often a name in use is looked up again if the resolver tells no TTL; at least a second
    /// is waited.
    pub refresh: Duration,
    /// How connections are spread over addresses.
    pub spread: Spread,
    /// How long an address is tried last after it failed once; twice as long after each further
    /// time, up to thirty times this.
    pub set_back: Duration,
}

impl Default for NameSettings {
    fn default() -> Self {
        NameSettings {
            cache: Duration::from_secs(5),
            refresh: Duration::from_secs(30),
            spread: Spread::default(),
            set_back: Duration::from_secs(1),
        }
    }
}

/// Names whose memory is not looked through for what can be forgotten.
const FEW: usize = 64;

/// All names that an agent dials.
pub struct Names {
    resolver: Arc<dyn Resolve>,
    settings: NameSettings,
    epoch: Instant,
    known: Mutex<Known>,
    /// Connections are open to addresses that their names no longer have.
    lost: AtomicBool,
}

struct Known {
    hosts: HashMap<Box<str>, Arc<Host>>,
    /// At how many names the next look for forgettable ones is taken.
    look_at: usize,
}

impl Names {
    /// Nothing is known yet.
    pub fn new(resolver: Arc<dyn Resolve>, settings: NameSettings) -> Names {
        let known = Mutex::new(Known { hosts: HashMap::new(), look_at: FEW });
        Names { resolver, settings, epoch: Instant::now(), known, lost: AtomicBool::new(false) }
    }

    /// Whether a look-up since the last call has found that connections are open to addresses
    /// that are no longer their name's: see [`AddressUse::is_gone`].
    pub fn take_lost(&self) -> bool {
        self.lost.load(Ordering::Relaxed) && self.lost.swap(false, Ordering::AcqRel)
    }

    /// Whether the name behind a connection is to be looked up again. Of those who ask at about
    /// `now`, one is told so, and should call [`refresh`](Self::refresh).
    pub fn is_due(&self, used: &AddressUse, now: Instant) -> bool {
        used.host().is_due(self.since_epoch(now), self.settings.refresh.as_millis() as u64)
    }

    /// Looks the name behind a connection up again. A look-up that fails leaves what was known.
    pub async fn refresh(&self, used: &AddressUse) {
        // Whoever dials next tells of a failure.
        let _ = self.look_up(used.host()).await;
    }

    /// The addresses of `host`, in the order in which they are to be tried.
    pub(crate) async fn choose(&self, host: &str, port: u16) -> io::Result<Choice> {
        if let Ok(literal) = host.parse::<IpAddr>() {
            return Ok(Choice::literal(SocketAddr::new(literal, port)));
        }
        let host = self.host(host);
        let found = match host.valid(Instant::now()) {
            Some(found) => found,
            None => self.look_up(&host).await?,
        };
        Ok(Choice::of(&host, &found, port, &self.settings))
    }

    /// The TCP part of a dial that began at `begun` is over: what has `failed` is tried last, and
    /// the connection is counted on the address that was `reached`.
    pub(crate) fn count(
        &self,
        choice: Choice,
        reached: Option<SocketAddr>,
        failed: &[SocketAddr],
        begun: Instant,
    ) -> Option<AddressUse> {
        let counted = choice.end(reached, failed, begun, &self.settings);
        if counted.as_ref().is_some_and(AddressUse::is_gone) {
            self.lost.store(true, Ordering::Release);
        }
        counted
    }

    /// What answers at an address does not do what it should, as a dial that began at `begun` has
    /// found: the address is tried last for a while.
    pub fn note_failure(&self, used: &AddressUse, begun: Instant) {
        used.note_failure(begun, &self.settings);
    }

    /// The addresses of `host`, in the resolver's order.
    pub(crate) async fn addresses(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        if let Ok(literal) = host.parse() {
            return Ok(vec![literal]);
        }
        let host = self.host(host);
        match host.valid(Instant::now()) {
            Some(found) => Ok(found),
            None => self.look_up(&host).await,
        }
    }

    async fn look_up(&self, host: &Arc<Host>) -> io::Result<Vec<IpAddr>> {
        let found = host.look_up(&self.resolver).await?;
        if found.resolved.addresses.is_empty() {
            let text = format!("the resolver knows no address of {:?}", host.name());
            return Err(io::Error::new(io::ErrorKind::NotFound, text));
        }
        let ttl = found.resolved.valid_for;
        let valid = ttl.unwrap_or(self.settings.cache).min(LONGEST);
        let refresh = ttl.unwrap_or(self.settings.refresh).clamp(Duration::from_secs(1), LONGEST);
        let again = self.since_epoch(found.at + refresh);
        if host.learn(&found.resolved.addresses, found.at + valid, again) {
            self.lost.store(true, Ordering::Release);
        }
        Ok(found.resolved.addresses)
    }

    fn host(&self, name: &str) -> Arc<Host> {
        let mut known = self.lock();
        if let Some(host) = known.hosts.get(name) {
            return host.clone();
        }
        if known.hosts.len() >= known.look_at {
            let now = Instant::now();
            known.hosts.retain(|_, host| Arc::strong_count(host) > 1 || host.is_valid(now));
            known.look_at = (known.hosts.len() * 2).max(FEW);
        }
        let host = Arc::new(Host::new(name));
        known.hosts.insert(name.into(), host.clone());
        host
    }

    fn since_epoch(&self, at: Instant) -> u64 {
        at.saturating_duration_since(self.epoch).as_millis() as u64
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Names {
    fn default() -> Self {
        Names::new(Arc::new(SystemResolver), NameSettings::default())
    }
}

/// A TTL beyond a day is a mistake more often than a promise.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;
    use std::sync::atomic::AtomicUsize;

    use super::*;
    use crate::{BoxFuture, Resolved};

    /// Answers each look-up after a second, with a TTL of ten.
    #[derive(Default)]
    struct Counting(Arc<AtomicUsize>);

    impl Resolve for Counting {
        fn resolve(&self, _: &str) -> BoxFuture<'static, io::Result<Resolved>> {
            self.0.fetch_add(1, Ordering::SeqCst);
            Box::pin(async {
                tokio::time::sleep(Duration::from_secs(1)).await;
                let addresses = vec![IpAddr::V4(Ipv4Addr::LOCALHOST)];
                Ok(Resolved::new(addresses, Some(Duration::from_secs(10))))
            })
        }
    }

    fn counting() -> (Names, Arc<AtomicUsize>) {
        let count = Arc::new(AtomicUsize::new(0));
        (Names::new(Arc::new(Counting(count.clone())), NameSettings::default()), count)
    }

    #[tokio::test(start_paused = true)]
    async fn f093_dials_share_a_look_up_that_one_of_them_leaves() {
        let (names, count) = counting();
        let leaves = tokio::time::timeout(Duration::from_millis(500), names.choose("a", 80));
        let (left, stayed) = tokio::join!(leaves, names.choose("a", 80));
        assert!(left.is_err() && stayed.is_ok());
        assert_eq!(count.load(Ordering::SeqCst), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn f093_a_ttl_counts_from_the_look_up_and_not_from_the_last_use() {
        let (names, count) = counting();
        for _ in 0..9 {
            names.choose("a", 80).await.unwrap();
            tokio::time::advance(Duration::from_secs(1)).await;
        }
        assert_eq!(count.load(Ordering::SeqCst), 1);
        tokio::time::advance(Duration::from_secs(1)).await;
        names.choose("a", 80).await.unwrap();
        assert_eq!(count.load(Ordering::SeqCst), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn names_without_connections_whose_time_is_over_are_forgotten() {
        let (names, _) = counting();
        for number in 0..1000 {
            names.choose(&format!("host-{number}"), 80).await.unwrap();
        }
        assert!(names.lock().hosts.len() <= FEW, "{}", names.lock().hosts.len());
    }

    /// Looks, while it is asked, at what is known of the name.
    #[derive(Default)]
    struct Nosy(Arc<std::sync::OnceLock<Names>>);

    impl Resolve for Nosy {
        fn resolve(&self, host: &str) -> BoxFuture<'static, io::Result<Resolved>> {
            let names = self.0.get().expect("the test has set it");
            assert!(names.host(host).valid(Instant::now()).is_none());
            Box::pin(async { Ok(vec![IpAddr::V4(Ipv4Addr::LOCALHOST)].into()) })
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_resolver_is_asked_without_a_lock() {
        let nosy = Nosy::default();
        let names = nosy.0.clone();
        let made = Names::new(Arc::new(nosy), NameSettings::default());
        assert!(names.set(made).is_ok());
        names.get().expect("it was set").choose("a", 80).await.unwrap();
    }
}
