//! `http://` requests that a proxy forwards (RFC 9112, 3.2.2): there is no tunnel, so the proxy
//! reads the request itself, and may answer it itself.

use std::borrow::Cow;
use std::sync::OnceLock;

use bytes::BytesMut;
use http::header::{HeaderMap, HeaderValue, PROXY_AUTHORIZATION};
use http::{StatusCode, Uri};
use warmwire_h1::Sent;
use warmwire_net::Proxy;

use crate::error::{Error, ErrorKind, Phase};
use crate::proxy::ProxyResponse;
use crate::response::Response;

/// What an origin's requests carry for the proxy that forwards them.
pub(crate) struct Forward {
    authorization: Option<HeaderValue>,
    defaults: OnceLock<HeaderMap>,
}

impl Forward {
    pub(crate) fn new(proxy: &Proxy) -> Forward {
        let authorization = proxy.authorization_value().and_then(|value| {
            // The proxy's own check let nothing pass that a header cannot carry.
            let mut value = HeaderValue::from_str(value).ok()?;
            value.set_sensitive(true);
            Some(value)
        });
        Forward { authorization, defaults: OnceLock::new() }
    }

    /// These default headers and the proxy's authorization; `own`: they are the request's and not
    /// the agent's, which are put together once.
    pub(crate) fn defaults<'a>(&'a self, ours: &'a HeaderMap, own: bool) -> Cow<'a, HeaderMap> {
        let Some(authorization) = &self.authorization else { return Cow::Borrowed(ours) };
        let together = || {
            let mut headers = ours.clone();
            headers.insert(PROXY_AUTHORIZATION, authorization.clone());
            headers
        };
        match own {
            true => Cow::Owned(together()),
            false => Cow::Borrowed(self.defaults.get_or_init(together)),
        }
    }
}

/// The whole URL of a request whose own names only the path.
pub(crate) fn whole(base: &Uri, path: &Uri) -> Uri {
    let mut parts = path.clone().into_parts();
    parts.scheme = base.scheme().cloned();
    parts.authority = base.authority().cloned();
    // Parts of two valid URLs, with a path: together they are one.
    Uri::from_parts(parts).unwrap_or_default()
}

/// A 407 of the proxy as the error that it is; any other answer is as good as the server's, which
/// nobody can tell it from.
pub(crate) async fn told(mut response: Response) -> Result<Response, Error> {
    let origin = response.connection.origin().clone();
    let Some(proxy) = origin.proxy().filter(|_| origin.is_forwarded()) else {
        return Ok(response);
    };
    let text =
        format!("the proxy {proxy} wants other credentials: it answered {}", response.status());
    let answer = ProxyResponse {
        status: StatusCode::PROXY_AUTHENTICATION_REQUIRED,
        headers: std::mem::take(&mut response.head.headers),
        body: excerpt(&mut response).await.freeze(),
    };
    let (connection, timings) = (response.connection.clone(), response.timings);
    Err(Error::new(ErrorKind::ProxyAuthentication, Phase::Head, text)
        .with_sent(Sent::Yes)
        .with_proxy_response(answer)
        .with_exchange(Some(origin), Some(connection), timings, timings.total()))
}

/// The body's beginning. If it breaks off, the rest of the answer is still what happened.
async fn excerpt(response: &mut Response) -> BytesMut {
    let mut body = BytesMut::new();
    while let Ok(Some(piece)) = response.chunk().await {
        let room = ProxyResponse::MAX_BODY - body.len();
        body.extend_from_slice(&piece[..piece.len().min(room)]);
        if piece.len() > room {
            break;
        }
    }
    body
}
