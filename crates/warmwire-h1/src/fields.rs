//! Rules about single fields which both halves need.

use http::{HeaderName, header};

/// Whether a comma-separated list has `token`, without case.
pub(crate) fn value_has_token(value: &[u8], token: &str) -> bool {
    value.split(|&b| b == b',').any(|item| item.trim_ascii().eq_ignore_ascii_case(token.as_bytes()))
}

/// One `Content-Length` value: digits, or a list of equal numbers, which RFC
/// 9112, 6.3 item 5, allows to take for one. No sign, nothing empty, no more
/// than a `u64`.
pub(crate) fn content_length(value: &[u8]) -> Option<u64> {
    let mut found = None;
    for item in value.split(|&b| b == b',') {
        let number = digits(item.trim_ascii())?;
        if *found.get_or_insert(number) != number {
            return None;
        }
    }
    found
}

/// Fields that frame, route, authorise or describe a message, and so have no
/// meaning after it (RFC 9110, 6.5.1).
pub(crate) fn is_forbidden_in_trailers(name: &HeaderName) -> bool {
    const FORBIDDEN: [HeaderName; 27] = [
        header::AGE,
        header::AUTHORIZATION,
        header::CACHE_CONTROL,
        header::CONNECTION,
        header::CONTENT_ENCODING,
        header::CONTENT_LENGTH,
        header::CONTENT_RANGE,
        header::CONTENT_TYPE,
        header::COOKIE,
        header::DATE,
        header::EXPECT,
        header::EXPIRES,
        header::HOST,
        header::LOCATION,
        header::MAX_FORWARDS,
        header::PRAGMA,
        header::PROXY_AUTHENTICATE,
        header::PROXY_AUTHORIZATION,
        header::RANGE,
        header::RETRY_AFTER,
        header::SET_COOKIE,
        header::TE,
        header::TRAILER,
        header::TRANSFER_ENCODING,
        header::UPGRADE,
        header::VARY,
        header::WWW_AUTHENTICATE,
    ];
    FORBIDDEN.contains(name) || name == crate::keep_alive::KEEP_ALIVE
}

fn digits(text: &[u8]) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    text.iter().try_fold(0u64, |number, &b| {
        let digit = b.is_ascii_digit().then(|| u64::from(b - b'0'))?;
        number.checked_mul(10)?.checked_add(digit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_length_takes_one_number_or_equal_ones() {
        for (text, expected) in [
            ("0", Some(0)),
            ("5", Some(5)),
            ("005", Some(5)),
            ("5, 5", Some(5)),
            ("18446744073709551615", Some(u64::MAX)),
            ("18446744073709551616", None),
            ("", None),
            ("5,", None),
            ("+5", None),
            ("-5", None),
            ("5, 6", None),
            ("5 5", None),
            ("0x5", None),
            ("5.0", None),
        ] {
            assert_eq!(content_length(text.as_bytes()), expected, "{text:?}");
        }
    }

    #[test]
    fn tokens_are_found_without_case_and_never_in_part() {
        assert!(value_has_token(b"Keep-Alive ,\tCLOSE", "close"));
        assert!(!value_has_token(b"closed, not-close", "close"));
    }
}
