//! What the header lines of a response say about framing and reuse, noted while
//! they are parsed: one pass, and no search in the finished map.

use http::{HeaderName, HeaderValue, header};

use crate::fields::{content_length, value_has_token};
use crate::keep_alive::{KEEP_ALIVE, KeepAlive};

/// What all header lines say together.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Notes {
    pub(crate) length: Length,
    pub(crate) encoding: Encoding,
    /// `Connection` has `close`.
    pub(crate) close: bool,
    /// `Connection` has `keep-alive`.
    pub(crate) persist: bool,
    pub(crate) keep_alive: KeepAlive,
}

/// What all `Content-Length` lines say together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Length {
    #[default]
    Absent,
    Known(u64),
    Invalid,
}

/// What all `Transfer-Encoding` lines say together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Encoding {
    #[default]
    Absent,
    Chunked,
    Unsupported,
}

impl Notes {
    pub(crate) fn add(&mut self, name: &HeaderName, value: &HeaderValue) {
        let value = value.as_bytes();
        if name == header::CONTENT_LENGTH {
            self.length = self.length.and(value);
        } else if name == header::CONNECTION {
            self.close |= value_has_token(value, "close");
            self.persist |= value_has_token(value, "keep-alive");
        } else if name == header::TRANSFER_ENCODING {
            self.encoding = self.encoding.and(value);
        } else if name == KEEP_ALIVE {
            self.keep_alive.add_line(value);
        }
    }
}

impl Length {
    /// RFC 9112, 6.3 item 5: several lines are one if they agree.
    fn and(self, value: &[u8]) -> Self {
        match (self, content_length(value)) {
            (Self::Absent, Some(length)) => Self::Known(length),
            (Self::Known(known), Some(length)) if known == length => self,
            _ => Self::Invalid,
        }
    }
}

impl Encoding {
    /// Only `chunked`, alone and once (RFC 9112, 7.1).
    fn and(self, value: &[u8]) -> Self {
        match self == Self::Absent && value.trim_ascii().eq_ignore_ascii_case(b"chunked") {
            true => Self::Chunked,
            false => Self::Unsupported,
        }
    }
}
