//! How the end of a response body is found (RFC 9112, 6.3).

use http::{HeaderMap, HeaderValue, StatusCode, Version, header};

use crate::fields::content_length;
use crate::request::HeadFacts;
use crate::response::BodyKind;
use crate::response_error::{ResponseError, ResponseErrorKind};

/// Applies the rules of section 6.3 in their order. What they leave open, or
/// permit out of kindness, is an error: a guess that another party on the way
/// makes differently is how responses are smuggled.
pub(crate) fn body_kind(
    request: &HeadFacts,
    version: Version,
    status: StatusCode,
    headers: &HeaderMap,
) -> Result<BodyKind, ResponseError> {
    // RFC 9110, 7.8: a server must not switch to what was not asked for, and
    // HTTP/1.0 knows no switch.
    if status == StatusCode::SWITCHING_PROTOCOLS {
        return match request.upgrade && version == Version::HTTP_11 {
            true => Ok(BodyKind::Tunnel),
            false => Err(ResponseErrorKind::UnaskedUpgrade.into()),
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
    match (headers.contains_key(header::TRANSFER_ENCODING), declared_length(headers)?) {
        (true, Some(_)) => Err(ResponseErrorKind::LengthAndEncoding.into()),
        (true, None) => check_encoding(version, headers).map(|()| BodyKind::Chunked),
        (false, Some(length)) => Ok(BodyKind::Length(length)),
        (false, None) => Ok(BodyKind::UntilClose),
    }
}

/// The value of all `Content-Length` lines, which must agree.
fn declared_length(headers: &HeaderMap) -> Result<Option<u64>, ResponseError> {
    let mut found = None;
    for value in headers.get_all(header::CONTENT_LENGTH) {
        let length = content_length(value.as_bytes());
        if length.is_none() || found.is_some_and(|found| Some(found) != length) {
            let kind = ResponseErrorKind::InvalidContentLength;
            return Err(ResponseError::quoting(kind, value.as_bytes()));
        }
        found = length;
    }
    Ok(found)
}

/// Only `chunked`, alone and once: other codings were not asked for (RFC 9112,
/// 7.4) and are not decoded, so their bytes would pass for the content.
fn check_encoding(version: Version, headers: &HeaderMap) -> Result<(), ResponseError> {
    if version == Version::HTTP_10 {
        return Err(ResponseErrorKind::EncodingInHttp10.into());
    }
    let mut lines = headers.get_all(header::TRANSFER_ENCODING).iter();
    let first = lines.next().map(HeaderValue::as_bytes).unwrap_or_default();
    if !first.trim_ascii().eq_ignore_ascii_case(b"chunked") || lines.next().is_some() {
        let kind = ResponseErrorKind::UnsupportedTransferEncoding;
        return Err(ResponseError::quoting(kind, first));
    }
    Ok(())
}
