//! What is known of a request while it is under way, for its response and for its errors.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use tokio::time::Instant;
use warmwire_h1::{Cut, Limits, ResponseErrorKind, Sent};
use warmwire_net::{ConnectFault, is_certificate_error, is_tls_alert};
use warmwire_pool::CloseReason;

use crate::core::Core;
use crate::dead_peer::is_silent;
use crate::dial;
use crate::error::{Error, ErrorKind, Phase};
use crate::key::{HttpCounters, Key, OriginName};
use crate::policy::Timeouts;
use crate::response::{ConnectionInfo, Timings};
use crate::stats;
use crate::wire::Fault;

/// A request under way.
#[derive(Clone, Debug)]
pub(crate) struct Trace {
    pub(crate) key: Key,
    pub(crate) started: Instant,
    /// When the request got its connection.
    pub(crate) acquired: Instant,
    pub(crate) timeouts: Arc<Timeouts>,
    pub(crate) timings: Timings,
    pub(crate) connection: Option<ConnectionInfo>,
}

/// A timer that has ended an exchange.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Timer {
    Acquire,
    Response,
    Read,
    Total,
}

impl Trace {
    pub(crate) fn total_deadline(&self) -> Option<Instant> {
        let from = self.timeouts.total_from.unwrap_or(self.started);
        from.checked_add(self.timeouts.total?)
    }

    pub(crate) fn error(&self, error: Error) -> Error {
        error.with_exchange(
            Some(OriginName::new(&self.key)),
            self.connection.clone(),
            self.timings,
            self.started.elapsed(),
        )
    }

    /// The error of a timer, which is counted. The text tells what the pool was doing if the
    /// request had no connection yet.
    pub(crate) fn timed_out(&self, core: &Core, timer: Timer, phase: Phase, sent: Sent) -> Error {
        let Timeouts { acquire, response, read, total, .. } = *self.timeouts;
        let (kind, name, limit, counter): (_, _, _, fn(&HttpCounters) -> &AtomicU64) = match timer {
            Timer::Acquire => {
                (ErrorKind::AcquireTimeout, "acquire_timeout", acquire, |all| &all.acquire_timeouts)
            }
            Timer::Response => (ErrorKind::ResponseTimeout, "response_timeout", response, |all| {
                &all.response_timeouts
            }),
            Timer::Read => (ErrorKind::ReadTimeout, "read_timeout", read, |all| &all.read_timeouts),
            Timer::Total => (ErrorKind::Timeout, "timeout", total, |all| &all.total_timeouts),
        };
        let limit = limit.unwrap_or_default();
        let doing = match phase {
            Phase::Queue => "while the request waited for a connection",
            Phase::Dns | Phase::Connect | Phase::Proxy | Phase::Tls => {
                "while a connection was being opened"
            }
            Phase::Send => "while the request was being sent",
            Phase::Body => "while the response's body was being read",
            Phase::Prepare | Phase::Head => "before the response began",
        };
        let mut text = format!("{name} ({limit:?}) passed {doing}");
        stats::count(core, &self.key, counter);
        if phase <= Phase::Tls {
            text.push_str("; connections: ");
            text.push_str(&stats::situation(core, &self.key));
        }
        self.error(Error::new(kind, phase, text).with_sent(sent))
    }

    /// The error of a failed exchange; `limits` are those that a response's head has to keep.
    pub(crate) fn failed(
        &self,
        fault: Fault,
        sent: Sent,
        phase: Phase,
        limits: Option<&Limits>,
    ) -> Error {
        self.error(explain(fault, sent, phase, limits).with_sent(sent))
    }
}

/// Why the connection of a failed exchange is closed; `begun`: whether a byte of the response came.
pub(crate) fn close_reason(fault: &Fault, begun: bool) -> CloseReason {
    match fault {
        Fault::Io { error, .. } if error.kind() == io::ErrorKind::ConnectionReset => {
            CloseReason::Reset
        }
        Fault::Io { error, .. } if is_silent(error) => CloseReason::PeerDead,
        Fault::Io { error, .. } if is_close(error) && !begun => CloseReason::ClosedByPeer,
        Fault::Response(error) if error.cut() == Some(Cut::BeforeResponse) => {
            CloseReason::ClosedByPeer
        }
        Fault::Io { .. } | Fault::Response(_) => CloseReason::Failed,
        Fault::Request(_) | Fault::Body(_) => CloseReason::RequestUnfinished,
    }
}

/// Whether the fault is the connection's own: no byte of a response came, and nothing else went
/// wrong than that the connection was gone.
pub(crate) fn is_lost(fault: &Fault) -> bool {
    match fault {
        Fault::Io { error, .. } => is_close(error) || is_silent(error),
        Fault::Response(error) => error.cut() == Some(Cut::BeforeResponse),
        Fault::Request(_) | Fault::Body(_) => false,
    }
}

fn is_close(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::BrokenPipe
            | io::ErrorKind::NotConnected
            | io::ErrorKind::UnexpectedEof
            | io::ErrorKind::WriteZero
    )
}

/// Names the limit that a response has broken, and its value.
fn limit_hit(kind: ResponseErrorKind, limits: Option<&Limits>) -> String {
    let Some(limits) = limits else { return String::new() };
    match kind {
        ResponseErrorKind::HeadTooLarge => {
            format!(" (max_response_head = {})", limits.max_head_bytes)
        }
        ResponseErrorKind::TooManyHeaders => {
            format!(" (max_response_headers = {})", limits.max_headers)
        }
        _ => String::new(),
    }
}

fn explain(fault: Fault, sent: Sent, phase: Phase, limits: Option<&Limits>) -> Error {
    match fault {
        // The handshake of a connection that takes early data ends within its first exchange.
        Fault::Io { error, .. } if is_certificate_error(&error) => {
            let fault = ConnectFault::handshake(error);
            let (kind, what) = dial::explain(&fault);
            Error::new(kind, phase, format!("{what}: {fault}"))
        }
        Fault::Io { error, .. } if is_tls_alert(&error) => {
            let text = format!("the server ended the TLS session: {error}");
            Error::new(ErrorKind::Tls, phase, text).with_source(error)
        }
        Fault::Io { error, writing } => {
            let side = if writing { "writing" } else { "reading" };
            let (kind, text) = match sent {
                Sent::Yes => (ErrorKind::ResponseCut, "the connection ended within the response"),
                Sent::No | Sent::Maybe => {
                    let text = "the connection was closed before a response came";
                    (ErrorKind::ConnectionClosed, text)
                }
            };
            Error::new(kind, phase, format!("{text} ({side}: {error})")).with_source(error)
        }
        Fault::Response(error) => {
            let kind = match error.cut() {
                Some(Cut::BeforeResponse) => ErrorKind::ConnectionClosed,
                Some(_) => ErrorKind::ResponseCut,
                None => ErrorKind::InvalidResponse,
            };
            Error::new(kind, phase, format!("{error}{}", limit_hit(error.kind(), limits)))
                .with_source(error)
        }
        Fault::Request(error) => {
            Error::new(ErrorKind::InvalidRequest, phase, error.to_string()).with_source(error)
        }
        Fault::Body(error) => error,
    }
}

/// A deadline and the timer that it belongs to; the earlier of two.
pub(crate) fn earlier(
    one: Option<(Instant, Timer)>,
    other: Option<(Instant, Timer)>,
) -> Option<(Instant, Timer)> {
    match (one, other) {
        (Some(one), Some(other)) => Some(if other.0 < one.0 { other } else { one }),
        (one, other) => one.or(other),
    }
}

/// `base` and `limit` added, with the timer's name.
pub(crate) fn deadline(
    base: Instant,
    limit: Option<Duration>,
    timer: Timer,
) -> Option<(Instant, Timer)> {
    Some((base.checked_add(limit?)?, timer))
}
