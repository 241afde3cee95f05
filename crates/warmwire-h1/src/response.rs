//! What the decoder hands out.

use bytes::Bytes;
use http::{HeaderMap, StatusCode, Version};

/// The next thing that a response had.
///
/// Heads are boxed: they pass through many hands, and moving one costs more than allocating it.
#[derive(Clone, Debug)]
pub enum Received {
    /// A 1xx head other than a 101 that was asked for; the final head is still
    /// to come.
    Informational(Box<ResponseHead>),
    /// The final head.
    Head(Box<ResponseHead>),
    /// A piece of the body, never empty.
    Data(Bytes),
    /// The trailers, fields that must not stand in them left out; never empty.
    Trailers(HeaderMap),
    /// The response is complete. [`Exchange::decode`](crate::Exchange::decode)
    /// says so once, and never after an upgrade.
    End,
}

/// A response head.
#[derive(Clone, Debug)]
pub struct ResponseHead {
    /// The status, 100 to 999.
    pub status: StatusCode,
    /// HTTP/1.0 or HTTP/1.1.
    pub version: Version,
    /// The headers, in the order in which they came. Values share one copy of
    /// the head.
    pub headers: HeaderMap,
    /// The reason phrase, when it is not the usual one for the status.
    pub reason: Option<Bytes>,
    /// How the end of the body is found.
    pub body: BodyKind,
}

/// How the end of a response body is found (RFC 9112, 6.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyKind {
    /// There is no body, whatever the headers say: `HEAD`, 1xx, 204, 304.
    None,
    /// A body of this many bytes.
    Length(u64),
    /// A body in chunks.
    Chunked,
    /// A body that ends when the server closes; the connection ends with it.
    UntilClose,
    /// The connection is no longer HTTP: a 101 that was asked for, or a 2xx to
    /// `CONNECT`.
    Tunnel,
}

impl BodyKind {
    /// The length of the body in bytes, if it is known before it comes.
    pub fn length(self) -> Option<u64> {
        match self {
            Self::None => Some(0),
            Self::Length(length) => Some(length),
            Self::Chunked | Self::UntilClose | Self::Tunnel => None,
        }
    }
}
