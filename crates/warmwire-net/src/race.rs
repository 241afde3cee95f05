//! Addresses raced as RFC 8305 ("Happy Eyeballs") says.

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::time::Instant;

use crate::error::Attempt;

/// Families in turn, the first address's family first (RFC 8305, section 4).
pub(crate) fn interleave(addresses: Vec<IpAddr>) -> VecDeque<IpAddr> {
    let first_is_v6 = addresses.first().is_some_and(IpAddr::is_ipv6);
    let (mut first, mut second): (VecDeque<_>, VecDeque<_>) =
        addresses.into_iter().partition(|address| address.is_ipv6() == first_is_v6);
    let mut mixed = VecDeque::with_capacity(first.len() + second.len());
    while let Some(address) = first.pop_front() {
        mixed.push_back(address);
        mixed.extend(second.pop_front());
    }
    mixed.extend(second);
    mixed
}

/// The addresses that a race has tried, also those whose end it did not wait for.
#[derive(Debug, Default)]
pub(crate) struct Tried {
    /// Not begun yet.
    waiting: VecDeque<SocketAddr>,
    running: Vec<(SocketAddr, Instant)>,
    failed: Vec<Attempt>,
}

impl Tried {
    /// The addresses that have failed, by an error or by silence.
    ///
    /// Where another one was `won`, silent is who was given a head start of `delay` before it and
    /// has not used it; without a head start one has only been slower. Where none was, it is who
    /// had as much time, and in any case the one that had the most.
    pub(crate) fn failed(&self, delay: Duration, won: bool) -> Vec<SocketAddr> {
        let times = self.running.iter().map(|(address, began)| (*address, began.elapsed()));
        let most = times.clone().map(|(_, time)| time).max().unwrap_or_default();
        let enough = if won { delay } else { delay.min(most) };
        let silent = times.filter(|(_, time)| *time >= enough && !(won && delay.is_zero()));
        let errors = self.failed.iter().map(|attempt| attempt.address);
        errors.chain(silent.map(|(address, _)| address)).collect()
    }

    /// The attempts that ended by an error.
    pub(crate) fn into_errors(self) -> Vec<Attempt> {
        self.failed
    }

    /// The attempts that failed, those that were still running as timed out, and those that time
    /// did not suffice for.
    pub(crate) fn into_attempts(self) -> Vec<Attempt> {
        let mut attempts = self.failed;
        attempts.extend(self.running.into_iter().map(|(address, began)| Attempt {
            address,
            elapsed: began.elapsed(),
            error: io::ErrorKind::TimedOut.into(),
        }));
        attempts.extend(self.waiting.into_iter().map(|address| Attempt {
            address,
            elapsed: Duration::ZERO,
            error: io::Error::new(io::ErrorKind::TimedOut, "not tried before the time was up"),
        }));
        attempts
    }

    fn fail(&mut self, address: SocketAddr, error: io::Error) {
        let at = self.running.iter().position(|(running, _)| *running == address);
        let elapsed = at.map_or(Duration::ZERO, |at| self.running.swap_remove(at).1.elapsed());
        self.failed.push(Attempt { address, elapsed, error });
    }
}

/// Connects to the addresses, the next one `delay` after the one before or as soon as that one
/// has failed; the first that is up wins and the others are dropped.
///
/// What was tried is left in `tried`, also when the future is dropped.
pub(crate) async fn race<T, F>(
    addresses: Vec<SocketAddr>,
    delay: Duration,
    tried: &mut Tried,
    connect: impl Fn(SocketAddr) -> F,
) -> Option<(SocketAddr, T)>
where
    F: Future<Output = io::Result<T>>,
{
    tried.waiting = addresses.into();
    let mut running = FuturesUnordered::new();
    let start = |address| {
        let attempt = connect(address);
        async move { (address, attempt.await) }
    };
    while let Some(next) = tried.waiting.pop_front() {
        tried.running.push((next, Instant::now()));
        running.push(start(next));
        let step = tokio::time::sleep(delay);
        tokio::pin!(step);
        while let Some((address, result)) = tokio::select! {
            done = running.next() => done,
            () = &mut step, if !tried.waiting.is_empty() => None,
        } {
            match result {
                Ok(up) => {
                    tried.running.retain(|(running, _)| *running != address);
                    return Some((address, up));
                }
                Err(error) => tried.fail(address, error),
            }
            if !tried.waiting.is_empty() {
                break;
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Phases;
    use crate::error::{ConnectError, ConnectFault, ConnectPhase};

    fn ip(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    fn at(text: &str) -> SocketAddr {
        text.parse().expect("an address with a port")
    }

    #[test]
    fn families_take_turns() {
        let mixed = interleave(vec![ip("::1"), ip("::2"), ip("127.0.0.1"), ip("127.0.0.2")]);
        assert_eq!(mixed, [ip("::1"), ip("127.0.0.1"), ip("::2"), ip("127.0.0.2")]);
    }

    #[tokio::test(start_paused = true)]
    async fn f094_next_address_starts_after_the_delay() {
        let began = Instant::now();
        let mut tried = Tried::default();
        let delay = Duration::from_millis(50);
        let addresses = vec![at("[::1]:1"), at("127.0.0.1:1")];
        let won = race(addresses, delay, &mut tried, |address| async move {
            match address.is_ipv6() {
                true => std::future::pending().await,
                false => Ok(()),
            }
        });
        assert_eq!(won.await, Some((at("127.0.0.1:1"), ())));
        assert_eq!(began.elapsed(), delay);
        let tried = tried.into_attempts();
        assert_eq!(tried.len(), 1, "the one that was still running is named: {tried:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn f094_a_failure_starts_the_next_at_once_and_all_are_named() {
        let began = Instant::now();
        let mut tried = Tried::default();
        let addresses = vec![at("[::1]:1"), at("127.0.0.1:1")];
        let won = race(addresses, Duration::from_secs(9), &mut tried, |_| async {
            Err::<(), _>(io::Error::from(io::ErrorKind::ConnectionRefused))
        });
        assert_eq!(won.await, None);
        assert_eq!(began.elapsed(), Duration::ZERO);
        let named: Vec<_> =
            tried.into_attempts().into_iter().map(|attempt| attempt.address).collect();
        assert_eq!(named, [at("[::1]:1"), at("127.0.0.1:1")]);
    }

    #[tokio::test(start_paused = true)]
    async fn f094_addresses_that_time_did_not_suffice_for_are_named() {
        let mut tried = Tried::default();
        let delay = Duration::from_millis(250);
        let addresses = (1..=20).map(|last| at(&format!("127.0.0.{last}:1"))).collect();
        let silent =
            race(addresses, delay, &mut tried, |_| std::future::pending::<io::Result<()>>());
        assert!(tokio::time::timeout(delay * 2 + delay / 2, silent).await.is_err());
        let attempts = tried.into_attempts();
        assert_eq!(attempts.len(), 20);
        let untried = |of: &&Attempt| of.error.to_string().contains("not tried");
        assert_eq!(attempts.iter().filter(untried).count(), 17);

        let fault = ConnectFault::TimedOut;
        let (phase, phases) = (ConnectPhase::Connect, Phases::default());
        let text = ConnectError { phase, fault, attempts, phases }.to_string();
        assert!(text.contains("127.0.0.16:1") && text.ends_with("and 4 more)"), "{text}");
        assert!(!text.contains("127.0.0.17:1"), "{text}");
    }

    /// What [`Tried::failed`] says after `time`, where all are silent but 127.0.0.9, which is up
    /// after 10 ms.
    async fn failed(addresses: &[u8], delay: u64, time: u64) -> Vec<String> {
        let (delay, time) = (Duration::from_millis(delay), Duration::from_millis(time));
        let mut tried = Tried::default();
        let addresses = addresses.iter().map(|last| at(&format!("127.0.0.{last}:1"))).collect();
        let dial = race(addresses, delay, &mut tried, |address| async move {
            match address == at("127.0.0.9:1") {
                true => tokio::time::sleep(Duration::from_millis(10)).await,
                false => std::future::pending().await,
            }
            Ok(())
        });
        let won = tokio::time::timeout(time, dial).await.is_ok();
        tried.failed(delay, won).iter().map(|at| at.ip().to_string()).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn f093_silent_is_who_did_not_use_its_head_start() {
        assert_eq!(failed(&[1, 9], 250, 1000).await, ["127.0.0.1"]);
        assert_eq!(failed(&[9, 1], 250, 1000).await, [""; 0], "never tried");
        assert_eq!(failed(&[9, 1], 8, 1000).await, [""; 0], "lost the race");
        assert_eq!(failed(&[1, 9, 2], 0, 1000).await, [""; 0], "there was no head start");
    }

    #[tokio::test(start_paused = true)]
    async fn f093_where_nobody_answers_in_time_the_longest_tried_has_failed() {
        assert_eq!(failed(&[1, 2], 250, 100).await, ["127.0.0.1"], "2 was never tried");
        assert_eq!(failed(&[1, 2], 250, 300).await, ["127.0.0.1"], "2 had little time");
        assert_eq!(failed(&[1, 2], 250, 600).await, ["127.0.0.1", "127.0.0.2"]);
        assert_eq!(failed(&[1, 2], 0, 100).await, ["127.0.0.1", "127.0.0.2"]);
    }
}
