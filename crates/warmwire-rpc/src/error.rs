//! What can go wrong with a call, a connection, or a server.

use std::fmt;
use std::io;
use std::time::Duration;

use warmwire_amp::{Fault, ValueError};

/// Whether a request reached the network before it failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sent {
    /// Nothing of it left this process: to call again is safe.
    No,
    /// Some or all of it left: the method may have run.
    Maybe,
}

impl fmt::Display for Sent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::No => "no",
            Self::Maybe => "maybe",
        })
    }
}

/// What kind of thing went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The method answered with a [`Fault`].
    Fault,
    /// The call's time was over before its reply came.
    Timeout,
    /// The connection ended before the reply came.
    Disconnected,
    /// More calls waited than the queue may hold.
    QueueFull,
    /// The client or server has been closed.
    Closed,
    /// No connection could be made.
    Connect,
    /// The server could not listen.
    Bind,
    /// An endpoint is written wrongly.
    Endpoint,
    /// An argument or a result does not fit its type.
    Value,
    /// The message is larger than `max_message`.
    TooLarge,
    /// The peer sent what is no reply.
    Protocol,
}

impl ErrorKind {
    /// The name of the kind in logs, metrics and JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Fault => "fault",
            Self::Timeout => "timeout",
            Self::Disconnected => "disconnected",
            Self::QueueFull => "queue_full",
            Self::Closed => "closed",
            Self::Connect => "connect",
            Self::Bind => "bind",
            Self::Endpoint => "endpoint",
            Self::Value => "value",
            Self::TooLarge => "too_large",
            Self::Protocol => "protocol",
        }
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// An error of a call, a client or a server.
///
/// Its text says what was done, with which peer, what happened, and whether the call was sent.
pub struct Error(Box<Parts>);

struct Parts {
    kind: ErrorKind,
    sent: Sent,
    method: Option<String>,
    peer: Option<String>,
    fault: Option<Fault>,
    message: String,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(Parts {
            kind,
            sent: Sent::No,
            method: None,
            peer: None,
            fault: None,
            message: message.into(),
            source: None,
        }))
    }

    pub(crate) fn from_fault(fault: Fault) -> Self {
        let mut error = Self::new(ErrorKind::Fault, fault.message());
        error.0.fault = Some(fault);
        error.sent(Sent::Maybe)
    }

    pub(crate) fn timeout(after: Duration, sent: Sent) -> Self {
        let what = match sent {
            Sent::No => "no connection was free to send it on",
            Sent::Maybe => "no reply came",
        };
        Self::new(ErrorKind::Timeout, format!("{what} within {after:?}")).sent(sent)
    }

    pub(crate) fn with_source(
        mut self,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        self.0.source = Some(source.into());
        self
    }

    pub(crate) fn sent(mut self, sent: Sent) -> Self {
        self.0.sent = sent;
        self
    }

    /// Says which call it was.
    pub(crate) fn of(mut self, method: &str, peer: &impl fmt::Display) -> Self {
        self.0.method = Some(method.to_owned());
        self.at(peer)
    }

    pub(crate) fn at(mut self, peer: &impl fmt::Display) -> Self {
        self.0.peer = Some(peer.to_string());
        self
    }

    /// What kind of thing went wrong.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Whether the call reached the network. [`Sent::Maybe`] if it was answered.
    pub fn was_sent(&self) -> Sent {
        self.0.sent
    }

    /// What the method answered, if it answered.
    pub fn fault(&self) -> Option<&Fault> {
        self.0.fault.as_ref()
    }

    /// The method that was called.
    pub fn method(&self) -> Option<&str> {
        self.0.method.as_deref()
    }

    /// The kind of the system's error below, if there is one.
    pub fn io_kind(&self) -> Option<io::ErrorKind> {
        let mut source = std::error::Error::source(self);
        while let Some(error) = source {
            if let Some(error) = error.downcast_ref::<io::Error>() {
                return Some(error.kind());
            }
            source = error.source();
        }
        None
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = &self.0;
        match (&parts.method, &parts.peer) {
            (Some(method), Some(peer)) => write!(f, "{method:?} of {peer}: ")?,
            (None, Some(peer)) => write!(f, "{peer}: ")?,
            (Some(method), None) => write!(f, "{method:?}: ")?,
            (None, None) => {}
        }
        f.write_str(&parts.message)?;
        if matches!(parts.kind, ErrorKind::Timeout | ErrorKind::Disconnected) {
            write!(f, " (sent: {})", parts.sent)?;
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = &self.0;
        f.debug_struct("Error")
            .field("kind", &parts.kind)
            .field("sent", &parts.sent)
            .field("message", &self.to_string())
            .field("fault", &parts.fault)
            .field("source", &parts.source)
            .finish()
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        let source = self.0.source.as_deref()?;
        Some(source)
    }
}

impl From<ValueError> for Error {
    fn from(error: ValueError) -> Self {
        Self::new(ErrorKind::Value, error.to_string())
    }
}
