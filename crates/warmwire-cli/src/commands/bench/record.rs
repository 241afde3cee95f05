//! What the requests of one side came to.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

use hdrhistogram::Histogram;
use warmwire::Error;

/// The longest latency that is told apart from longer ones.
const LONGEST: Duration = Duration::from_secs(3600);

/// Buckets of a histogram that make a factor of ten: each bound is 6 % above the one before.
pub(crate) const BUCKETS_PER_DECADE: f64 = 40.0;

/// How one request ended.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// With a response, its body read to the end.
    Done {
        /// The part of its time that look-up, TCP connect and TLS handshake took.
        handshake: Duration,
    },
    /// With a failure.
    Failed {
        /// What it is counted as.
        kind: Cow<'static, str>,
        /// The agent's error, if it was one.
        error: Option<Error>,
    },
}

/// Latencies of the requests that were answered, failures by kind of the others.
#[derive(Debug)]
pub(crate) struct Record {
    /// In microseconds, with three significant digits.
    latencies: Histogram<u64>,
    latency_sum: Duration,
    handshake_sum: Duration,
    failures: BTreeMap<Cow<'static, str>, u64>,
    failed: u64,
    /// The text of the first failure that was an error of the agent's.
    first_error: Option<String>,
}

impl Default for Record {
    fn default() -> Self {
        Self {
            latencies: Histogram::new_with_bounds(1, LONGEST.as_micros() as u64, 3)
                .expect("1 to an hour with three digits are bounds that a histogram takes"),
            latency_sum: Duration::ZERO,
            handshake_sum: Duration::ZERO,
            failures: BTreeMap::new(),
            failed: 0,
            first_error: None,
        }
    }
}

impl Record {
    /// Counts one request.
    pub(crate) fn add(&mut self, latency: Duration, outcome: Outcome) {
        match outcome {
            Outcome::Done { handshake } => {
                self.latencies
                    .saturating_record(latency.as_micros().try_into().unwrap_or(u64::MAX));
                self.latency_sum += latency;
                self.handshake_sum += handshake;
            }
            Outcome::Failed { kind, error } => {
                self.failed += 1;
                *self.failures.entry(kind).or_insert(0) += 1;
                if self.first_error.is_none() {
                    self.first_error = error.map(|error| error.to_string());
                }
            }
        }
    }

    /// Counts all of `other` here.
    pub(crate) fn merge(&mut self, other: Self) {
        // Both have the same bounds, the only thing that can go wrong.
        let _ = self.latencies.add(&other.latencies);
        self.latency_sum += other.latency_sum;
        self.handshake_sum += other.handshake_sum;
        self.failed += other.failed;
        self.first_error = self.first_error.take().or(other.first_error);
        for (kind, count) in other.failures {
            *self.failures.entry(kind).or_insert(0) += count;
        }
    }

    /// Requests that were answered.
    pub(crate) fn answered(&self) -> u64 {
        self.latencies.len()
    }

    /// Requests that failed.
    pub(crate) fn failed(&self) -> u64 {
        self.failed
    }

    /// All requests.
    pub(crate) fn requests(&self) -> u64 {
        self.answered() + self.failed
    }

    /// Whether there were requests and none was answered.
    pub(crate) fn all_failed(&self) -> bool {
        self.failed > 0 && self.answered() == 0
    }

    /// Failures by kind.
    pub(crate) fn failures(&self) -> BTreeMap<String, u64> {
        self.failures.iter().map(|(kind, count)| (kind.to_string(), *count)).collect()
    }

    /// The text of the first failure that was an error of the agent's.
    pub(crate) fn first_error(&self) -> Option<&str> {
        self.first_error.as_deref()
    }

    /// The latency in milliseconds that `quantile` of the answered requests did not exceed.
    pub(crate) fn quantile_ms(&self, quantile: f64) -> f64 {
        self.latencies.value_at_quantile(quantile) as f64 / 1e3
    }

    /// The longest latency in milliseconds.
    pub(crate) fn max_ms(&self) -> f64 {
        self.latencies.max() as f64 / 1e3
    }

    /// The mean latency in milliseconds.
    pub(crate) fn mean_ms(&self) -> f64 {
        ratio(self.latency_sum.as_secs_f64() * 1e3, self.answered())
    }

    /// The part of all latencies that look-ups and handshakes took, 0 to 1.
    pub(crate) fn handshake_share(&self) -> f64 {
        let total = self.latency_sum.as_secs_f64();
        if total == 0.0 { 0.0 } else { self.handshake_sum.as_secs_f64() / total }
    }

    /// The latencies in [`BUCKETS_PER_DECADE`], from the first that is not empty to the last: the
    /// upper bound in milliseconds and the count.
    pub(crate) fn buckets_ms(&self) -> Vec<(f64, u64)> {
        let mut counts = BTreeMap::new();
        for value in self.latencies.iter_recorded() {
            let micros = value.value_iterated_to().max(1) as f64;
            // A thousandth below, the histogram's own resolution, so that 1 ms is not told as the
            // bucket above 1 ms.
            let step = (micros.log10() * BUCKETS_PER_DECADE - 0.02).ceil() as i32;
            *counts.entry(step).or_insert(0) += value.count_at_value();
        }
        let (Some((&first, _)), Some((&last, _))) =
            (counts.first_key_value(), counts.last_key_value())
        else {
            return Vec::new();
        };
        (first..=last)
            .map(|step| (bound_ms(step), counts.get(&step).copied().unwrap_or(0)))
            .collect()
    }
}

/// The upper bound of the bucket `step`, with four significant digits: they are read by people.
fn bound_ms(step: i32) -> f64 {
    let exact = 10_f64.powf(f64::from(step) / BUCKETS_PER_DECADE - 3.0);
    let unit = 10_f64.powi(exact.log10().floor() as i32 - 3);
    // Through text, since the product of the rounded digits and a unit of 0.001 is not round.
    format!("{:.6}", (exact / unit).round() * unit).parse().unwrap_or(exact)
}

/// `total / count`, 0 when there is nothing to divide by.
pub(crate) fn ratio(total: f64, count: u64) -> f64 {
    if count == 0 { 0.0 } else { total / count as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(latencies_ms: impl IntoIterator<Item = u64>) -> Record {
        let mut record = Record::default();
        for ms in latencies_ms {
            record.add(
                Duration::from_millis(ms),
                Outcome::Done { handshake: Duration::from_millis(ms / 2) },
            );
        }
        record
    }

    #[test]
    fn percentiles_are_those_of_the_answered_requests() {
        let mut record = record(1..=1000);
        record
            .add(Duration::from_secs(50), Outcome::Failed { kind: "connect".into(), error: None });
        for (quantile, expected) in [(0.5, 500.0), (0.9, 900.0), (0.99, 990.0), (0.999, 999.0)] {
            let measured = record.quantile_ms(quantile);
            assert!((measured / expected - 1.0).abs() < 0.001, "{quantile}: {measured}");
        }
        assert!((record.max_ms() / 1000.0 - 1.0).abs() < 0.001);
        assert!((record.mean_ms() - 500.5).abs() < 1e-9);
        assert!((record.handshake_share() - 0.5).abs() < 0.001);
        assert_eq!((record.requests(), record.answered(), record.failed()), (1001, 1000, 1));
        assert_eq!(record.failures(), BTreeMap::from([("connect".to_owned(), 1)]));
    }

    #[test]
    fn buckets_hold_every_request_under_its_bound() {
        let buckets = record([1, 10, 10, 100]).buckets_ms();
        assert_eq!(buckets.iter().map(|(_, count)| count).sum::<u64>(), 4);
        assert_eq!(buckets.len(), 81, "two factors of ten and the first");
        assert!(buckets.windows(2).all(|pair| pair[0].0 < pair[1].0));
        assert_eq!((buckets[0], buckets[40].1), ((1.0, 1), 2));
        assert_eq!(buckets[2].0, 1.122);
        assert!(Record::default().buckets_ms().is_empty());
    }

    #[test]
    fn merged_records_say_what_one_record_would() {
        let (mut one, two) = (record(1..=500), record(501..=1000));
        one.merge(two);
        let whole = record(1..=1000);
        assert_eq!(one.quantile_ms(0.9), whole.quantile_ms(0.9));
        assert_eq!(one.mean_ms(), whole.mean_ms());
        assert_eq!(one.requests(), 1000);
    }

    #[test]
    fn nothing_measured_is_zero_and_not_an_error() {
        let record = Record::default();
        assert_eq!(
            (record.mean_ms(), record.handshake_share(), record.quantile_ms(0.99)),
            (0.0, 0.0, 0.0)
        );
    }
}
