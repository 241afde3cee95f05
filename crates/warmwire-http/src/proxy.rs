//! What goes wrong at a proxy, told apart from what goes wrong at the server.

use std::fmt;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use warmwire_net::{ConnectError, ConnectFault, Proxy, ProxyAnswer, ProxyFault};

use crate::error::ErrorKind;

/// What an HTTP proxy answered in place of doing what it was asked.
#[derive(Clone)]
pub struct ProxyResponse {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl ProxyResponse {
    /// Bytes that are kept of the body.
    pub(crate) const MAX_BODY: usize = 8 * 1024;

    /// The status: 407, 502, …
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// The headers; `Proxy-Authenticate` says which credentials are wanted.
    pub fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// The beginning of the body, of at most 8 KiB.
    pub fn body(&self) -> &Bytes {
        &self.body
    }

    fn of(answer: &ProxyAnswer) -> Option<ProxyResponse> {
        let headers = answer.headers.iter().filter_map(|(name, value)| {
            let name = HeaderName::from_bytes(name.as_bytes()).ok()?;
            Some((name, HeaderValue::from_bytes(value).ok()?))
        });
        let mut all = HeaderMap::new();
        headers.for_each(|(name, value)| {
            all.append(name, value);
        });
        Some(ProxyResponse {
            status: StatusCode::from_u16(answer.status).ok()?,
            headers: all,
            body: answer.body.clone().into(),
        })
    }
}

impl fmt::Debug for ProxyResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A proxy's challenge and its page may name users.
        f.debug_struct("ProxyResponse").field("status", &self.status).finish_non_exhaustive()
    }
}

/// The kind and the text of a connect that failed before the way through the proxy was open.
pub(crate) fn explain(proxy: &Proxy, fault: &ConnectFault) -> (ErrorKind, String) {
    match fault {
        ConnectFault::Proxy(ProxyFault::Authentication(_) | ProxyFault::SocksAuthentication(_)) => {
            (ErrorKind::ProxyAuthentication, format!("the proxy {proxy} wants other credentials"))
        }
        ConnectFault::Proxy(ProxyFault::Refused(_) | ProxyFault::SocksRefused { .. }) => {
            (ErrorKind::ProxyRefused, format!("the proxy {proxy} did not open the way"))
        }
        ConnectFault::Settings(_) => (
            ErrorKind::InvalidConfig,
            format!("the TLS settings of the proxy {proxy} cannot be used"),
        ),
        _ => (ErrorKind::ProxyUnreachable, format!("the proxy {proxy} could not be reached")),
    }
}

/// The answer of an HTTP proxy that is behind a failed connect.
pub(crate) fn response(error: &ConnectError) -> Option<ProxyResponse> {
    match &error.fault {
        ConnectFault::Proxy(ProxyFault::Authentication(answer) | ProxyFault::Refused(answer)) => {
            ProxyResponse::of(answer)
        }
        _ => None,
    }
}
