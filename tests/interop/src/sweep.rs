//! Idle gaps swept across the time after which a server closes: the race that a connection pool
//! cannot avoid, met on purpose.
//!
//! Each gap has an agent of its own, which sends a request, lets its connection be idle for the gap,
//! and sends the next. What is asserted is what a user may rely on:
//!
//! - no GET fails;
//! - no POST runs twice, as the server counts, and none that was answered is missing;
//! - a POST fails only on a connection that looked alive, and its error says `sent: maybe`;
//! - below the limit connections are used again.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use warmwire::Agent;
use warmwire::http::{AgentBuilder, ErrorKind, Sent};

use crate::Peer;

/// The step from one gap to the next.
const STEP: Duration = Duration::from_micros(500);

/// How far below and above the middle gaps go, in steps: 10 ms.
const REACH: u32 = 20;

/// The method of a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// May be sent again.
    Get,
    /// May not.
    Post,
}

/// What happened to the requests after gaps of about one length.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bin {
    /// Requests.
    pub requests: u64,
    /// Answered on a connection that was open already.
    pub reused: u64,
    /// Answered on a fresh connection at once.
    pub fresh: u64,
    /// Answered after a repeat.
    pub retried: u64,
    /// Failed.
    pub errors: u64,
}

/// What a sweep has found: bins by the gap's distance from the middle, in steps.
#[derive(Clone, Debug)]
pub struct Table {
    middle: Duration,
    bins: BTreeMap<i64, Bin>,
}

/// Sweeps gaps from 10 ms below `middle` to 10 ms above it in steps of 0.5 ms, `rounds` of each.
///
/// # Panics
///
/// When something happens that must not, whatever the timing.
pub async fn run(
    peer: &Peer,
    builder: impl Fn() -> AgentBuilder,
    method: Method,
    middle: Duration,
    rounds: u32,
) -> Table {
    let workers = (0..=2 * REACH).map(|step| {
        let gap = middle + STEP * step - STEP * REACH;
        let agent = builder().max_connections(1).build().expect("the settings are valid");
        tokio::spawn(work(agent, peer.url("/id"), method, gap, rounds))
    });
    let mut table = Table { middle, bins: BTreeMap::new() };
    let mut answered = Vec::new();
    for worker in workers.collect::<Vec<_>>() {
        for done in worker.await.expect("a worker asserts what must hold") {
            table.enter(&done);
            answered.extend((done.outcome != Outcome::Failed).then_some(done.id));
        }
    }
    if method == Method::Post {
        check_ids(&peer.ids().await, &answered);
    }
    table
}

/// One request after a gap.
struct Done {
    id: String,
    gap: Duration,
    outcome: Outcome,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Reused,
    Fresh,
    Retried,
    Failed,
}

async fn work(agent: Agent, url: String, method: Method, gap: Duration, rounds: u32) -> Vec<Done> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let mut done = Vec::new();
    // Spread over the gap, so that the workers do not all send at one moment.
    tokio::time::sleep(gap.mul_f64(f64::from(gap.subsec_micros() % 1000) / 1000.0)).await;
    let mut last = None;
    for _ in 0..=rounds {
        if let Some(last) = last {
            idle(last, gap).await;
        }
        let actual = last.map(|last: Instant| last.elapsed());
        let id = NEXT.fetch_add(1, Ordering::Relaxed).to_string();
        let before = agent.stats().total.retries;
        let request = match method {
            Method::Get => agent.get(&url),
            Method::Post => agent.post(&url).body("once"),
        };
        let outcome = match request.header("x-id", id.as_str()).send().await {
            Ok(response) => {
                assert!(response.status().is_success(), "{}", response.status());
                let reused = response.connection().reused();
                response.bytes().await.expect("the body is short and has come");
                match agent.stats().total.retries > before {
                    true => Outcome::Retried,
                    false if reused => Outcome::Reused,
                    false => Outcome::Fresh,
                }
            }
            Err(error) => {
                assert_eq!(method, Method::Post, "a GET failed after {actual:?}: {error}");
                assert_eq!(
                    (error.kind(), error.sent()),
                    (ErrorKind::ConnectionClosed, Sent::Maybe)
                );
                let connection = error.connection().expect("it was sent");
                assert!(connection.reused(), "a fresh connection was lost: {error}");
                Outcome::Failed
            }
        };
        last = Some(Instant::now());
        done.extend(actual.map(|gap| Done { id, gap, outcome }));
    }
    done
}

/// Until `gap` after `last`, to the microsecond: the runtime's own timer counts milliseconds.
async fn idle(last: Instant, gap: Duration) {
    tokio::time::sleep_until((last + gap - Duration::from_millis(2)).into()).await;
    while last.elapsed() < gap {
        tokio::task::yield_now().await;
    }
}

fn check_ids(seen: &[String], answered: &[String]) {
    let mut counts = HashMap::<&str, u32>::new();
    for id in seen {
        *counts.entry(id).or_default() += 1;
    }
    let twice: Vec<_> = counts.iter().filter(|(_, count)| **count > 1).collect();
    assert!(twice.is_empty(), "run twice: {twice:?}");
    let lost: Vec<_> = answered.iter().filter(|id| !counts.contains_key(id.as_str())).collect();
    assert!(lost.is_empty(), "answered and not run: {lost:?}");
}

impl Table {
    fn enter(&mut self, done: &Done) {
        let offset = done.gap.as_secs_f64() - self.middle.as_secs_f64();
        let step = (offset / STEP.as_secs_f64()).floor() as i64;
        // A busy machine may have added a lot to the gap.
        let bin = self.bins.entry(step.min(i64::from(REACH) + 1)).or_default();
        bin.requests += 1;
        *match done.outcome {
            Outcome::Reused => &mut bin.reused,
            Outcome::Fresh => &mut bin.fresh,
            Outcome::Retried => &mut bin.retried,
            Outcome::Failed => &mut bin.errors,
        } += 1;
    }

    /// All gaps together.
    pub fn total(&self) -> Bin {
        self.sum(|_| true)
    }

    /// The gaps that were shorter than the middle by `margin` or more.
    pub fn below(&self, margin: Duration) -> Bin {
        let steps = -((margin.as_micros() / STEP.as_micros()) as i64);
        self.sum(|step| step < steps)
    }

    fn sum(&self, which: impl Fn(i64) -> bool) -> Bin {
        let chosen = self.bins.iter().filter(|(step, _)| which(**step));
        chosen.fold(Bin::default(), |sum, (_, bin)| Bin {
            requests: sum.requests + bin.requests,
            reused: sum.reused + bin.reused,
            fresh: sum.fresh + bin.fresh,
            retried: sum.retried + bin.retried,
            errors: sum.errors + bin.errors,
        })
    }
}

impl fmt::Display for Table {
    /// A table in Markdown, two milliseconds a row.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "| idle gap | requests | reused | fresh | retried | errors |")?;
        writeln!(f, "|---|---:|---:|---:|---:|---:|")?;
        let middle = self.middle.as_secs_f64() * 1e3;
        for first in (-24..=20).step_by(4) {
            let bin = self.sum(|step| (first..first + 4).contains(&step));
            if bin.requests > 0 {
                let from = middle + first as f64 * 0.5;
                let to = match first {
                    20 => "more".to_owned(),
                    _ => format!("{} ms", from + 2.0),
                };
                writeln!(f, "| {from} to {to} {}", Row(bin))?;
            }
        }
        writeln!(f, "| all {}", Row(self.total()))
    }
}

struct Row(Bin);

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Bin { requests, reused, fresh, retried, errors } = self.0;
        write!(f, "| {requests} | {reused} | {fresh} | {retried} | {errors} |")
    }
}
