//! A request, a response, and how the response is cut into reads.

use std::fmt;

use http::Method;

/// One fuzz input, taken apart.
pub(crate) struct Case<'a> {
    pub(crate) kind: Kind,
    cuts: u8,
    pub(crate) response: &'a [u8],
}

/// The requests that read a response differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Get,
    Head,
    Post,
    Connect,
    Upgrade,
}

impl Kind {
    pub(crate) fn method(self) -> Method {
        match self {
            Self::Get | Self::Upgrade => Method::GET,
            Self::Head => Method::HEAD,
            Self::Post => Method::POST,
            Self::Connect => Method::CONNECT,
        }
    }
}

impl<'a> Case<'a> {
    /// The first byte chooses the request, the second one the reads.
    pub(crate) fn new(data: &'a [u8]) -> Option<Self> {
        let &[kind, cuts, ref response @ ..] = data else { return None };
        let kind = match kind {
            b'H' => Kind::Head,
            b'P' => Kind::Post,
            b'C' => Kind::Connect,
            b'U' => Kind::Upgrade,
            _ => Kind::Get,
        };
        Some(Self { kind, cuts, response })
    }

    /// The reads, of lengths that vary with the second byte.
    pub(crate) fn pieces(&self) -> Vec<&'a [u8]> {
        let mut state = u32::from(self.cuts);
        let mut rest = self.response;
        let mut pieces = Vec::new();
        while !rest.is_empty() {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let len = 1 + (state >> 24) as usize % 61;
            let (piece, others) = rest.split_at(len.min(rest.len()));
            pieces.push(piece);
            rest = others;
        }
        pieces
    }
}

impl fmt::Display for Case<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} cut by {}: {}", self.kind, self.cuts, self.response.escape_ascii())
    }
}
