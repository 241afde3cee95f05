//! What an agent has done and is doing, in numbers that add up.

mod retries;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};
use warmwire_pool::{CloseReason, Counters};

use crate::core::{Core, Slot};
use crate::key::{Address, HttpCounters, Key};
use crate::pooled::Hooks as _;
use crate::url::sealed::Sealed as _;

pub use self::retries::RetryOutcomes;

/// Counts one more for the origin and for the agent, under the pool's lock, so that a snapshot is
/// of one moment.
pub(crate) fn count(core: &Core, key: &Key, which: impl Fn(&HttpCounters) -> &AtomicU64) {
    core.read(|_| {
        for counters in [key.counters(), &core.hooks.counters] {
            which(counters).fetch_add(1, Ordering::Relaxed);
        }
    });
}

/// What goes on at an origin, for the texts of errors.
pub(crate) fn situation(core: &Core, key: &Key) -> String {
    let (counters, until, oldest, unread) = core.read(|pool| {
        let origin = pool.find(&key.address());
        let counters = origin.and_then(|origin| pool.counters(origin)).cloned();
        let in_use = || pool.connections().filter(|(_, of)| Some(of.origin) == origin);
        let oldest = in_use().filter_map(|(_, of)| of.in_use_since).min();
        let unread = in_use().filter(|(_, of)| of.leased > 0).map(|(_, of)| unread(of.connection));
        let backing_off = origin.and_then(|origin| pool.backing_off(origin));
        (counters, backing_off, oldest, unread.sum::<usize>())
    });
    let Counters { active, idle, connecting, waiting, .. } = counters.unwrap_or_default();
    let mut text = format!(
        "{active} in use, {idle} idle, {connecting} being opened; requests waiting: {waiting}"
    );
    if let Some(oldest) = oldest {
        let age = core.hooks.now().saturating_duration_since(oldest);
        text.push_str(&format!("; in use for the longest: {age:.1?}"));
    }
    if unread > 0 {
        text.push_str(&format!("; responses not read to their end: {unread}"));
    }
    if let Some(until) = until {
        let left = until.saturating_duration_since(core.hooks.now());
        text.push_str(&format!("; the last dial failed, the next one is due in {left:.0?}"));
    }
    text
}

/// How many responses on a connection that is in use were not read to their end.
fn unread(slot: &Slot) -> usize {
    match &slot.stream {
        Some(stream) => stream.link().readings.count(),
        None => {
            let established = slot.established.as_ref();
            usize::from(established.is_some_and(|of| of.reading.is_under_way()))
        }
    }
}

/// How often each timer has ended a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct TimeoutCounts {
    /// `acquire_timeout`.
    pub acquire: u64,
    /// `connect_timeout`; one for each dial, whoever waited for it.
    pub connect: u64,
    /// `response_timeout`.
    pub response: u64,
    /// `read_timeout`.
    pub read: u64,
    /// `timeout`.
    pub total: u64,
}

/// Connections closed, by reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClosedCounts([u64; CloseReason::COUNT]);

impl ClosedCounts {
    /// Those closed for `reason`.
    pub fn get(&self, reason: CloseReason) -> u64 {
        self.0[reason.index()]
    }

    /// All of them.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// The reasons that occurred, with how often.
    pub fn iter(&self) -> impl Iterator<Item = (CloseReason, u64)> + '_ {
        CloseReason::ALL.iter().map(|&reason| (reason, self.get(reason))).filter(|(_, n)| *n > 0)
    }
}

impl Serialize for ClosedCounts {
    /// A map from the reason's name to the count, without those that did not occur.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter().map(|(reason, count)| (reason.as_str(), count)))
    }
}

/// The numbers of one origin, or of all together.
///
/// In one snapshot these hold: `opened == closed.total() + open`, `open == idle + active`.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct OriginStats {
    /// Connections opened.
    pub opened: u64,
    /// Connections that could not be opened.
    pub open_errors: u64,
    /// Connections closed, by reason.
    pub closed: ClosedCounts,
    /// Requests that got a connection; one that was sent again counts twice.
    pub requests: u64,
    /// Requests that got a connection that was open already.
    pub reused: u64,
    /// Requests sent again, since their reused connection turned out to be stale.
    pub retries: u64,
    /// What became of requests whose connection was lost.
    pub retry_outcomes: RetryOutcomes,
    /// How long a connection may be idle by what was learned of the server: when it was seen to
    /// close, less a margin. Zero where it closes after each response. `None` if nothing was
    /// learned, and in the total.
    pub learned_idle_limit: Option<Duration>,
    /// Requests that had to wait for a connection to be freed.
    pub queued: u64,
    /// Requests refused: the queue was full, or the agent closed.
    pub refused: u64,
    /// Requests dropped while they waited.
    pub cancelled: u64,
    /// Requests ended by a timer.
    pub timeouts: TimeoutCounts,
    /// Connections open now.
    pub open: usize,
    /// Of these, those that wait for a request.
    pub idle: usize,
    /// Of these, those that carry a request.
    pub active: usize,
    /// Requests that have a connection now: as many as `active` with HTTP/1.1, and more where
    /// requests share one as streams of HTTP/2.
    pub streams: usize,
    /// Connections being opened now.
    pub connecting: usize,
    /// Responses held unread now for longer than [`held_after`](crate::AgentBuilder::held_after).
    pub held: usize,
    /// Requests that wait now for a connection to be freed.
    pub waiting: usize,
    /// The most connections that were open at once.
    pub max_open: usize,
    /// The most connections that carried requests at once.
    pub max_active: usize,
    /// The most requests that waited at once.
    pub max_waiting: usize,
    /// What opening all connections took together: look-up, connect and handshake.
    pub connect_time: Duration,
    /// Tells an origin that was forgotten and has come back from what it was before.
    incarnation: u64,
}

impl OriginStats {
    /// Reused connections' share of all requests, 0 to 1; 0 before the first.
    pub fn reuse_ratio(&self) -> f64 {
        if self.requests == 0 { 0.0 } else { self.reused as f64 / self.requests as f64 }
    }

    /// What opening a connection took on average; `None` before the first.
    pub fn mean_connect_time(&self) -> Option<Duration> {
        (self.opened > 0).then(|| self.connect_time.div_f64(self.opened as f64))
    }

    /// Handshakes that reuse has spared: the reused requests.
    pub fn handshakes_avoided(&self) -> u64 {
        self.reused
    }

    /// The time that they would have cost, at the mean that was measured here.
    pub fn time_saved(&self) -> Duration {
        self.mean_connect_time().map_or(Duration::ZERO, |mean| mean.mul_f64(self.reused as f64))
    }

    /// What was counted since `earlier`. Gauges and high-water marks are those of `self`.
    fn since(&self, earlier: &OriginStats) -> OriginStats {
        let mut closed = self.closed;
        for (now, before) in closed.0.iter_mut().zip(earlier.closed.0) {
            *now = now.saturating_sub(before);
        }
        OriginStats {
            opened: self.opened.saturating_sub(earlier.opened),
            open_errors: self.open_errors.saturating_sub(earlier.open_errors),
            closed,
            requests: self.requests.saturating_sub(earlier.requests),
            reused: self.reused.saturating_sub(earlier.reused),
            retries: self.retries.saturating_sub(earlier.retries),
            retry_outcomes: self.retry_outcomes.since(&earlier.retry_outcomes),
            queued: self.queued.saturating_sub(earlier.queued),
            refused: self.refused.saturating_sub(earlier.refused),
            cancelled: self.cancelled.saturating_sub(earlier.cancelled),
            timeouts: TimeoutCounts {
                acquire: self.timeouts.acquire.saturating_sub(earlier.timeouts.acquire),
                connect: self.timeouts.connect.saturating_sub(earlier.timeouts.connect),
                response: self.timeouts.response.saturating_sub(earlier.timeouts.response),
                read: self.timeouts.read.saturating_sub(earlier.timeouts.read),
                total: self.timeouts.total.saturating_sub(earlier.timeouts.total),
            },
            connect_time: self.connect_time.saturating_sub(earlier.connect_time),
            ..*self
        }
    }
}

impl Serialize for OriginStats {
    /// What was counted, and what follows from it.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut told = serializer.serialize_struct("OriginStats", 27)?;
        told.serialize_field("opened", &self.opened)?;
        told.serialize_field("open_errors", &self.open_errors)?;
        told.serialize_field("closed", &self.closed)?;
        told.serialize_field("requests", &self.requests)?;
        told.serialize_field("reused", &self.reused)?;
        told.serialize_field("retries", &self.retries)?;
        told.serialize_field("retry_outcomes", &self.retry_outcomes)?;
        told.serialize_field("learned_idle_limit", &self.learned_idle_limit)?;
        told.serialize_field("queued", &self.queued)?;
        told.serialize_field("refused", &self.refused)?;
        told.serialize_field("cancelled", &self.cancelled)?;
        told.serialize_field("timeouts", &self.timeouts)?;
        told.serialize_field("open", &self.open)?;
        told.serialize_field("idle", &self.idle)?;
        told.serialize_field("active", &self.active)?;
        told.serialize_field("streams", &self.streams)?;
        told.serialize_field("connecting", &self.connecting)?;
        told.serialize_field("held", &self.held)?;
        told.serialize_field("waiting", &self.waiting)?;
        told.serialize_field("max_open", &self.max_open)?;
        told.serialize_field("max_active", &self.max_active)?;
        told.serialize_field("max_waiting", &self.max_waiting)?;
        told.serialize_field("connect_time", &self.connect_time)?;
        told.serialize_field("reuse_ratio", &self.reuse_ratio())?;
        told.serialize_field("mean_connect_time", &self.mean_connect_time())?;
        told.serialize_field("handshakes_avoided", &self.handshakes_avoided())?;
        told.serialize_field("time_saved", &self.time_saved())?;
        told.end()
    }
}

/// A snapshot of an agent's numbers, all of one moment.
///
/// An origin is in it while it has a connection, a dial or a waiting request; what it did before
/// it was forgotten stays in [`total`](Self::total). `Display` gives a table.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Stats {
    /// All origins together, forgotten ones too. Each high-water mark is that of the agent as a
    /// whole, not a sum.
    pub total: OriginStats,
    /// Each origin that the agent knows now, by name.
    pub origins: BTreeMap<String, OriginStats>,
}

impl Stats {
    pub(crate) fn of(core: &Core) -> Stats {
        let forgotten = &core.hooks.counters;
        let now = core.hooks.now();
        core.read(|pool| Stats {
            total: origin_stats(pool.totals(), forgotten, 0),
            origins: pool
                .origins()
                .map(|(id, key, counters)| {
                    let learned_idle_limit = key.memory().idle_limit.get(now);
                    let stats = origin_stats(counters, key.counters(), id.number());
                    (key.name().to_owned(), OriginStats { learned_idle_limit, ..stats })
                })
                .collect(),
        })
    }

    /// The numbers of the origin of a URL: `http://host:8080/any/path`, or of an origin by the
    /// name that events and errors show. `None` if the agent does not know it (any more).
    pub fn origin(&self, url: impl AsRef<str>) -> Option<&OriginStats> {
        let url = url.as_ref();
        if let Some(found) = self.origins.get(url) {
            return Some(found);
        }
        let uri = url.into_uri().ok()?;
        let address = Address::of(&uri, None).ok()?;
        self.origins.get(address.name().as_str())
    }

    /// Whether anything was counted or is different since `earlier` (agentkeepalive calls it
    /// `statusChanged`).
    #[doc(alias = "statusChanged")]
    pub fn changed_since(&self, earlier: &Stats) -> bool {
        self != earlier
    }

    /// What was counted since `earlier`, for rates. Gauges and high-water marks are those of
    /// `self`; origins that were forgotten meanwhile are in the total only.
    pub fn since(&self, earlier: &Stats) -> Stats {
        let since = |name: &String, stats: &OriginStats| match earlier.origins.get(name) {
            Some(before) if before.incarnation == stats.incarnation => stats.since(before),
            // One that was forgotten and came back has counted from zero.
            _ => *stats,
        };
        Stats {
            total: self.total.since(&earlier.total),
            origins: self
                .origins
                .iter()
                .map(|(name, stats)| (name.clone(), since(name, stats)))
                .collect(),
        }
    }
}

fn origin_stats(pool: &Counters, http: &HttpCounters, incarnation: u64) -> OriginStats {
    let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    OriginStats {
        opened: pool.opened,
        open_errors: pool.open_failed,
        closed: ClosedCounts(pool.closed_by_reason),
        requests: pool.requests,
        reused: pool.reused,
        retries: read(&http.retries),
        retry_outcomes: RetryOutcomes::of(http),
        learned_idle_limit: None,
        queued: pool.queued,
        refused: pool.refused,
        cancelled: pool.cancelled,
        timeouts: TimeoutCounts {
            acquire: read(&http.acquire_timeouts),
            connect: read(&http.connect_timeouts),
            response: read(&http.response_timeouts),
            read: read(&http.read_timeouts),
            total: read(&http.total_timeouts),
        },
        open: pool.open,
        idle: pool.idle,
        active: pool.active,
        streams: pool.leased,
        connecting: pool.connecting,
        held: usize::try_from(read(&http.held)).unwrap_or(usize::MAX),
        waiting: pool.waiting,
        max_open: pool.max_open,
        max_active: pool.max_active,
        max_waiting: pool.max_waiting,
        connect_time: pool.connect_time,
        incarnation,
    }
}

impl fmt::Display for Stats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = self.origins.iter().map(|(name, stats)| (name.as_str(), stats));
        let rows: Vec<_> = rows.chain([("total", &self.total)]).collect();
        let width = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0).max(6);
        writeln!(
            f,
            "{:width$}  {:>6} {:>6} {:>6} {:>7}  {:>8} {:>8} {:>9} {:>6}  {:>6} {:>7}",
            "origin",
            "open",
            "idle",
            "active",
            "waiting",
            "requests",
            "reused",
            "reuse",
            "saved",
            "opened",
            "errors",
        )?;
        for (index, (name, stats)) in rows.iter().enumerate() {
            write!(
                f,
                "{name:width$}  {:>6} {:>6} {:>6} {:>7}  {:>8} {:>8} {:>8.1}% {:>6}  {:>6} {:>7}",
                stats.open,
                stats.idle,
                stats.active,
                stats.waiting,
                stats.requests,
                stats.reused,
                100.0 * stats.reuse_ratio(),
                match stats.time_saved() {
                    Duration::ZERO => "0".to_owned(),
                    saved => format!("{saved:.1?}"),
                },
                stats.opened,
                stats.open_errors,
            )?;
            if index + 1 < rows.len() {
                writeln!(f)?;
            }
        }
        rows.iter().try_for_each(|(name, stats)| write_trouble(f, name, stats))
    }
}

/// What there is to say only of an origin that closes early or loses connections.
fn write_trouble(f: &mut fmt::Formatter<'_>, name: &str, stats: &OriginStats) -> fmt::Result {
    if stats.retry_outcomes != RetryOutcomes::default() {
        write!(f, "\n{name}: requests that lost their connection: {}", stats.retry_outcomes)?;
    }
    if stats.streams > stats.active {
        write!(f, "\n{name}: requests in progress: {}", stats.streams)?;
    }
    if stats.held > 0 {
        write!(f, "\n{name}: responses held unread: {}", stats.held)?;
    }
    match stats.learned_idle_limit {
        None => Ok(()),
        Some(Duration::ZERO) => {
            write!(f, "\n{name}: closes after each response and does not say so; none is kept")
        }
        Some(limit) => write!(f, "\n{name}: closes idle connections; kept for {limit:.1?} at most"),
    }
}
