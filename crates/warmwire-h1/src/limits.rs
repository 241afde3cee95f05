//! Finite limits on what a peer may send.

/// Finite limits on what a peer may send in one exchange.
///
/// Every part of a response that has to be held or counted before the caller
/// sees it is bounded. The size of a body is not: it is handed on as it comes,
/// so the bound on it is the caller's.
///
/// # Defaults
///
/// | field | default |
/// |---|---|
/// | `max_head_bytes` | 64 KiB |
/// | `max_headers` | 100 |
/// | `max_informational` | 16 |
/// | `max_chunk_line` | 256 B |
/// | `max_chunk_extensions` | 16 KiB |
/// | `max_trailer_bytes` | 16 KiB |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of one response head, from its first byte to the end of its empty
    /// line. 64 KiB: large cookies and security policies stay below half of it.
    pub max_head_bytes: usize,

    /// Number of header lines in one head, and again in the trailers. 100, as
    /// in hyper; at most 24 000 are of use, since a `HeaderMap` holds no more.
    pub max_headers: usize,

    /// Number of 1xx heads before the final one. 16: a server that reports
    /// progress (102) or hints (103) sends a few; an endless row of them would
    /// keep a request busy for ever.
    pub max_informational: usize,

    /// Bytes of one chunk's size line with its extensions and without its
    /// CRLF. 256: sizes need 16, and extensions that mean something do not
    /// exist on the public web.
    pub max_chunk_line: usize,

    /// Bytes of chunk extensions in a whole body. 16 KiB, as in hyper: many
    /// small chunks with a long extension each make a peer read far more than
    /// it is given (CVE-2023-39326 is this fault in another library).
    pub max_chunk_extensions: usize,

    /// Bytes of the trailer section, its empty line included. 16 KiB.
    pub max_trailer_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_head_bytes: 64 * 1024,
            max_headers: 100,
            max_informational: 16,
            max_chunk_line: 256,
            max_chunk_extensions: 16 * 1024,
            max_trailer_bytes: 16 * 1024,
        }
    }
}
