//! Sleeping precisely.
//!
//! tokio's timer has a grain of one millisecond and rounds up: a simulated half round trip of
//! 12.5 ms would last 13 to 14 ms, and four of them would show as a tenth more than the arithmetic
//! says. A thread that sleeps in the kernel is late by about 60 µs.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::future::Future;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

/// Something that can sleep until an instant; tests pass one that follows tokio's virtual clock.
pub(crate) trait Timer: Clone + Send + Sync + 'static {
    /// Completes at `at`, at once when `at` has passed.
    fn sleep_until(&self, at: Instant) -> impl Future<Output = ()> + Send;
}

/// A thread that wakes futures at their instants, a few dozen microseconds late at most when the
/// machine has a core to spare. The thread lives as long as the process.
#[derive(Clone)]
pub(crate) struct PreciseTimer {
    shared: Arc<Shared>,
}

struct Shared {
    sleepers: Mutex<BinaryHeap<Reverse<Sleeper>>>,
    earlier: Condvar,
}

struct Sleeper {
    at: Instant,
    wake: oneshot::Sender<()>,
}

impl PreciseTimer {
    /// Starts the thread.
    ///
    /// # Errors
    /// When the system refuses another thread.
    pub(crate) fn start() -> io::Result<Self> {
        let shared = Arc::new(Shared { sleepers: Mutex::default(), earlier: Condvar::new() });
        let of_thread = Arc::clone(&shared);
        std::thread::Builder::new().name("timer".to_owned()).spawn(move || of_thread.run())?;
        Ok(Self { shared })
    }

    /// Completes after `duration`; at once, without a wake-up, when it is zero.
    pub(crate) async fn sleep(&self, duration: Duration) {
        if !duration.is_zero() {
            self.sleep_until(Instant::now() + duration).await;
        }
    }
}

impl Timer for PreciseTimer {
    async fn sleep_until(&self, at: Instant) {
        if at <= Instant::now() {
            return;
        }
        let (wake, woken) = oneshot::channel();
        let is_first = {
            let mut sleepers = self.shared.lock();
            let is_first = sleepers.peek().is_none_or(|Reverse(first)| at < first.at);
            sleepers.push(Reverse(Sleeper { at, wake }));
            is_first
        };
        if is_first {
            self.shared.earlier.notify_one();
        }
        // The thread never drops a sleeper without waking it.
        let _ = woken.await;
    }
}

impl Shared {
    fn run(&self) -> ! {
        let mut sleepers = self.lock();
        loop {
            let now = Instant::now();
            while sleepers.peek().is_some_and(|Reverse(first)| first.at <= now) {
                if let Some(Reverse(sleeper)) = sleepers.pop() {
                    // A sleeper whose future was dropped has nobody to tell.
                    let _ = sleeper.wake.send(());
                }
            }
            sleepers = match sleepers.peek() {
                None => self.earlier.wait(sleepers).unwrap_or_else(PoisonError::into_inner),
                Some(Reverse(first)) => {
                    let left = first.at.saturating_duration_since(Instant::now());
                    self.earlier
                        .wait_timeout(sleepers, left)
                        .unwrap_or_else(PoisonError::into_inner)
                        .0
                }
            };
        }
    }

    fn lock(&self) -> MutexGuard<'_, BinaryHeap<Reverse<Sleeper>>> {
        self.sleepers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PartialEq for Sleeper {
    fn eq(&self, other: &Self) -> bool {
        self.at == other.at
    }
}

impl Eq for Sleeper {}

impl PartialOrd for Sleeper {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Sleeper {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.at.cmp(&other.at)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[tokio::test]
    async fn sleepers_wake_in_the_order_of_their_instants_and_never_early() {
        let timer = PreciseTimer::start().unwrap();
        let (woken, order) = mpsc::channel();
        let start = Instant::now();
        let sleepers: Vec<_> = [20_u64, 5, 0, 10]
            .into_iter()
            .map(|ms| {
                let (timer, woken) = (timer.clone(), woken.clone());
                tokio::spawn(async move {
                    let at = start + Duration::from_millis(ms);
                    timer.sleep_until(at).await;
                    assert!(Instant::now() >= at);
                    woken.send(ms).unwrap();
                })
            })
            .collect();
        for sleeper in sleepers {
            sleeper.await.unwrap();
        }
        assert_eq!(order.try_iter().collect::<Vec<_>>(), [0, 5, 10, 20]);
    }
}
