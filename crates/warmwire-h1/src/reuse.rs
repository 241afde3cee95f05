//! May the connection be used again (RFC 9112, 9.3), and why not.

use std::fmt;

use http::Version;

use crate::keep_alive::KeepAlive;
use crate::notes::Notes;
use crate::response::BodyKind;

/// What the exchange says about its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Verdict {
    /// Both messages are whole and both sides keep the connection. Here is what
    /// the server says about for how long.
    Reuse(KeepAlive),
    /// The connection is no longer HTTP and belongs to the caller.
    Upgraded,
    /// The connection cannot be used again.
    Close(CloseReason),
}

/// Why a connection cannot be used again after an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CloseReason {
    /// The request has not been written to its end. It may still be: then the
    /// verdict changes.
    RequestIncomplete,
    /// The response has not been read to its end. It may still be.
    ResponseIncomplete,
    /// The server sent `Connection: close`.
    ServerAsked,
    /// The request had `Connection: close`.
    ClientAsked,
    /// An HTTP/1.0 response without `Connection: keep-alive`.
    Http10,
    /// The body ends with the connection.
    UntilClose,
    /// This many bytes came after the response: nobody asked for them.
    SurplusBytes(u64),
    /// The response broke the protocol or a limit, or was cut.
    Failed,
}

impl CloseReason {
    /// The reason in one sentence, for logs.
    pub fn explain(&self) -> &'static str {
        match self {
            Self::RequestIncomplete => "the request was not written to its end",
            Self::ResponseIncomplete => "the response was not read to its end",
            Self::ServerAsked => "the server asked to close",
            Self::ClientAsked => "the request asked to close",
            Self::Http10 => "the response is HTTP/1.0 without keep-alive",
            Self::UntilClose => "the body ends with the connection",
            Self::SurplusBytes(_) => "bytes came after the response",
            Self::Failed => "the response was malformed or cut",
        }
    }
}

impl fmt::Display for CloseReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.explain())
    }
}

/// What the final head says about reuse.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Persistence {
    /// Set when the head alone rules out a reuse.
    pub(crate) close: Option<CloseReason>,
    pub(crate) keep_alive: KeepAlive,
}

impl Persistence {
    /// RFC 9112, 9.3, in its order: `close` from anyone wins, HTTP/1.1 persists,
    /// HTTP/1.0 does if it says so.
    pub(crate) fn new(version: Version, body: BodyKind, notes: &Notes) -> Self {
        let close = if body == BodyKind::UntilClose {
            Some(CloseReason::UntilClose)
        } else if notes.close {
            Some(CloseReason::ServerAsked)
        } else if version == Version::HTTP_10 && !notes.persist {
            Some(CloseReason::Http10)
        } else {
            None
        };
        Self { close, keep_alive: notes.keep_alive }
    }
}
