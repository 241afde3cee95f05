//! Requests on their way to being sent.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{Method, Uri};
use serde::Serialize;
use warmwire_net::{Proxy, Tls};

use crate::agent::Agent;
use crate::body::Body;
use crate::error::{Error, ErrorKind};
use crate::policy::OwnTimeouts;
use crate::redirect::RedirectPolicy;
use crate::response::Response;
use crate::send::{self, Base, RequestParts};
use crate::url::IntoUri;

/// A request being built; [`send`](Self::send) sends it.
///
/// What cannot be sent (a bad URL, a bad header) is told by `send`, so that calls can be chained.
#[derive(Debug)]
#[must_use = "a request does nothing until it is sent"]
pub struct RequestBuilder {
    agent: Agent,
    parts: RequestParts,
    body: Body,
    /// The first thing that was wrong.
    invalid: Option<Error>,
}

impl RequestBuilder {
    pub(crate) fn new(agent: &Agent, method: Method, uri: Result<Uri, Error>) -> RequestBuilder {
        let (uri, invalid) = match uri {
            Ok(uri) => (uri, None),
            Err(error) => (Uri::default(), Some(error)),
        };
        let parts = RequestParts {
            method,
            uri,
            base: None,
            headers: HeaderMap::new(),
            unix: None,
            route: None,
            own: None,
            idempotent: None,
        };
        RequestBuilder { agent: agent.clone(), parts, body: Body::empty(), invalid }
    }

    /// Adds a header; one of the same name stays. Headers of the request take the place of the
    /// agent's default headers of the same name.
    pub fn header<N, V>(self, name: N, value: V) -> RequestBuilder
    where
        N: TryInto<HeaderName>,
        N::Error: fmt::Display,
        V: TryInto<HeaderValue>,
        V::Error: fmt::Display,
    {
        self.try_with(|request| {
            let name = name.try_into().map_err(|error| invalid("header name", &error))?;
            let value = value
                .try_into()
                .map_err(|error| invalid(&format!("value of the header {name}"), &error))?;
            request.headers.append(name, value);
            Ok(())
        })
    }

    /// Sets these headers in place of those of the same names.
    pub fn headers(self, headers: HeaderMap) -> RequestBuilder {
        self.with(|request| {
            for name in headers.keys() {
                request.headers.remove(name);
            }
            let mut last = None;
            for (name, value) in headers {
                last = name.or(last);
                if let Some(name) = &last {
                    request.headers.append(name.clone(), value);
                }
            }
        })
    }

    /// Adds pairs to the URL's query, form-encoded: anything that serialises as pairs, such as
    /// `[("a", 1)]` or a struct.
    pub fn query(self, pairs: &(impl Serialize + ?Sized)) -> RequestBuilder {
        self.try_with(|request| {
            let added =
                serde_urlencoded::to_string(pairs).map_err(|error| invalid("query", &error))?;
            if added.is_empty() {
                return Ok(());
            }
            let path = request.uri.path();
            let path_and_query = match request.uri.query() {
                None | Some("") => format!("{path}?{added}"),
                Some(query) => format!("{path}?{query}&{added}"),
            };
            let mut parts = std::mem::take(&mut request.uri).into_parts();
            parts.path_and_query =
                Some(path_and_query.parse().map_err(|error| invalid("query", &error))?);
            request.uri = Uri::from_parts(parts).map_err(|error| invalid("query", &error))?;
            Ok(())
        })
    }

    /// `Authorization: Basic` (RFC 7617), marked as sensitive so that it is not logged.
    pub fn basic_auth(
        self,
        user: impl fmt::Display,
        password: impl fmt::Display,
    ) -> RequestBuilder {
        let token = BASE64_STANDARD.encode(format!("{user}:{password}"));
        self.authorization(&format!("Basic {token}"))
    }

    /// `Authorization: Bearer` (RFC 6750), marked as sensitive so that it is not logged.
    pub fn bearer_auth(self, token: impl fmt::Display) -> RequestBuilder {
        self.authorization(&format!("Bearer {token}"))
    }

    /// Sets the body.
    pub fn body(mut self, body: impl Into<Body>) -> RequestBuilder {
        self.body = body.into();
        self
    }

    /// Sets the body to JSON and `Content-Type` to `application/json` if it is not set.
    pub fn json(mut self, value: &(impl Serialize + ?Sized)) -> RequestBuilder {
        match serde_json::to_vec(value) {
            Ok(json) => self.body = json.into(),
            Err(error) => return self.try_with(|_| Err(invalid("JSON body", &error))),
        }
        self.content_type("application/json")
    }

    /// Sets the body to a form of these pairs and `Content-Type` to
    /// `application/x-www-form-urlencoded` if it is not set.
    pub fn form(mut self, pairs: &(impl Serialize + ?Sized)) -> RequestBuilder {
        match serde_urlencoded::to_string(pairs) {
            Ok(form) => self.body = form.into(),
            Err(error) => return self.try_with(|_| Err(invalid("form", &error))),
        }
        self.content_type("application/x-www-form-urlencoded")
    }

    /// Says whether the request may be sent a second time when a stale connection leaves open
    /// whether the first has arrived. Without this the method tells: GET, HEAD, OPTIONS, TRACE,
    /// PUT and DELETE may (RFC 9110, section 9.2.2).
    pub fn idempotent(self, idempotent: bool) -> RequestBuilder {
        self.with(|request| request.idempotent = Some(idempotent))
    }

    /// Whether the request may be sent within the TLS handshake, where
    /// [`Tls::early_data`] is on, and so might be done twice by somebody who recorded it. Without
    /// this, GET, HEAD, OPTIONS and TRACE are (RFC 9110, section 9.2.1). `true` lets other
    /// [idempotent](Self::idempotent) requests be too; requests that are not, requests with a body
    /// and repeats never are.
    pub fn early_data(self, allowed: bool) -> RequestBuilder {
        self.with(|request| request.own.get_or_insert_default().early_data = Some(allowed))
    }

    /// Goes over the Unix socket at `path`; the URL tells `Host` and path. On Linux a path that
    /// begins with `@` names an abstract socket.
    pub fn unix_socket(self, path: impl Into<PathBuf>) -> RequestBuilder {
        let path: Arc<std::path::Path> = path.into().into();
        self.with(|request| request.unix = Some(path))
    }

    /// [`AgentBuilder::tls`](crate::AgentBuilder::tls) for this request. It uses connections and
    /// sessions that were opened with this `Tls` or a clone of it, and no others: keep one `Tls`
    /// for requests that may share them.
    pub fn tls(self, tls: Tls) -> RequestBuilder {
        self.try_with(|request| {
            tls.check().map_err(|error| {
                let text = format!("tls: {error}");
                Error::request(ErrorKind::InvalidConfig, text).with_source(error)
            })?;
            request.route.get_or_insert_default().tls = Some(tls);
            Ok(())
        })
    }

    /// Goes through this proxy, loopback hosts too; `None` goes directly. It uses connections through
    /// an equal proxy and no others. See [`AgentBuilder::proxy`](crate::AgentBuilder::proxy).
    pub fn proxy(self, proxy: impl Into<Option<Proxy>>) -> RequestBuilder {
        let proxy = proxy.into();
        self.try_with(|request| {
            if let Some(Err(error)) = proxy.as_ref().map(Proxy::check) {
                let text = format!("proxy: {error}");
                return Err(Error::request(ErrorKind::InvalidConfig, text).with_source(error));
            }
            request.route.get_or_insert_default().proxy = Some(proxy);
            Ok(())
        })
    }

    /// [`AgentBuilder::local_address`](crate::AgentBuilder::local_address) for this request;
    /// `None` is the system's choice. It uses connections from this address and no others.
    pub fn local_address(self, address: impl Into<Option<IpAddr>>) -> RequestBuilder {
        let address = address.into();
        self.with(|request| request.route.get_or_insert_default().local_address = Some(address))
    }

    /// [`AgentBuilder::timeout`](crate::AgentBuilder::timeout) for this request.
    pub fn timeout(self, timeout: impl Into<Option<Duration>>) -> RequestBuilder {
        self.with_timeouts(|own| own.total = Some(timeout.into()))
    }

    /// [`AgentBuilder::response_timeout`](crate::AgentBuilder::response_timeout) for this request.
    pub fn response_timeout(self, timeout: impl Into<Option<Duration>>) -> RequestBuilder {
        self.with_timeouts(|own| own.response = Some(timeout.into()))
    }

    /// [`AgentBuilder::read_timeout`](crate::AgentBuilder::read_timeout) for this request.
    pub fn read_timeout(self, timeout: impl Into<Option<Duration>>) -> RequestBuilder {
        self.with_timeouts(|own| own.read = Some(timeout.into()))
    }

    /// [`AgentBuilder::acquire_timeout`](crate::AgentBuilder::acquire_timeout) for this request.
    pub fn acquire_timeout(self, timeout: impl Into<Option<Duration>>) -> RequestBuilder {
        self.with_timeouts(|own| own.acquire = Some(timeout.into()))
    }

    /// [`AgentBuilder::connect_timeout`](crate::AgentBuilder::connect_timeout) for a connection
    /// that this request opens.
    pub fn connect_timeout(self, timeout: impl Into<Option<Duration>>) -> RequestBuilder {
        self.with_timeouts(|own| own.connect = Some(timeout.into()))
    }

    /// [`AgentBuilder::expect_continue_timeout`](crate::AgentBuilder::expect_continue_timeout) for
    /// this request.
    pub fn expect_continue_timeout(self, timeout: Duration) -> RequestBuilder {
        self.with_timeouts(|own| own.expect_continue = Some(timeout))
    }

    /// [`AgentBuilder::redirects`](crate::AgentBuilder::redirects) for this request.
    pub fn redirects(self, policy: RedirectPolicy) -> RequestBuilder {
        self.with(|request| request.own.get_or_insert_default().redirects = Some(policy))
    }

    /// Sends the request and waits for the response's head.
    ///
    /// # Errors
    ///
    /// Every kind but [`ErrorKind::InvalidConfig`], [`ErrorKind::ReadTimeout`] and
    /// [`ErrorKind::Decode`]. A status such as 404 or 500 is no error.
    ///
    /// # Cancel safety
    ///
    /// The future may be dropped at any time: its place in the queue or its connection is free
    /// at once and no other request notices. A request of which a part was sent may have been
    /// done by the server.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime with I/O and time enabled.
    pub fn send(self) -> impl Future<Output = Result<Response, Error>> + Send + 'static {
        send::send(self.agent, self.parts, self.body, self.invalid)
    }

    /// The request as the `http` crate has it, for layers that stand above the agent.
    ///
    /// What was said of this request alone (time-outs, Unix socket, TLS settings, …) travels in its
    /// extensions, and holds when it comes to an agent; a layer that makes a request anew from
    /// another loses it with the extensions.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidRequest`] for what [`send`](Self::send) would refuse to send.
    pub fn into_request(self) -> Result<http::Request<Body>, Error> {
        if let Some(error) = self.invalid {
            return Err(error);
        }
        let mut own = self.parts;
        own.leave_base()?;
        let mut request = http::Request::new(self.body);
        *request.method_mut() = std::mem::take(&mut own.method);
        *request.uri_mut() = std::mem::take(&mut own.uri);
        *request.headers_mut() = std::mem::take(&mut own.headers);
        request.extensions_mut().insert(Carried(Arc::new(own)));
        Ok(request)
    }

    /// A request to a path of an origin that is known already.
    pub(crate) fn to_origin(
        agent: &Agent,
        method: Method,
        base: &Arc<Base>,
        path: Result<Uri, Error>,
    ) -> RequestBuilder {
        let mut builder = RequestBuilder::new(agent, method, path);
        builder.parts.base = Some(base.clone());
        builder
    }

    pub(crate) fn from_parts(agent: &Agent, parts: http::request::Parts, body: Body) -> Self {
        let mut builder = RequestBuilder::new(agent, parts.method, sealed(parts.uri));
        builder.parts.headers = parts.headers;
        if let Some(Carried(own)) = parts.extensions.get() {
            let RequestParts { method, uri, headers, .. } = builder.parts;
            builder.parts = RequestParts { method, uri, headers, ..RequestParts::clone(own) };
        }
        builder.body = body;
        builder
    }

    fn authorization(self, value: &str) -> RequestBuilder {
        self.try_with(|request| {
            let mut value = HeaderValue::try_from(value)
                .map_err(|error| invalid("value of the header authorization", &error))?;
            value.set_sensitive(true);
            request.headers.insert(header::AUTHORIZATION, value);
            Ok(())
        })
    }

    fn content_type(self, value: &'static str) -> RequestBuilder {
        self.with(|request| {
            request.headers.entry(header::CONTENT_TYPE).or_insert(HeaderValue::from_static(value));
        })
    }

    fn with(mut self, change: impl FnOnce(&mut RequestParts)) -> RequestBuilder {
        change(&mut self.parts);
        self
    }

    fn with_timeouts(self, change: impl FnOnce(&mut OwnTimeouts)) -> RequestBuilder {
        self.with(|request| change(&mut request.own.get_or_insert_default().timeouts))
    }

    fn try_with(
        mut self,
        change: impl FnOnce(&mut RequestParts) -> Result<(), Error>,
    ) -> RequestBuilder {
        if let Err(error) = change(&mut self.parts) {
            self.invalid.get_or_insert(error);
        }
        self
    }
}

/// What a request has beside method, URL, headers and body, on its way through layers.
#[derive(Clone)]
struct Carried(Arc<RequestParts>);

fn sealed(uri: impl IntoUri) -> Result<Uri, Error> {
    crate::url::sealed::Sealed::into_uri(uri)
}

fn invalid(what: &str, error: &dyn fmt::Display) -> Error {
    Error::request(ErrorKind::InvalidRequest, format!("the {what} cannot be sent: {error}"))
}
