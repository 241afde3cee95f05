//! How the end of a response body is found (RFC 9112, 6.3).

use http::{StatusCode, Version};

use crate::notes::{Encoding, Length, Notes};
use crate::request::HeadFacts;
use crate::response::BodyKind;
use crate::response_error::ResponseErrorKind;

/// Applies the rules of section 6.3 in their order. What they leave open, or
/// permit out of kindness, is an error: a guess that another party on the way
/// makes differently is how responses are smuggled.
pub(crate) fn body_kind(
    request: &HeadFacts,
    version: Version,
    status: StatusCode,
    notes: &Notes,
) -> Result<BodyKind, ResponseErrorKind> {
    // RFC 9110, 7.8: a server must not switch to what was not asked for, and
    // HTTP/1.0 knows no switch.
    if status == StatusCode::SWITCHING_PROTOCOLS {
        return match request.upgrade && version == Version::HTTP_11 {
            true => Ok(BodyKind::Tunnel),
            false => Err(ResponseErrorKind::UnaskedUpgrade),
        };
    }
    if request.connect && status.is_success() {
        return Ok(BodyKind::Tunnel);
    }
    let is_bodiless = request.head
        || status.is_informational()
        || matches!(status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED);
    if is_bodiless {
        return Ok(BodyKind::None);
    }
    match (notes.encoding, notes.length) {
        (Encoding::Absent, Length::Absent) => Ok(BodyKind::UntilClose),
        (Encoding::Absent, Length::Known(length)) => Ok(BodyKind::Length(length)),
        (Encoding::Absent, Length::Invalid) => Err(ResponseErrorKind::InvalidContentLength),
        (_, Length::Known(_) | Length::Invalid) => Err(ResponseErrorKind::LengthAndEncoding),
        (_, Length::Absent) if version == Version::HTTP_10 => {
            Err(ResponseErrorKind::EncodingInHttp10)
        }
        // Other codings were not asked for (RFC 9112, 7.4) and are not decoded,
        // so their bytes would pass for the content.
        (Encoding::Unsupported, _) => Err(ResponseErrorKind::UnsupportedTransferEncoding),
        (Encoding::Chunked, _) => Ok(BodyKind::Chunked),
    }
}
