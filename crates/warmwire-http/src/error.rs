//! One error for everything, that says what, when, on which connection, and whether it was sent.

use std::error::Error as StdError;
use std::fmt;
use std::time::Duration;

use crate::key::OriginName;
use crate::proxy::ProxyResponse;
use crate::response::{ConnectionInfo, Timings};

pub use warmwire_h1::Sent;

/// What kind of failure an [`Error`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The request cannot be sent as it is: its URL, a header, a body that is longer or shorter
    /// than it said.
    InvalidRequest,
    /// The agent's settings cannot be used.
    InvalidConfig,
    /// The agent was closed.
    Closed,
    /// As many requests as `max_waiting` allows wait already.
    QueueFull,
    /// No connection became free within `acquire_timeout`.
    AcquireTimeout,
    /// The name could not be looked up.
    Dns,
    /// Every address refused the connection.
    ConnectionRefused,
    /// No address could be connected to, for another reason than a refusal.
    Connect,
    /// Look-up, connect and handshake took longer than `connect_timeout`;
    /// [`phase`](Error::phase) says which of them was under way.
    ConnectTimeout,
    /// The proxy could not be looked up, connected to or spoken with;
    /// [`source`](StdError::source) says what failed.
    ProxyUnreachable,
    /// The proxy wants credentials, or other ones (407).
    ProxyAuthentication,
    /// The proxy did not open the way to the server: 403, 502, a SOCKS reply.
    ProxyRefused,
    /// The server's certificate has expired.
    CertificateExpired,
    /// The server's certificate is for other names.
    CertificateWrongName,
    /// The server's certificate is signed by nobody who is trusted here.
    CertificateUnknownIssuer,
    /// The server's certificate is good, and a [pin](crate::Tls::pin) refused it.
    CertificatePin,
    /// The server's certificate was not accepted for another reason.
    Certificate,
    /// The TLS handshake failed otherwise.
    Tls,
    /// The response's head did not come within `response_timeout`.
    ResponseTimeout,
    /// The next piece of the response's body did not come within `read_timeout`.
    ReadTimeout,
    /// The whole exchange took longer than `timeout`.
    Timeout,
    /// The connection was closed or reset before a byte of the response came.
    ConnectionClosed,
    /// The connection ended within the response.
    ResponseCut,
    /// The server ended the request's HTTP/2 stream before a response came, and nothing else.
    StreamReset,
    /// What came is not a valid HTTP response.
    InvalidResponse,
    /// The request's own body failed; [`source`](StdError::source) is its error.
    RequestBody,
    /// A redirect was to be followed and must not or cannot be: too many in a row, from `https` to
    /// `http`, with a body that cannot be sent again, …; the text lists them all.
    Redirect,
    /// The response's body is not what the caller asked it to be read as (JSON, text), or is
    /// larger than the caller allows.
    Decode,
}

impl ErrorKind {
    /// The name in snake case, for labels of metrics: `queue_full`.
    pub fn as_str(self) -> &'static str {
        match self {
            ErrorKind::InvalidRequest => "invalid_request",
            ErrorKind::InvalidConfig => "invalid_config",
            ErrorKind::Closed => "closed",
            ErrorKind::QueueFull => "queue_full",
            ErrorKind::AcquireTimeout => "acquire_timeout",
            ErrorKind::Dns => "dns",
            ErrorKind::ConnectionRefused => "connection_refused",
            ErrorKind::Connect => "connect",
            ErrorKind::ConnectTimeout => "connect_timeout",
            ErrorKind::ProxyUnreachable => "proxy_unreachable",
            ErrorKind::ProxyAuthentication => "proxy_authentication",
            ErrorKind::ProxyRefused => "proxy_refused",
            ErrorKind::CertificateExpired => "certificate_expired",
            ErrorKind::CertificateWrongName => "certificate_wrong_name",
            ErrorKind::CertificateUnknownIssuer => "certificate_unknown_issuer",
            ErrorKind::CertificatePin => "certificate_pin",
            ErrorKind::Certificate => "certificate",
            ErrorKind::Tls => "tls",
            ErrorKind::ResponseTimeout => "response_timeout",
            ErrorKind::ReadTimeout => "read_timeout",
            ErrorKind::Timeout => "timeout",
            ErrorKind::ConnectionClosed => "connection_closed",
            ErrorKind::ResponseCut => "response_cut",
            ErrorKind::StreamReset => "stream_reset",
            ErrorKind::InvalidResponse => "invalid_response",
            ErrorKind::RequestBody => "request_body",
            ErrorKind::Redirect => "redirect",
            ErrorKind::Decode => "decode",
        }
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The part of an exchange during which an [`Error`] happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Phase {
    /// Before anything was done: the request was made or checked.
    Prepare,
    /// Waiting for a connection.
    Queue,
    /// Looking the name up.
    Dns,
    /// Connecting.
    Connect,
    /// Reaching the proxy: looking its name up, connecting, TLS with it, asking for the server.
    Proxy,
    /// The TLS handshake.
    Tls,
    /// Sending the request.
    Send,
    /// Waiting for the response's head.
    Head,
    /// Reading the response's body.
    Body,
}

impl Phase {
    /// The name in snake case, for labels of metrics: `queue`.
    pub fn as_str(self) -> &'static str {
        match self {
            Phase::Prepare => "prepare",
            Phase::Queue => "queue",
            Phase::Dns => "dns",
            Phase::Connect => "connect",
            Phase::Proxy => "proxy",
            Phase::Tls => "tls",
            Phase::Send => "send",
            Phase::Head => "head",
            Phase::Body => "body",
        }
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Why a request failed.
///
/// The text of an error is for people: it names the origin, the limit or timer that was hit with
/// its value, and what was going on in the pool. Code asks [`kind`](Self::kind),
/// [`phase`](Self::phase) and [`sent`](Self::sent). The text says what the
/// errors below it say, too; [`source`](StdError::source) has them for code.
pub struct Error(Box<Inner>);

struct Inner {
    kind: ErrorKind,
    phase: Phase,
    sent: Sent,
    text: String,
    origin: Option<OriginName>,
    connection: Option<ConnectionInfo>,
    timings: Timings,
    elapsed: Duration,
    proxy_response: Option<ProxyResponse>,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

impl Error {
    /// What kind of failure this is.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// During which part of the exchange it happened.
    pub fn phase(&self) -> Phase {
        self.0.phase
    }

    /// Whether the server may have seen the request: what a caller must know before sending a
    /// request again that must not be done twice.
    pub fn sent(&self) -> Sent {
        self.0.sent
    }

    /// Whether a timer of the agent ended the request.
    pub fn is_timeout(&self) -> bool {
        matches!(
            self.kind(),
            ErrorKind::AcquireTimeout
                | ErrorKind::ConnectTimeout
                | ErrorKind::ResponseTimeout
                | ErrorKind::ReadTimeout
                | ErrorKind::Timeout
        )
    }

    /// The origin, once it was known.
    pub fn origin(&self) -> Option<&OriginName> {
        self.0.origin.as_ref()
    }

    /// The connection that was used, if one was.
    pub fn connection(&self) -> Option<&ConnectionInfo> {
        self.0.connection.as_ref()
    }

    /// How long each phase took, as far as the request got.
    pub fn timings(&self) -> Timings {
        self.0.timings
    }

    /// Time from the start of the request to the failure.
    pub fn elapsed(&self) -> Duration {
        self.0.elapsed
    }

    /// An error of kind [`ErrorKind::Decode`], for layers that change the bodies of responses.
    pub fn decode(
        text: impl Into<String>,
        source: impl Into<Box<dyn StdError + Send + Sync>>,
    ) -> Error {
        Error::new(ErrorKind::Decode, Phase::Body, text).with_sent(Sent::Yes).with_source(source)
    }

    /// Tells of which exchange the error is a part, as a response's extensions know.
    pub fn on(self, connection: ConnectionInfo, timings: Timings) -> Error {
        let origin = connection.origin().clone();
        self.with_exchange(Some(origin), Some(connection), timings, timings.total())
    }

    /// What an HTTP proxy answered, of [`ErrorKind::ProxyAuthentication`] and
    /// [`ErrorKind::ProxyRefused`]; a SOCKS proxy's reply is in the text.
    pub fn proxy_response(&self) -> Option<&ProxyResponse> {
        self.0.proxy_response.as_ref()
    }

    /// An error of a request that has not begun.
    pub(crate) fn request(kind: ErrorKind, text: impl Into<String>) -> Error {
        Error::new(kind, Phase::Prepare, text)
    }

    pub(crate) fn new(kind: ErrorKind, phase: Phase, text: impl Into<String>) -> Error {
        Error(Box::new(Inner {
            kind,
            phase,
            sent: Sent::No,
            text: text.into(),
            origin: None,
            connection: None,
            timings: Timings::default(),
            elapsed: Duration::ZERO,
            proxy_response: None,
            source: None,
        }))
    }

    pub(crate) fn with_source(
        mut self,
        source: impl Into<Box<dyn StdError + Send + Sync>>,
    ) -> Error {
        self.0.source = Some(source.into());
        self
    }

    /// Adds to the text.
    pub(crate) fn with_remark(mut self, remark: &str) -> Error {
        self.0.text.push_str("; ");
        self.0.text.push_str(remark);
        self
    }

    pub(crate) fn with_proxy_response(mut self, response: ProxyResponse) -> Error {
        self.0.proxy_response = Some(response);
        self
    }

    pub(crate) fn with_sent(mut self, sent: Sent) -> Error {
        self.0.sent = sent;
        self
    }

    /// Adds the redirects that led to the request.
    pub(crate) fn after(mut self, redirects: &str) -> Error {
        self.0.text.push_str("; redirects: ");
        self.0.text.push_str(redirects);
        self
    }

    pub(crate) fn with_exchange(
        mut self,
        origin: Option<OriginName>,
        connection: Option<ConnectionInfo>,
        timings: Timings,
        elapsed: Duration,
    ) -> Error {
        self.0.origin = origin;
        self.0.connection = connection;
        self.0.timings = timings;
        self.0.elapsed = elapsed;
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(origin) = &self.0.origin {
            write!(f, "{origin}: ")?;
        }
        f.write_str(&self.0.text)?;
        if let Some(connection) = &self.0.connection {
            write!(f, " [{connection}; sent: {}]", self.0.sent)?;
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Error")
            .field("kind", &self.0.kind)
            .field("phase", &self.0.phase)
            .field("sent", &self.0.sent)
            .field("text", &self.0.text)
            .field("origin", &self.0.origin)
            .field("connection", &self.0.connection)
            .field("timings", &self.0.timings)
            .field("elapsed", &self.0.elapsed)
            .field("source", &self.0.source)
            .finish()
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source.as_deref().map(|source| source as &(dyn StdError + 'static))
    }
}
