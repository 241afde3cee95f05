//! The result, as `--json` prints it and the other outputs read it.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Serialize, Serializer};

use super::plan::{Pace, Plan, Target};
use super::prediction::Prediction;
use super::record::{Record, ratio};
use super::side::Side;
use crate::flags::AgentFlags;
use crate::server::{Counts, TlsVersion};
use crate::units::Span;

/// Everything that the bench has found out.
#[derive(Debug, Serialize)]
pub(crate) struct BenchResult {
    pub(crate) target: TargetResult,
    pub(crate) options: OptionsResult,
    pub(crate) rounds: RoundsResult,
    /// One connection per request; `null` when it was not measured.
    pub(crate) without: Option<SideResult>,
    /// The agent with keep-alive; `null` when it was not measured.
    pub(crate) with: Option<SideResult>,
    /// `null` unless both sides have answered requests.
    pub(crate) saving: Option<Saving>,
}

/// What was measured.
#[derive(Debug, Serialize)]
pub(crate) struct TargetResult {
    pub(crate) url: String,
    pub(crate) embedded: bool,
    /// The version of HTTP that the server answered in, `1.0`, `1.1` or `2`; `null` when it never did.
    pub(crate) http_version: Option<&'static str>,
    /// What the embedded server does and the wire pretends.
    pub(crate) simulated: Option<Simulated>,
    /// What the arithmetic of round trips says, step by step.
    pub(crate) predicted_ms: Option<Prediction>,
    /// What the embedded server has counted, per side.
    pub(crate) server: ServerResult,
}

/// What the embedded server does and the wire pretends.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Simulated {
    pub(crate) delay_ms: f64,
    pub(crate) body_bytes: u64,
    pub(crate) tls: Option<TlsVersion>,
    pub(crate) http2: bool,
    /// How many requests a kept connection carries at once.
    pub(crate) streams: u32,
    pub(crate) rtt_ms: f64,
    pub(crate) dns_ms: Option<f64>,
}

/// The embedded server's own counts.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct ServerResult {
    pub(crate) without: Option<Counts>,
    pub(crate) with: Option<Counts>,
}

/// What was asked for, defaults filled in.
#[derive(Debug, Serialize)]
pub(crate) struct OptionsResult {
    pub(crate) command: String,
    pub(crate) requests: Option<u64>,
    pub(crate) duration: Option<Span>,
    pub(crate) concurrency: Option<usize>,
    pub(crate) rate: Option<f64>,
    pub(crate) max_in_flight: Option<usize>,
    pub(crate) warmup: u64,
    pub(crate) method: String,
    pub(crate) request_body_bytes: usize,
    /// Whether the side without keep-alive resumes TLS sessions.
    pub(crate) resume: bool,
    /// Whether HTTP/2 was the only version of HTTP to speak.
    pub(crate) http2: bool,
    pub(crate) agent: AgentFlags,
}

/// How the rounds went.
#[derive(Debug, Default, Serialize)]
pub(crate) struct RoundsResult {
    pub(crate) planned: u32,
    pub(crate) complete: u32,
    pub(crate) interrupted: bool,
    pub(crate) each: Vec<RoundResult>,
}

/// One round.
#[derive(Debug, Default, Serialize)]
pub(crate) struct RoundResult {
    /// The sides in the order in which they sent.
    pub(crate) order: Vec<Side>,
    pub(crate) without: Option<RoundSide>,
    pub(crate) with: Option<RoundSide>,
}

/// One side in one round.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct RoundSide {
    pub(crate) requests: u64,
    pub(crate) failed: u64,
    pub(crate) elapsed_s: f64,
    pub(crate) rps: f64,
    pub(crate) p50_ms: f64,
}

/// The numbers of one side over all rounds.
#[derive(Debug, Serialize)]
pub(crate) struct SideResult {
    /// All requests, failed ones included, the warm-up left out.
    pub(crate) requests: u64,
    pub(crate) failed: u64,
    pub(crate) failures: BTreeMap<String, u64>,
    /// The text of the first failure that was an error of the agent's.
    #[serde(skip)]
    pub(crate) first_error: Option<String>,
    pub(crate) elapsed_s: f64,
    /// Answered requests per second.
    pub(crate) rps: f64,
    pub(crate) latency_ms: Latency,
    /// Those of the warm-up included.
    pub(crate) connections_opened: u64,
    /// Those of the warm-up included.
    pub(crate) requests_per_connection: f64,
    /// The part of all latencies that look-ups and handshakes took, 0 to 1.
    pub(crate) handshake_share: f64,
    /// CPU time of this process; sending on time and the simulated connect are part of it.
    pub(crate) cpu_us_per_request: f64,
    /// Resident memory at the end of a round, the most over the rounds; `null` where the system
    /// does not tell.
    pub(crate) rss_bytes: Option<u64>,
    /// Upper bounds and counts; a bucket begins where the one before it ends.
    pub(crate) histogram_ms: Vec<(f64, u64)>,
}

/// Latencies in milliseconds.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Latency {
    pub(crate) p50: f64,
    pub(crate) p90: f64,
    pub(crate) p95: f64,
    pub(crate) p99: f64,
    pub(crate) p999: f64,
    pub(crate) max: f64,
    pub(crate) mean: f64,
}

/// What keep-alive saves, as a fraction of what it takes without: 0.78 is 78 %.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Saving {
    pub(crate) p50: f64,
    pub(crate) p90: f64,
    pub(crate) p95: f64,
    pub(crate) p99: f64,
    pub(crate) p999: f64,
    pub(crate) max: f64,
    pub(crate) mean: f64,
    pub(crate) cpu: f64,
}

/// What one side has come to over all rounds.
#[derive(Debug, Default)]
pub(crate) struct Totals {
    pub(crate) record: Record,
    pub(crate) warmup: u64,
    pub(crate) elapsed: Duration,
    pub(crate) cpu: Duration,
    pub(crate) resident: Option<u64>,
    pub(crate) opened: u64,
    pub(crate) server: Option<Counts>,
}

impl SideResult {
    pub(crate) fn new(totals: &Totals) -> Self {
        let record = &totals.record;
        Self {
            requests: record.requests(),
            failed: record.failed(),
            failures: record.failures(),
            first_error: record.first_error().map(str::to_owned),
            elapsed_s: totals.elapsed.as_secs_f64(),
            rps: per_second(record.answered(), totals.elapsed),
            latency_ms: Latency {
                p50: record.quantile_ms(0.5),
                p90: record.quantile_ms(0.9),
                p95: record.quantile_ms(0.95),
                p99: record.quantile_ms(0.99),
                p999: record.quantile_ms(0.999),
                max: record.max_ms(),
                mean: record.mean_ms(),
            },
            connections_opened: totals.opened,
            requests_per_connection: ratio(
                (record.requests() + totals.warmup) as f64,
                totals.opened,
            ),
            handshake_share: record.handshake_share(),
            cpu_us_per_request: ratio(totals.cpu.as_secs_f64() * 1e6, record.requests()),
            rss_bytes: totals.resident,
            histogram_ms: record.buckets_ms(),
        }
    }

    /// Requests that were answered.
    pub(crate) fn answered(&self) -> u64 {
        self.requests - self.failed
    }

    /// Whether there were requests and none was answered.
    pub(crate) fn all_failed(&self) -> bool {
        self.requests > 0 && self.answered() == 0
    }
}

impl RoundSide {
    pub(crate) fn new(record: &Record, elapsed: Duration) -> Self {
        Self {
            requests: record.requests(),
            failed: record.failed(),
            elapsed_s: elapsed.as_secs_f64(),
            rps: per_second(record.answered(), elapsed),
            p50_ms: record.quantile_ms(0.5),
        }
    }
}

impl Saving {
    /// `None` unless both sides have answered requests.
    pub(crate) fn new(without: Option<&SideResult>, with: Option<&SideResult>) -> Option<Self> {
        let (without, with) = (without?, with?);
        if without.answered() == 0 || with.answered() == 0 {
            return None;
        }
        let saved =
            |without: f64, with: f64| if without == 0.0 { 0.0 } else { 1.0 - with / without };
        let (a, b) = (&without.latency_ms, &with.latency_ms);
        Some(Self {
            p50: saved(a.p50, b.p50),
            p90: saved(a.p90, b.p90),
            p95: saved(a.p95, b.p95),
            p99: saved(a.p99, b.p99),
            p999: saved(a.p999, b.p999),
            max: saved(a.max, b.max),
            mean: saved(a.mean, b.mean),
            cpu: saved(without.cpu_us_per_request, with.cpu_us_per_request),
        })
    }
}

impl Simulated {
    pub(crate) fn new(target: &Target) -> Option<Self> {
        let Target::Embedded { server, dns } = target else { return None };
        let ms = |duration: Duration| duration.as_secs_f64() * 1e3;
        Some(Self {
            delay_ms: ms(server.delay),
            body_bytes: server.body,
            tls: server.tls,
            http2: server.http2,
            streams: server.streams(),
            rtt_ms: ms(server.rtt),
            dns_ms: dns.map(ms),
        })
    }
}

impl OptionsResult {
    pub(crate) fn new(plan: &Plan, command: String) -> Self {
        let load = &plan.load;
        let (concurrency, rate, max_in_flight) = match load.pace {
            Pace::Closed { concurrency } => (Some(concurrency), None, None),
            Pace::Open { per_second, max_in_flight } => {
                (None, Some(per_second), Some(max_in_flight))
            }
        };
        Self {
            command,
            requests: load.requests,
            duration: load.duration.map(Span),
            concurrency,
            rate,
            max_in_flight,
            warmup: load.warmup,
            method: load.request.method.to_string(),
            request_body_bytes: load.request.body.as_ref().map_or(0, bytes::Bytes::len),
            resume: plan.resume,
            http2: plan.http2,
            agent: plan.agent.clone(),
        }
    }
}

impl BenchResult {
    /// The result of `side`, when it was measured.
    pub(crate) fn side(&self, side: Side) -> Option<&SideResult> {
        match side {
            Side::Without => self.without.as_ref(),
            Side::With => self.with.as_ref(),
        }
    }

    /// Whether no side that was measured has a request that was answered.
    pub(crate) fn all_failed(&self) -> bool {
        [&self.without, &self.with].into_iter().flatten().all(SideResult::all_failed)
    }

    /// What the embedded server has counted while `side` sent.
    pub(crate) fn server_counts(&self, side: Side) -> Option<Counts> {
        match side {
            Side::Without => self.target.server.without,
            Side::With => self.target.server.with,
        }
    }
}

impl Serialize for Side {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

fn per_second(count: u64, elapsed: Duration) -> f64 {
    let seconds = elapsed.as_secs_f64();
    if seconds == 0.0 { 0.0 } else { count as f64 / seconds }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::bench::record::Outcome;

    fn side(ms: u64, requests: u64) -> SideResult {
        let mut totals =
            Totals { elapsed: Duration::from_secs(2), opened: 4, warmup: 2, ..Totals::default() };
        for _ in 0..requests {
            totals
                .record
                .add(Duration::from_millis(ms), Outcome::Done { handshake: Duration::ZERO });
        }
        SideResult::new(&totals)
    }

    #[test]
    fn savings_are_fractions_of_the_side_without() {
        let (without, with) = (side(100, 10), side(25, 10));
        let saving = Saving::new(Some(&without), Some(&with)).unwrap();
        assert!((saving.p50 - 0.75).abs() < 0.001, "{saving:?}");
        let loss = Saving::new(Some(&with), Some(&without)).unwrap();
        assert!((loss.p50 + 3.0).abs() < 0.01, "{loss:?}");
        assert_eq!(Saving::new(Some(&without), Some(&side(1, 0))), None);
        assert_eq!(Saving::new(Some(&without), None), None);
    }

    #[test]
    fn connections_are_shared_out_over_all_requests() {
        let side = side(1, 10);
        assert_eq!((side.rps, side.requests_per_connection), (5.0, 3.0));
    }
}
