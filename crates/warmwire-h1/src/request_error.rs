//! What is wrong with a request that the caller wants to send.

use std::fmt;

use crate::snippet::{snippet, write_quoted};

/// A request that must not be sent as it is, or a call out of order.
///
/// It is always the caller's fault, never the peer's. An error of
/// [`Exchange::start`](crate::Exchange::start) leaves the output as it was: not
/// a byte of a bad request is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestError {
    kind: RequestErrorKind,
    quoted: Option<Box<str>>,
}

/// The kinds of [`RequestError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RequestErrorKind {
    /// The target has a byte that a request line cannot hold.
    InvalidTarget,
    /// The form of the target does not fit the method: `CONNECT` takes
    /// `host:port` and nothing else, `*` belongs to `OPTIONS`.
    TargetForm,
    /// The host has a byte that a `Host` header cannot hold.
    InvalidHost,
    /// More than one `Host` header was given.
    DuplicateHost,
    /// The `Content-Length` header is not one number of bytes.
    InvalidContentLength,
    /// The `Content-Length` header says one length, the body has another.
    ContentLengthMismatch {
        /// What the header says, in bytes.
        header: u64,
        /// What the body has, in bytes.
        body: u64,
    },
    /// A `Content-Length` header with a body that is sent in chunks.
    ContentLengthWithChunks,
    /// A `Transfer-Encoding` other than `chunked`, which is not applied here.
    UnsupportedTransferEncoding,
    /// A `Transfer-Encoding` header with a body that is not sent in chunks.
    TransferEncodingWithoutChunks,
    /// An `Upgrade` header without `Connection: upgrade` (RFC 9110, 7.8).
    UpgradeWithoutConnection,
    /// A `CONNECT` request with a body (RFC 9110, 9.3.6).
    ConnectWithBody,
    /// `Expect: 100-continue` without a body to wait with (RFC 9110, 10.1.1).
    ExpectWithoutBody,
    /// More body than the declared length.
    BodyTooLong {
        /// What the head says, in bytes.
        declared: u64,
    },
    /// The body ended before the declared length.
    BodyTooShort {
        /// What the head says, in bytes.
        declared: u64,
        /// What came, in bytes.
        framed: u64,
    },
    /// Trailers on a body that is not sent in chunks.
    TrailersWithoutChunks,
    /// A field that must not stand in trailers (RFC 9110, 6.5.1).
    ForbiddenTrailer,
    /// `start` was called twice, a body was framed before `start` or after
    /// `finish`, or the exchange has failed before.
    OutOfOrder,
}

impl RequestError {
    /// Which rule the request breaks.
    pub fn kind(&self) -> RequestErrorKind {
        self.kind
    }

    pub(crate) fn new(kind: RequestErrorKind) -> Self {
        Self { kind, quoted: None }
    }

    pub(crate) fn quoting(kind: RequestErrorKind, bytes: &[u8]) -> Self {
        Self { kind, quoted: Some(snippet(bytes)) }
    }
}

impl From<RequestErrorKind> for RequestError {
    fn from(kind: RequestErrorKind) -> Self {
        Self::new(kind)
    }
}

impl fmt::Display for RequestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use RequestErrorKind::*;
        match self.kind {
            InvalidTarget => f.write_str("the request target has a byte it cannot hold")?,
            TargetForm => f.write_str("the form of the target does not fit the method")?,
            InvalidHost => f.write_str("the host has a byte it cannot hold")?,
            DuplicateHost => f.write_str("more than one Host header")?,
            InvalidContentLength => f.write_str("the Content-Length header is not one number")?,
            ContentLengthMismatch { header, body } => {
                write!(f, "the Content-Length header says {header} bytes, the body has {body}")?;
            }
            ContentLengthWithChunks => {
                f.write_str("a Content-Length header with a body sent in chunks")?;
            }
            UnsupportedTransferEncoding => {
                f.write_str("a Transfer-Encoding other than chunked is not applied")?;
            }
            TransferEncodingWithoutChunks => {
                f.write_str("a Transfer-Encoding header with a body that is not sent in chunks")?;
            }
            UpgradeWithoutConnection => {
                f.write_str("an Upgrade header without Connection: upgrade")?;
            }
            ConnectWithBody => f.write_str("a CONNECT request has no body")?,
            ExpectWithoutBody => f.write_str("Expect: 100-continue without a body")?,
            BodyTooLong { declared } => {
                write!(f, "the body is longer than the {declared} bytes that the head declares")?;
            }
            BodyTooShort { declared, framed } => {
                write!(f, "the body ended after {framed} of the {declared} bytes declared")?;
            }
            TrailersWithoutChunks => {
                f.write_str("trailers need a body that is sent in chunks")?;
            }
            ForbiddenTrailer => f.write_str("a field that must not stand in trailers")?,
            OutOfOrder => f.write_str("the call does not fit the state of the exchange")?,
        }
        write_quoted(f, self.quoted.as_deref())
    }
}

impl std::error::Error for RequestError {}
