//! What is wrong with what a peer sent, or where it stopped.

use std::fmt;

use crate::snippet::{snippet, write_quoted};

/// A response that breaks the protocol or a limit, or that was cut.
///
/// It is sticky: after the first error every further call answers with the same
/// one, and the connection is never reused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResponseError(Box<Inner>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Inner {
    kind: ResponseErrorKind,
    /// Bytes into the head, the body as framed, or the trailers.
    offset: Option<u64>,
    quoted: Option<Box<str>>,
}

/// The kinds of [`ResponseError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ResponseErrorKind {
    /// The first bytes are not `HTTP/1.0` or `HTTP/1.1` (RFC 9112, 2.3).
    NotHttp,
    /// The status line is malformed (RFC 9112, 4).
    InvalidStatusLine,
    /// A header line is malformed (RFC 9112, 5).
    InvalidHeader,
    /// The head is larger than [`Limits::max_head_bytes`](crate::Limits).
    HeadTooLarge,
    /// More header lines than [`Limits::max_headers`](crate::Limits).
    TooManyHeaders,
    /// More 1xx heads than [`Limits::max_informational`](crate::Limits).
    TooManyInformational,
    /// `Content-Length` is not one number, or its values differ (RFC 9112, 6.3).
    InvalidContentLength,
    /// Both `Content-Length` and `Transfer-Encoding`: an attempt to smuggle
    /// (RFC 9112, 6.3, item 3).
    LengthAndEncoding,
    /// A transfer coding other than `chunked` alone. None was asked for, so
    /// none can be decoded (RFC 9112, 6.1 and 7.4).
    UnsupportedTransferEncoding,
    /// `Transfer-Encoding` in an HTTP/1.0 response (RFC 9112, 6.1).
    EncodingInHttp10,
    /// A chunk's size is missing, not hexadecimal, or of more than 16 digits
    /// (RFC 9112, 7.1).
    InvalidChunkSize,
    /// A chunk's size line does not end in CRLF.
    InvalidChunkLine,
    /// A chunk's size line is longer than
    /// [`Limits::max_chunk_line`](crate::Limits).
    ChunkLineTooLong,
    /// More chunk extensions than
    /// [`Limits::max_chunk_extensions`](crate::Limits).
    ChunkExtensionsTooLong,
    /// A chunk's data is not followed by CRLF.
    InvalidChunkEnd,
    /// A trailer line is malformed (RFC 9112, 7.1.2).
    InvalidTrailer,
    /// The trailers are larger than
    /// [`Limits::max_trailer_bytes`](crate::Limits), or more than
    /// [`Limits::max_headers`](crate::Limits).
    TrailersTooLarge,
    /// Bytes came before any byte of the request had left.
    Unsolicited,
    /// `101 Switching Protocols` to a request that asked for no upgrade, or from
    /// an HTTP/1.0 server.
    UnaskedUpgrade,
    /// The peer closed before the response was complete.
    Cut(Cut),
}

/// Where the peer closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cut {
    /// Before any byte of a response. On a reused connection this is the usual
    /// race with the server's idle timeout.
    BeforeResponse,
    /// In a head, or after a 1xx head and before the final one.
    Head,
    /// In a body of known length.
    Body {
        /// Bytes of the body that came.
        received: u64,
        /// Bytes of the body that the head promised.
        expected: u64,
    },
    /// In a chunked body, before its last chunk.
    Chunks {
        /// Bytes of the body that came, framing left out.
        received: u64,
    },
    /// In the trailer section: the body is whole, the message is not.
    Trailers,
}

impl ResponseError {
    /// What is wrong.
    pub fn kind(&self) -> ResponseErrorKind {
        self.0.kind
    }

    /// Whether the peer closed before the response was complete, as opposed to
    /// having sent something wrong.
    pub fn is_cut(&self) -> bool {
        self.cut().is_some()
    }

    /// Where the peer closed, if that is the error.
    pub fn cut(&self) -> Option<Cut> {
        match self.0.kind {
            ResponseErrorKind::Cut(cut) => Some(cut),
            _ => None,
        }
    }

    /// Where the fault lies, in bytes from the start of the head, of the framed
    /// body, or of the trailers, whichever the kind speaks of.
    pub fn offset(&self) -> Option<u64> {
        self.0.offset
    }

    pub(crate) fn new(kind: ResponseErrorKind) -> Self {
        Self(Box::new(Inner { kind, offset: None, quoted: None }))
    }

    pub(crate) fn quoting(kind: ResponseErrorKind, bytes: &[u8]) -> Self {
        Self(Box::new(Inner { kind, offset: None, quoted: Some(snippet(bytes)) }))
    }

    pub(crate) fn at(mut self, offset: u64) -> Self {
        self.0.offset = Some(offset);
        self
    }
}

impl From<ResponseErrorKind> for ResponseError {
    fn from(kind: ResponseErrorKind) -> Self {
        Self::new(kind)
    }
}

impl fmt::Display for ResponseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.kind.fmt(f)?;
        if let Some(offset) = self.0.offset {
            write!(f, ", at byte {offset}")?;
        }
        write_quoted(f, self.0.quoted.as_deref())
    }
}

impl std::error::Error for ResponseError {}

impl fmt::Display for ResponseErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use ResponseErrorKind::*;
        f.write_str(match self {
            NotHttp => "the response is not HTTP/1.0 or HTTP/1.1",
            InvalidStatusLine => "malformed status line",
            InvalidHeader => "malformed header line",
            HeadTooLarge => "the response head is larger than the limit",
            TooManyHeaders => "more response headers than the limit",
            TooManyInformational => "more 1xx responses than the limit",
            InvalidContentLength => "Content-Length is not one number",
            LengthAndEncoding => "both Content-Length and Transfer-Encoding",
            UnsupportedTransferEncoding => "a Transfer-Encoding other than chunked",
            EncodingInHttp10 => "Transfer-Encoding in an HTTP/1.0 response",
            InvalidChunkSize => "malformed chunk size",
            InvalidChunkLine => "a chunk's size line does not end in CRLF",
            ChunkLineTooLong => "a chunk's size line is longer than the limit",
            ChunkExtensionsTooLong => "more chunk extensions than the limit",
            InvalidChunkEnd => "a chunk's data does not end in CRLF",
            InvalidTrailer => "malformed trailer line",
            TrailersTooLarge => "the trailers are larger than the limit",
            Unsolicited => "bytes came before the request had left",
            UnaskedUpgrade => "101 Switching Protocols without a request for it",
            Cut(cut) => return cut.fmt(f),
        })
    }
}

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cut::BeforeResponse => f.write_str("the peer closed before any byte of a response"),
            Cut::Head => f.write_str("the peer closed in the response head"),
            Cut::Body { received, expected } => {
                write!(f, "the peer closed after {received} of {expected} bytes of the body")
            }
            Cut::Chunks { received } => {
                write!(f, "the peer closed in a chunked body, after {received} bytes of it")
            }
            Cut::Trailers => f.write_str("the peer closed in the trailers"),
        }
    }
}
