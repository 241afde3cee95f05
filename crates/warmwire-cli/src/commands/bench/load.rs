//! Sends requests in a closed or an open loop.

use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::Instant;

use super::plan::Pace;
use super::record::{Outcome, Record};
use crate::commands::interrupt::Interrupt;
use crate::timer::Timer;

/// The kind of failure of a request that was due while too many were under way.
const OVERRUN: &str = "overrun";

/// The load of one side in one round.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Portion {
    /// At most so many requests.
    pub(crate) requests: Option<u64>,
    /// None is begun after so long.
    pub(crate) duration: Option<Duration>,
    pub(crate) pace: Pace,
}

/// A record that requests under way write to.
#[derive(Clone, Default)]
pub(crate) struct SharedRecord(Arc<Mutex<Record>>);

impl SharedRecord {
    /// The record, for as long as the guard lives.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Record> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sends `portion` and returns how long it took.
///
/// An interrupt ends it at once: requests under way are dropped and not counted.
pub(crate) async fn run<S, F>(
    portion: Portion,
    timer: &impl Timer,
    interrupt: &Interrupt,
    record: &SharedRecord,
    send: S,
) -> Duration
where
    S: Fn() -> F + Clone + Send + 'static,
    F: Future<Output = Outcome> + Send + 'static,
{
    let start = Instant::now();
    let sending = async {
        match portion.pace {
            Pace::Closed { concurrency } => closed(portion, concurrency, record, send).await,
            Pace::Open { per_second, max_in_flight } => {
                open(portion, per_second, max_in_flight, timer, record, send).await;
            }
        }
    };
    tokio::select! {
        () = sending => {}
        () = interrupt.raised() => {}
    }
    start.elapsed()
}

async fn closed<S, F>(portion: Portion, concurrency: usize, record: &SharedRecord, send: S)
where
    S: Fn() -> F + Clone + Send + 'static,
    F: Future<Output = Outcome> + Send + 'static,
{
    let requests = portion.requests.unwrap_or(u64::MAX);
    let end = portion.duration.map(|duration| Instant::now() + duration);
    let begun = Arc::new(AtomicU64::new(0));
    let mut callers = JoinSet::new();
    for _ in 0..concurrency.min(requests.try_into().unwrap_or(usize::MAX)) {
        let (send, begun, record) = (send.clone(), Arc::clone(&begun), record.clone());
        callers.spawn(async move {
            while begun.fetch_add(1, Ordering::Relaxed) < requests {
                let start = Instant::now();
                if end.is_some_and(|end| start >= end) {
                    break;
                }
                let outcome = send().await;
                let latency = start.elapsed();
                record.lock().add(latency, outcome);
            }
        });
    }
    while callers.join_next().await.is_some() {}
}

async fn open<S, F>(
    portion: Portion,
    per_second: f64,
    max_in_flight: usize,
    timer: &impl Timer,
    record: &SharedRecord,
    send: S,
) where
    S: Fn() -> F + Clone + Send + 'static,
    F: Future<Output = Outcome> + Send + 'static,
{
    let start = Instant::now();
    let mut under_way = JoinSet::new();
    for number in 0..portion.requests.unwrap_or(u64::MAX) {
        // From the start and not from the request before, so that lateness does not add up.
        let after = Duration::from_secs_f64(number as f64 / per_second);
        if portion.duration.is_some_and(|duration| after >= duration) {
            break;
        }
        let due = start + after;
        timer.sleep_until(due.into_std()).await;
        while under_way.try_join_next().is_some() {}
        if under_way.len() >= max_in_flight {
            record
                .lock()
                .add(Duration::ZERO, Outcome::Failed { kind: OVERRUN.into(), error: None });
            continue;
        }
        let (request, record) = (send(), record.clone());
        under_way.spawn(async move {
            let outcome = request.await;
            // From when it was due: a request that a stall held back has waited since then.
            let latency = due.elapsed();
            record.lock().add(latency, outcome);
        });
    }
    while under_way.join_next().await.is_some() {}
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    /// Follows tokio's clock, which the tests stop and advance.
    #[derive(Clone)]
    struct VirtualTimer;

    impl Timer for VirtualTimer {
        async fn sleep_until(&self, at: std::time::Instant) {
            tokio::time::sleep_until(Instant::from_std(at)).await;
        }
    }

    fn answer_after(
        ms: u64,
    ) -> impl Fn() -> std::pin::Pin<Box<dyn Future<Output = Outcome> + Send>> + Clone + Send {
        move || {
            Box::pin(async move {
                tokio::time::sleep(Duration::from_millis(ms)).await;
                Outcome::Done { handshake: Duration::ZERO }
            })
        }
    }

    async fn run_virtual<S, F>(portion: Portion, send: S) -> (Record, Duration)
    where
        S: Fn() -> F + Clone + Send + 'static,
        F: Future<Output = Outcome> + Send + 'static,
    {
        let record = SharedRecord::default();
        let elapsed = run(portion, &VirtualTimer, &Interrupt::never(), &record, send).await;
        (std::mem::take(&mut *record.lock()), elapsed)
    }

    #[tokio::test(start_paused = true)]
    async fn a_closed_loop_keeps_its_concurrency_and_its_count() {
        let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (now_, most_) = (Arc::clone(&now), Arc::clone(&most));
        let portion =
            Portion { requests: Some(25), duration: None, pace: Pace::Closed { concurrency: 10 } };
        let (record, elapsed) = run_virtual(portion, move || {
            let (now, most) = (Arc::clone(&now_), Arc::clone(&most_));
            async move {
                most.fetch_max(now.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
                tokio::time::sleep(Duration::from_millis(100)).await;
                now.fetch_sub(1, Ordering::Relaxed);
                Outcome::Done { handshake: Duration::ZERO }
            }
        })
        .await;
        assert_eq!((record.requests(), most.load(Ordering::Relaxed)), (25, 10));
        assert!((300..310).contains(&elapsed.as_millis()), "{elapsed:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_duration_ends_a_closed_loop_after_the_requests_under_way() {
        let portion = Portion {
            requests: None,
            duration: Some(Duration::from_millis(250)),
            pace: Pace::Closed { concurrency: 4 },
        };
        let (record, elapsed) = run_virtual(portion, answer_after(100)).await;
        assert_eq!(record.requests(), 12);
        assert!((300..310).contains(&elapsed.as_millis()), "{elapsed:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn an_open_loop_sends_on_time_however_long_answers_take() {
        let portion = Portion {
            requests: Some(80),
            duration: None,
            pace: Pace::Open { per_second: 80.0, max_in_flight: 1000 },
        };
        let (record, elapsed) = run_virtual(portion, answer_after(500)).await;
        assert_eq!((record.answered(), record.failed()), (80, 0));
        // The last is due 79/80 of a second after the first.
        assert!((1487..1495).contains(&elapsed.as_millis()), "{elapsed:?}");
        assert!((record.quantile_ms(0.5) - 500.0).abs() < 3.0);
    }

    #[tokio::test(start_paused = true)]
    async fn latency_counts_from_the_time_a_request_was_due() {
        // The third request blocks the whole client for a second, as a stalled program does.
        let begun = Arc::new(AtomicUsize::new(0));
        let portion = Portion {
            requests: Some(100),
            duration: None,
            pace: Pace::Open { per_second: 100.0, max_in_flight: 1000 },
        };
        let (record, _) = run_virtual(portion, move || {
            let is_third = begun.fetch_add(1, Ordering::Relaxed) == 2;
            async move {
                if is_third {
                    tokio::time::advance(Duration::from_secs(1)).await;
                }
                Outcome::Done { handshake: Duration::ZERO }
            }
        })
        .await;
        assert_eq!(record.answered(), 100);
        // 97 were due during the stall, one every 10 ms: half of them waited for half a second.
        assert!((record.quantile_ms(0.5) - 500.0).abs() < 25.0, "{}", record.quantile_ms(0.5));
    }

    #[tokio::test(start_paused = true)]
    async fn an_open_loop_counts_what_it_could_not_begin() {
        let portion = Portion {
            requests: Some(20),
            duration: None,
            pace: Pace::Open { per_second: 100.0, max_in_flight: 5 },
        };
        let (record, _) = run_virtual(portion, answer_after(10_000)).await;
        assert_eq!((record.answered(), record.failed()), (5, 15));
        assert_eq!(record.failures()[OVERRUN], 15);
    }

    #[tokio::test(start_paused = true)]
    async fn an_interrupt_ends_the_load_and_keeps_what_was_measured() {
        let (interrupt, raise) = Interrupt::manual();
        let record = SharedRecord::default();
        let portion =
            Portion { requests: None, duration: None, pace: Pace::Closed { concurrency: 2 } };
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(350)).await;
            raise.send_replace(true);
        });
        run(portion, &VirtualTimer, &interrupt, &record, answer_after(100)).await;
        assert_eq!(record.lock().requests(), 6);
    }
}
