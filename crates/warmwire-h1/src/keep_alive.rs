//! The `Keep-Alive` header (RFC 2068, 19.7.1).

use std::time::Duration;

use http::{HeaderMap, HeaderName};

pub(crate) static KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");

/// Larger timeouts count as this one, 136 years in seconds: a deadline made of
/// it still fits every clock.
const MAX_TIMEOUT_SECONDS: u64 = u32::MAX as u64;

/// What the server says about how long it keeps this connection.
///
/// Only the numbers are told; what `timeout=0` or `max=1` mean for the
/// connection is the pool's affair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeepAlive {
    /// How long the server keeps the connection idle, in whole seconds;
    /// at most `u32::MAX` of them. `None` when it does not say.
    pub timeout: Option<Duration>,
    /// How many more requests the server takes on this connection. `None` when
    /// it does not say.
    pub max: Option<u64>,
}

impl KeepAlive {
    /// Reads every `Keep-Alive` line of `headers`.
    ///
    /// Spellings differ among servers, so names are compared without case,
    /// spaces and quotes are accepted, a semicolon separates as a comma does,
    /// and what is not a number is ignored. Of several values the smallest
    /// counts, since it is the one that costs no failed request.
    pub fn from_headers(headers: &HeaderMap) -> Self {
        let mut found = Self::default();
        for value in headers.get_all(&KEEP_ALIVE) {
            found.add_line(value.as_bytes());
        }
        found
    }

    pub(crate) fn add_line(&mut self, value: &[u8]) {
        for parameter in value.split(|b| matches!(b, b',' | b';')) {
            let Some(equals) = parameter.iter().position(|&b| b == b'=') else { continue };
            let name = parameter[..equals].trim_ascii();
            let Some(number) = number(&parameter[equals + 1..]) else { continue };
            if name.eq_ignore_ascii_case(b"timeout") {
                let timeout = Duration::from_secs(number.min(MAX_TIMEOUT_SECONDS));
                self.timeout = Some(self.timeout.map_or(timeout, |t| t.min(timeout)));
            } else if name.eq_ignore_ascii_case(b"max") {
                self.max = Some(self.max.map_or(number, |m| m.min(number)));
            }
        }
    }
}

/// A number in digits, in quotes or not; one that is too large saturates.
fn number(text: &[u8]) -> Option<u64> {
    let mut text = text.trim_ascii();
    if let [b'"', inner @ .., b'"'] = text {
        text = inner.trim_ascii();
    }
    if text.is_empty() || !text.iter().all(u8::is_ascii_digit) {
        return None;
    }
    Some(text.iter().fold(0, |n: u64, b| n.saturating_mul(10).saturating_add((b - b'0').into())))
}
