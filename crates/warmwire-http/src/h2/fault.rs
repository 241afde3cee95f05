//! What a failure of hyper means for a request and for its connection.

use std::error::Error as StdError;

use ::h2::Reason;
use warmwire_pool::CloseReason;

use crate::error::{Error, ErrorKind, Phase, Sent};

/// What a stream's failure means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// The server says that it has not looked at the request, or it never left: it may be sent
    /// again, whatever it is (RFC 9113, 8.7).
    Unprocessed,
    /// The connection is gone.
    Lost,
    /// The server ended this stream alone.
    Reset,
    /// What came breaks the protocol.
    Invalid,
}

pub(super) fn meaning(error: &hyper::Error) -> Meaning {
    let Some(cause) = find(error) else {
        return match error.is_canceled() {
            true => Meaning::Unprocessed,
            // hyper's own words for a task that is gone, and for a ping without an answer.
            false => Meaning::Lost,
        };
    };
    if cause.is_io() {
        Meaning::Lost
    } else if !cause.is_remote() {
        Meaning::Invalid
    } else if cause.is_go_away() || cause.reason() == Some(Reason::REFUSED_STREAM) {
        // A goodbye fails only the streams above the last one that the server took.
        Meaning::Unprocessed
    } else {
        Meaning::Reset
    }
}

/// The error of a request whose stream has failed.
pub(super) fn explain(error: hyper::Error, phase: Phase) -> Error {
    let meaning = meaning(&error);
    let within = phase == Phase::Body;
    let detail = detail(&error);
    let (kind, text) = match meaning {
        Meaning::Unprocessed if find(&error).is_some_and(::h2::Error::is_reset) => {
            (ErrorKind::StreamReset, "the server refused the request's stream")
        }
        Meaning::Unprocessed => {
            (ErrorKind::ConnectionClosed, "the server closed the connection without the request")
        }
        Meaning::Lost if within => {
            (ErrorKind::ResponseCut, "the connection ended within the response")
        }
        Meaning::Lost => {
            (ErrorKind::ConnectionClosed, "the connection was closed before a response came")
        }
        Meaning::Reset if within => {
            (ErrorKind::ResponseCut, "the server reset the stream within the response")
        }
        Meaning::Reset => {
            (ErrorKind::StreamReset, "the server reset the stream before a response came")
        }
        Meaning::Invalid => (ErrorKind::InvalidResponse, "the response breaks HTTP/2"),
    };
    let sent = match meaning {
        _ if within => Sent::Yes,
        Meaning::Unprocessed => Sent::No,
        Meaning::Lost | Meaning::Reset | Meaning::Invalid => Sent::Maybe,
    };
    Error::new(kind, phase, format!("{text} ({detail})")).with_sent(sent).with_source(error)
}

/// Why a connection ends whose requests end with this error; `None` if that does not tell.
pub(super) fn close_reason(error: &hyper::Error) -> Option<CloseReason> {
    match find(error) {
        Some(cause) if cause.is_go_away() && cause.is_remote() => Some(CloseReason::PeerAsked),
        Some(cause) if !cause.is_io() => Some(CloseReason::Failed),
        None if error.is_timeout() => Some(CloseReason::TimedOut),
        _ => None,
    }
}

fn detail(error: &hyper::Error) -> String {
    match find(error) {
        Some(cause) => cause.to_string(),
        None if error.is_timeout() => "no answer to a ping within http2_keep_alive_timeout".into(),
        None => error.to_string(),
    }
}

fn find(error: &hyper::Error) -> Option<&::h2::Error> {
    let mut source = error.source();
    while let Some(cause) = source {
        if let Some(found) = cause.downcast_ref() {
            return Some(found);
        }
        source = cause.source();
    }
    None
}
