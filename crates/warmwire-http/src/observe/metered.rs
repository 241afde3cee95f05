//! Metrics by OpenTelemetry's conventions for HTTP clients, through the `metrics` facade.
//!
//! An origin's handles are asked from the recorder once, when the origin is first used, so that a
//! request costs what the recorder's own counters cost: nothing if there is no recorder.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{OnceLock, PoisonError, RwLock};
use std::time::Duration;

use http::Method;
use metrics::{Counter, Gauge, Histogram, Label, Unit};
use tokio::time::Instant;
use warmwire_pool::CloseReason;

use super::names::*;
use crate::error::{Error, ErrorKind};
use crate::key::{Address, Key};
use crate::response::Response;

/// Handles of [`REQUEST_DURATION`] kept for an origin, at most: one for each method and status
/// that occurs. What is beyond is asked from the recorder each time.
const MAX_KEPT: usize = 64;

/// An origin's handles, once it was used.
#[derive(Default)]
pub(crate) struct Meters(OnceLock<Box<Registered>>);

/// What the recorder knows of an origin.
pub(crate) struct Registered {
    labels: Vec<Label>,
    active_requests: Gauge,
    active: Gauge,
    idle: Gauge,
    lived: Histogram,
    fresh: Counter,
    reused: Counter,
    queued: Histogram,
    retries: Counter,
    durations: RwLock<Vec<(Answer, Histogram)>>,
}

/// What tells the durations of an origin's requests apart.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Answer {
    method: &'static str,
    status: u16,
    version: &'static str,
}

impl Meters {
    pub(crate) fn of(&self, address: &Address<'_>) -> &Registered {
        self.0.get_or_init(|| Box::new(Registered::new(address)))
    }
}

impl Registered {
    fn new(address: &Address<'_>) -> Registered {
        describe();
        let labels = labels(address);
        let with = |name: &'static str, value: &'static str| {
            let mut labels = labels.clone();
            labels.push(Label::from_static_parts(name, value));
            labels
        };
        let state = "http.connection.state";
        let reused = "warmwire.connection.reused";
        Registered {
            active_requests: metrics::gauge!(ACTIVE_REQUESTS, labels.clone()),
            active: metrics::gauge!(OPEN_CONNECTIONS, with(state, "active")),
            idle: metrics::gauge!(OPEN_CONNECTIONS, with(state, "idle")),
            lived: metrics::histogram!(CONNECTION_DURATION, labels.clone()),
            fresh: metrics::counter!(REQUESTS, with(reused, "false")),
            reused: metrics::counter!(REQUESTS, with(reused, "true")),
            queued: metrics::histogram!(QUEUE_DURATION, labels.clone()),
            retries: metrics::counter!(RETRIES, labels.clone()),
            durations: RwLock::default(),
            labels,
        }
    }

    fn answered(&self, answer: Answer, took: Duration) {
        let kept = self.durations.read().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, histogram)) = kept.iter().find(|(other, _)| *other == answer) {
            return histogram.record(took);
        }
        drop(kept);
        let mut labels = self.request_labels(answer.method);
        labels.push(Label::new("http.response.status_code", answer.status.to_string()));
        labels.push(Label::from_static_parts("network.protocol.version", answer.version));
        if answer.status >= 400 {
            labels.push(Label::new("error.type", answer.status.to_string()));
        }
        let histogram = metrics::histogram!(REQUEST_DURATION, labels);
        histogram.record(took);
        let mut kept = self.durations.write().unwrap_or_else(PoisonError::into_inner);
        if kept.len() < MAX_KEPT {
            kept.push((answer, histogram));
        }
    }

    fn failed(&self, method: &'static str, why: &'static str, took: Duration) {
        let mut labels = self.request_labels(method);
        labels.push(Label::from_static_parts("error.type", why));
        metrics::histogram!(REQUEST_DURATION, labels).record(took);
    }

    fn request_labels(&self, method: &'static str) -> Vec<Label> {
        let mut labels = self.labels.clone();
        labels.push(Label::from_static_parts("http.request.method", method));
        labels
    }
}

/// How a request ended; one that failed before it had an origin is not told of.
pub(super) fn ended(method: &'static str, result: Result<&Response, &Error>) {
    match result {
        Ok(response) => {
            let answer = Answer {
                method,
                status: response.status().as_u16(),
                version: super::version(response.version()),
            };
            let key = response.connection().origin().key();
            key.meters().answered(answer, response.timings().total());
        }
        Err(error) => {
            if let Some(origin) = error.origin() {
                origin.key().meters().failed(method, error.kind().as_str(), error.elapsed());
            }
        }
    }
}

/// A request under way: counted until it is dropped, and as cancelled if that is before its end.
pub(crate) struct Active {
    key: Key,
    method: &'static str,
    started: Instant,
    ended: bool,
}

impl Active {
    pub(crate) fn new(key: &Key, method: &Method, started: Instant) -> Active {
        key.meters().active_requests.increment(1);
        Active { key: key.clone(), method: super::method(method), started, ended: false }
    }

    /// The response's head has come, or will not come.
    pub(crate) fn end(mut self) {
        self.ended = true;
    }
}

impl Drop for Active {
    fn drop(&mut self) {
        let meters = self.key.meters();
        meters.active_requests.decrement(1);
        if !self.ended {
            meters.failed(self.method, super::CANCELLED, self.started.elapsed());
        }
    }
}

/// An open connection: counted as idle or active until it is dropped.
pub(crate) struct Open {
    key: Key,
    busy: AtomicBool,
}

impl Open {
    pub(crate) fn new(key: &Key) -> Open {
        key.meters().idle.increment(1);
        Open { key: key.clone(), busy: AtomicBool::new(false) }
    }

    /// A request got the connection.
    pub(crate) fn busy(&self, reused: bool, queued: Duration) {
        let meters = self.key.meters();
        if reused { &meters.reused } else { &meters.fresh }.increment(1);
        meters.queued.record(queued);
        if !self.busy.swap(true, Ordering::Relaxed) {
            meters.idle.decrement(1);
            meters.active.increment(1);
        }
    }

    /// The exchange is over, if there was one.
    pub(crate) fn idle(&self) {
        if self.busy.swap(false, Ordering::Relaxed) {
            let meters = self.key.meters();
            meters.active.decrement(1);
            meters.idle.increment(1);
        }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        let meters = self.key.meters();
        let busy = *self.busy.get_mut();
        if busy { &meters.active } else { &meters.idle }.decrement(1);
    }
}

pub(crate) fn closed(key: &Key, reason: CloseReason, age: Duration) {
    let meters = key.meters();
    meters.lived.record(age);
    let mut labels = meters.labels.clone();
    labels.push(Label::from_static_parts("warmwire.close.reason", reason.as_str()));
    metrics::counter!(CONNECTIONS_CLOSED, labels).increment(1);
}

pub(crate) fn connect_failed(key: &Key, kind: impl FnOnce() -> ErrorKind) {
    let mut labels = key.meters().labels.clone();
    labels.push(Label::from_static_parts("error.type", kind().as_str()));
    metrics::counter!(CONNECT_FAILURES, labels).increment(1);
}

pub(crate) fn retried(key: &Key) {
    key.meters().retries.increment(1);
}

/// `server.port` has no meaning for a Unix socket, whose path is the address.
fn labels(address: &Address<'_>) -> Vec<Label> {
    let mut labels = vec![Label::from_static_parts("url.scheme", address.scheme.as_str())];
    match address.unix {
        Some(path) => labels.push(Label::new("server.address", path.display().to_string())),
        None => {
            labels.push(Label::new("server.address", address.host.to_string()));
            labels.push(Label::new("server.port", address.port.to_string()));
        }
    }
    labels
}

fn describe() {
    let seconds = Unit::Seconds;
    metrics::describe_histogram!(REQUEST_DURATION, seconds, "Duration of HTTP client requests.");
    metrics::describe_gauge!(ACTIVE_REQUESTS, Unit::Count, "Number of active HTTP requests.");
    metrics::describe_gauge!(
        OPEN_CONNECTIONS,
        Unit::Count,
        "Number of outbound HTTP connections that are currently active or idle."
    );
    metrics::describe_histogram!(
        CONNECTION_DURATION,
        seconds,
        "The duration of the successfully established outbound HTTP connections."
    );
    metrics::describe_counter!(REQUESTS, Unit::Count, "Requests that got a connection.");
    metrics::describe_histogram!(QUEUE_DURATION, seconds, "Wait of requests for a connection.");
    metrics::describe_counter!(
        RETRIES,
        Unit::Count,
        "Requests sent again after a stale connection."
    );
    metrics::describe_counter!(CONNECTIONS_CLOSED, Unit::Count, "Closed connections by reason.");
    metrics::describe_counter!(CONNECT_FAILURES, Unit::Count, "Connections that did not open.");
}
