//! Parses the trailer section of a chunked body (RFC 9112, 7.1.2).

use http::{HeaderMap, HeaderName, HeaderValue};
use httparse::Status;

use crate::fields::is_forbidden_in_trailers;
use crate::limits::Limits;
use crate::response_error::{ResponseError, ResponseErrorKind};

/// Parses a section that ends in an empty line. Fields that must not stand in
/// trailers are left out (RFC 9110, 6.5.1): no one may take them for headers.
pub(crate) fn parse(section: &[u8], limits: &Limits) -> Result<HeaderMap, ResponseError> {
    let mut trailers = HeaderMap::new();
    if section == b"\r\n" {
        return Ok(trailers);
    }
    let lines = section.iter().filter(|&&b| b == b'\n').count() - 1;
    if lines > limits.max_headers {
        return Err(ResponseErrorKind::TrailersTooLarge.into());
    }
    let invalid = || ResponseError::quoting(ResponseErrorKind::InvalidTrailer, section);
    let mut slots = vec![httparse::EMPTY_HEADER; lines];
    let Ok(Status::Complete((_, fields))) = httparse::parse_headers(section, &mut slots) else {
        return Err(invalid());
    };
    for field in fields {
        let name = HeaderName::from_bytes(field.name.as_bytes()).map_err(|_| invalid())?;
        let value = HeaderValue::from_bytes(field.value).map_err(|_| invalid())?;
        if !is_forbidden_in_trailers(&name) {
            let appended = trailers.try_append(name, value);
            appended.map_err(|_| ResponseErrorKind::TrailersTooLarge)?;
        }
    }
    Ok(trailers)
}
