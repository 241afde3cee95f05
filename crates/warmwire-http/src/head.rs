//! The head of a request: its target and `Host`, and whether it may be sent at all.

use http::{HeaderName, Uri, header};
use warmwire_h1::{RequestHead, Target};

use crate::body::Body;
use crate::core::Core;
use crate::error::{Error, ErrorKind};
use crate::send::RequestParts;
use crate::wire;

/// The headers by which a request can be one that must not be sent as it is.
const CRITICAL: [HeaderName; 5] = [
    header::CONTENT_LENGTH,
    header::TRANSFER_ENCODING,
    header::HOST,
    header::UPGRADE,
    header::EXPECT,
];

/// Refuses a request that must not be sent as it is before it takes a connection from others. Most
/// have nothing that could be wrong, and are not encoded for that.
pub(crate) fn check(core: &Core, request: &RequestParts, body: &mut Body) -> Result<(), Error> {
    let target_may_be_wrong =
        || request.uri.path_and_query().is_some_and(|pq| pq == "*" || !pq.as_str().is_ascii());
    if !request.headers.keys().any(|name| CRITICAL.contains(name)) && !target_may_be_wrong() {
        return Ok(());
    }
    let head = RequestHead {
        method: &request.method,
        target: target(request),
        host: host(request.authority()),
        headers: &request.headers,
        defaults: &core.hooks.config.default_headers,
    };
    wire::check(&head, body).map_err(|error| {
        Error::request(ErrorKind::InvalidRequest, error.to_string()).with_source(error)
    })
}

/// What the request line says, where there is no proxy.
pub(crate) fn target(request: &RequestParts) -> Target<'_> {
    match request.uri.path() {
        "*" => Target::Asterisk,
        _ => Target::Origin(&request.uri),
    }
}

/// The `Host` field's value: the authority, without the scheme's own port.
pub(crate) fn host(uri: &Uri) -> &str {
    let authority = uri.authority().map_or("", |authority| authority.as_str());
    let default = match uri.scheme_str() {
        Some("https") => ":443",
        _ => ":80",
    };
    let authority = authority.strip_suffix(default).unwrap_or(authority);
    authority.strip_suffix(':').unwrap_or(authority)
}
