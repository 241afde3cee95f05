//! How many requests may be sent again: a share of the requests of an origin.
//!
//! A token bucket. Every request puts the share of a token in, every repeat takes one out. So an
//! origin that loses connection after connection gets at most that share of requests on top, and not
//! twice as many. Repeats look at the count of requests when they happen: requests pay nothing.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Repeats that a quiet origin may have at once; one per second comes back.
const RESERVE: f64 = 10.0;

/// Tokens at most: a server that is restarted under load may lose that many requests at one moment.
const CAPACITY: f64 = 1_000.0;

/// Reuses after a repeat before which the connection is looked at in any case.
const WARY: u32 = 100;

/// The budget of one origin.
#[derive(Debug, Default)]
pub(crate) struct RetryBudget {
    bucket: Mutex<Bucket>,
    wary: AtomicU32,
    /// Requests until there is a repeat to be had again.
    short: AtomicU32,
}

#[derive(Debug)]
struct Bucket {
    tokens: f64,
    /// The requests up to here have put their share in.
    counted: Requests,
    last: Option<Instant>,
    /// The requests that a whole token was short of then.
    short: u32,
}

/// Requests of an origin since the pool knows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Requests {
    /// Tells an origin that was forgotten and has come back, and counts from zero again.
    pub(crate) incarnation: u64,
    pub(crate) count: u64,
}

impl Default for Bucket {
    fn default() -> Self {
        Bucket { tokens: RESERVE, counted: Requests::default(), last: None, short: 0 }
    }
}

impl RetryBudget {
    /// Takes a repeat out of the budget of `ratio` repeats for each request, if there is one left.
    pub(crate) fn take(&self, ratio: f64, requests: Requests, now: Instant) -> bool {
        self.wary.store(WARY, Ordering::Relaxed);
        let mut bucket = self.bucket.lock().unwrap_or_else(PoisonError::into_inner);
        let spared = bucket.short - self.short.load(Ordering::Relaxed).min(bucket.short);
        let granted = bucket.take(ratio, requests, spared, now);
        bucket.short = bucket.requests_short(ratio);
        self.short.store(bucket.short, Ordering::Relaxed);
        granted
    }

    /// Whether a request whose connection is lost could not be sent again. Each call counts as a
    /// request, which brings its share.
    pub(crate) fn is_spent(&self) -> bool {
        count_down(&self.short)
    }

    /// Whether connections have been lost lately, so that a look is worth its system call.
    pub(crate) fn is_wary(&self) -> bool {
        count_down(&self.wary)
    }
}

fn count_down(left: &AtomicU32) -> bool {
    let now = left.load(Ordering::Relaxed);
    if now > 0 {
        // Threads that do this at once count one for all, which makes no difference.
        left.store(now - 1, Ordering::Relaxed);
    }
    now > 0
}

impl Bucket {
    /// `spared`: the requests that were spared a risk since the last call.
    fn take(&mut self, ratio: f64, requests: Requests, spared: u32, now: Instant) -> bool {
        let new = match requests.incarnation == self.counted.incarnation {
            true => requests.count.saturating_sub(self.counted.count),
            false => requests.count,
        };
        // An origin that was forgotten in between has forgotten its requests too.
        let new = new.max(spared.into());
        self.counted = requests;
        // Repeats are among the requests that are counted.
        self.tokens += new as f64 * ratio / (1.0 + ratio);
        let quiet = self.last.map_or(0.0, |last| now.saturating_duration_since(last).as_secs_f64());
        self.last = Some(now);
        if self.tokens < RESERVE && ratio > 0.0 {
            self.tokens = (self.tokens + quiet).min(RESERVE);
        }
        self.tokens = self.tokens.min(CAPACITY);
        let granted = ratio > 0.0 && self.tokens >= 1.0;
        if granted {
            self.tokens -= 1.0;
        }
        granted
    }

    /// The requests that a whole token is short of. None where no repeat is wanted.
    fn requests_short(&self, ratio: f64) -> u32 {
        if ratio <= 0.0 || self.tokens >= 1.0 {
            return 0;
        }
        // One more than what may be a rounding error below. A share that is nearly none must not end
        // all reuse.
        let short = (1.0 - self.tokens) * (1.0 + ratio) / ratio;
        WARY.min(short as u32 + 1)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn requests(count: u64) -> Requests {
        Requests { incarnation: 1, count }
    }

    #[test]
    fn f002_a_fifth_of_the_requests_and_a_reserve_may_be_sent_again() {
        let (budget, now) = (RetryBudget::default(), Instant::now());
        let (mut first, mut again) = (0, 0);
        for _ in 0..10_000 {
            first += 1;
            again += u64::from(budget.take(0.2, requests(first + again), now));
        }
        assert!((2_000..=2_012).contains(&again), "{again}");
    }

    #[test]
    fn a_budget_that_is_spent_says_so_until_a_repeat_is_there_again() {
        let (budget, now) = (RetryBudget::default(), Instant::now());
        let (mut count, mut told) = (0, false);
        while budget.take(0.2, requests(count), now) {
            told = budget.is_spent();
            count += 1;
        }
        assert!(told, "the last repeat left none behind");
        let mut without = 0;
        while budget.is_spent() {
            without += 1;
        }
        assert!((1..=7).contains(&without), "{without}");
        assert!(budget.take(0.2, Requests { incarnation: 2, count: 1 }, now), "also if forgotten");
        let off = RetryBudget::default();
        assert!(!off.take(0.0, requests(1), now) && !off.is_spent());
    }

    #[test]
    fn a_quiet_origin_gets_its_reserve_back_a_second_each() {
        let (budget, start) = (RetryBudget::default(), Instant::now());
        let granted = |after| {
            let now = start + Duration::from_secs(after);
            (0..50).filter(|_| budget.take(0.2, requests(0), now)).count()
        };
        assert_eq!([granted(0), granted(3), granted(3), granted(1_000)], [10, 3, 0, 10]);
    }

    #[test]
    fn what_was_saved_up_is_bounded_and_an_origin_that_comes_back_counts_anew() {
        let (budget, now) = (RetryBudget::default(), Instant::now());
        let granted = |requests| (0..5_000).filter(|_| budget.take(0.2, requests, now)).count();
        assert_eq!(granted(requests(1_000_000)), 1_000);
        assert_eq!(granted(Requests { incarnation: 2, count: 60 }), 10);
    }

    #[test]
    fn a_ratio_of_zero_allows_none_and_of_one_all() {
        let (budget, now) = (RetryBudget::default(), Instant::now());
        assert!(!budget.take(0.0, requests(1_000), now));
        let budget = RetryBudget::default();
        assert!((1..1_000).all(|n| budget.take(1.0, requests(2 * n), now)));
    }
}
