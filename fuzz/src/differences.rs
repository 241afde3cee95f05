//! Where ours and hyper differ on purpose, with the reason for each.

use warmwire_h1::ResponseErrorKind;

use crate::Outcome;
use crate::case::Case;
use crate::our_side::Ours;

/// The reason why ours refuses what hyper accepts, if it is one of these. There
/// is none for accepting what hyper refuses.
pub(crate) fn reason(case: &Case<'_>, ours: &Ours, theirs: &Outcome) -> Option<&'static str> {
    if *theirs == Outcome::Error {
        return None;
    }
    match ours.error? {
        ResponseErrorKind::NotHttp if has_empty_line(case.response) => Some(
            "RFC 9112, 2.2, has servers skip empty lines before a request; before a response \
             they are bytes that belong to no message. hyper skips them",
        ),
        ResponseErrorKind::UnaskedUpgrade => Some(
            "a server must not switch to a protocol that was not asked for (RFC 9110, 7.8); \
             hyper leaves that to its caller",
        ),
        ResponseErrorKind::UnsupportedTransferEncoding => {
            Some("a coding that is not decoded would pass for the content; hyper hands it on")
        }
        ResponseErrorKind::LengthAndEncoding => Some(
            "a response with both ought to be handled as an error (RFC 9112, 6.3); hyper \
             believes the Transfer-Encoding",
        ),
        ResponseErrorKind::TooManyInformational => Some("hyper has no bound on 1xx responses"),
        ResponseErrorKind::InvalidChunkSize if has_long_number(case.response) => {
            Some("a size of more than 16 digits; hyper accepts any number of leading zeros")
        }
        ResponseErrorKind::ChunkLineTooLong => Some("hyper bounds the extensions of a body only"),
        ResponseErrorKind::InvalidTrailer if has_bare_line_feed(case.response) => {
            Some("trailer lines end in CRLF as all of a chunked body does; hyper accepts LF there")
        }
        _ => None,
    }
}

/// At the start, or after a 1xx head.
fn has_empty_line(response: &[u8]) -> bool {
    let starts = |text: &[u8]| text.starts_with(b"\n") || text.starts_with(b"\r\n");
    let after_head = [&b"\n\n"[..], b"\n\r\n"].iter().any(|end| {
        response
            .windows(end.len())
            .enumerate()
            .any(|(at, window)| window == *end && starts(&response[at + end.len()..]))
    });
    starts(response) || after_head
}

fn has_long_number(response: &[u8]) -> bool {
    response.windows(17).any(|digits| digits.iter().all(u8::is_ascii_hexdigit))
}

fn has_bare_line_feed(response: &[u8]) -> bool {
    response.windows(2).any(|pair| pair[1] == b'\n' && pair[0] != b'\r')
}
