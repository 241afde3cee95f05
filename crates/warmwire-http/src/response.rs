//! What comes back, and what is known of how it came.

use std::fmt;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::stream::{self, Stream};
use http::{HeaderMap, StatusCode, Uri, Version};
use http_body::Body as _;
use serde::Serialize;
use serde::de::DeserializeOwned;
use warmwire_h1::ResponseHead;
use warmwire_net::{AddressUse, Phases, Proxy, TlsInfo, TlsVersion};
use warmwire_pool::ConnectionId;

use crate::body::Body;
use crate::error::{Error, ErrorKind, Phase, Sent};
use crate::held::Reading;
use crate::key::OriginName;
use crate::redirect::{Hop, Redirected};
use crate::shown;
use crate::upgrade::Upgraded;

/// How long each part of an exchange took, as far as it got.
///
/// The parts follow one another, so that their sum is the time from the start of the request to
/// the first byte of the response. `dns`, `connect`, `proxy` and `tls` are zero on a reused connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Timings {
    /// Waiting for a connection: in the queue, or for one to be freed, the own connect not
    /// included.
    pub queued: Duration,
    /// Looking the name up.
    pub dns: Duration,
    /// The TCP or Unix connect.
    pub connect: Duration,
    /// Opening the way through a proxy that is connected to: TLS with it, asking, its answer. Then
    /// `dns` and `connect` are about the proxy.
    pub proxy: Duration,
    /// The TLS handshake.
    pub tls: Duration,
    /// From the connection to the last byte of the request that was sent before the response
    /// began.
    pub sent: Duration,
    /// From there to the first byte of the response.
    pub first_byte: Duration,
}

impl Timings {
    /// What the request waited before it had a connection: all parts before `sent`.
    pub fn waited(&self) -> Duration {
        self.queued + self.dns + self.connect + self.proxy + self.tls
    }

    pub(crate) fn set_phases(&mut self, phases: Phases) {
        let Phases { dns, connect, proxy, tls } = phases;
        (self.dns, self.connect, self.proxy, self.tls) = (dns, connect, proxy, tls);
    }

    /// From the start of the request to the first byte of the response.
    pub fn total(&self) -> Duration {
        self.waited() + self.sent + self.first_byte
    }
}

/// What does not change while a connection lives.
#[derive(Debug)]
pub(crate) struct Established {
    pub(crate) origin: OriginName,
    pub(crate) local: Option<SocketAddr>,
    pub(crate) remote: Option<SocketAddr>,
    /// Counts the connection on its address.
    pub(crate) address: Option<AddressUse>,
    pub(crate) phases: Phases,
    /// How far the reader of the response under way is.
    pub(crate) reading: Reading,
    tls: Option<TlsInfo>,
    /// Of a handshake that was done only with the first exchange, whose request was early data.
    late_tls: OnceLock<TlsInfo>,
}

impl Established {
    pub(crate) fn new(
        origin: OriginName,
        local: Option<SocketAddr>,
        remote: Option<SocketAddr>,
        address: Option<AddressUse>,
        tls: Option<TlsInfo>,
        phases: Phases,
    ) -> Established {
        let (reading, late_tls) = (Reading::default(), OnceLock::new());
        Established { origin, local, remote, address, phases, reading, tls, late_tls }
    }

    fn tls(&self) -> Option<&TlsInfo> {
        self.late_tls.get().or(self.tls.as_ref())
    }

    /// Notes how a handshake ended that was still under way when the connection was made.
    pub(crate) fn note_handshake(&self, info: TlsInfo) {
        // There is one handshake, so whoever was first has said the same.
        let _ = self.late_tls.set(info);
    }
}

/// The connection that an exchange used.
#[derive(Clone, Debug)]
pub struct ConnectionInfo {
    pub(crate) id: ConnectionId,
    pub(crate) reused: bool,
    pub(crate) age: Duration,
    pub(crate) idle: Duration,
    pub(crate) requests: u64,
    pub(crate) established: Arc<Established>,
}

impl ConnectionInfo {
    /// Its number, unique within the agent.
    pub fn id(&self) -> ConnectionId {
        self.id
    }

    /// Where it goes.
    pub fn origin(&self) -> &OriginName {
        &self.established.origin
    }

    /// The proxy that it goes through; [`remote_address`](Self::remote_address) is the proxy's then.
    pub fn proxy(&self) -> Option<&Proxy> {
        self.established.origin.proxy()
    }

    /// Whether the request was spared the handshake: the connection had carried another request,
    /// or was opened ahead by [`warm`](crate::Agent::warm).
    pub fn reused(&self) -> bool {
        self.reused
    }

    /// How old the connection was when the request got it.
    pub fn age(&self) -> Duration {
        self.age
    }

    /// How long it had been idle before the request got it.
    pub fn idle_before(&self) -> Duration {
        self.idle
    }

    /// How many requests it had carried before this one.
    pub fn requests(&self) -> u64 {
        self.requests
    }

    /// The local address; `None` for Unix sockets and a caller's own streams.
    pub fn local_address(&self) -> Option<SocketAddr> {
        self.established.local
    }

    /// The address that it goes to; `None` for Unix sockets and a caller's own streams.
    pub fn remote_address(&self) -> Option<SocketAddr> {
        self.established.remote
    }

    /// The TLS version; `None` without TLS.
    pub fn tls_version(&self) -> Option<TlsVersion> {
        self.established.tls().map(|tls| tls.version)
    }

    /// The protocol that ALPN agreed on; `None` without TLS or when the server chose none.
    pub fn alpn(&self) -> Option<&str> {
        self.established.tls()?.alpn.as_deref()
    }

    /// Whether its handshake resumed a TLS session; `false` without TLS.
    pub fn resumed(&self) -> bool {
        self.established.tls().is_some_and(|tls| tls.resumed)
    }

    /// Whether the request was sent within the handshake and the server took it; see
    /// [`Tls::early_data`](crate::Tls::early_data).
    pub fn early_data(&self) -> bool {
        !self.reused && self.established.tls().is_some_and(|tls| tls.early_data)
    }
}

impl fmt::Display for ConnectionInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "connection {}", self.id)?;
        if let Some(remote) = self.remote_address() {
            write!(f, " to {remote}")?;
        }
        if !self.reused {
            return f.write_str(", new");
        }
        let (age, idle, requests) = (self.age, self.idle, self.requests);
        let noun = if requests == 1 { "request" } else { "requests" };
        write!(f, ", {age:.1?} old, reused after {idle:.1?} idle, {requests} {noun} before")
    }
}

/// A response whose head has come.
///
/// The body is read from it as it comes. A response that is dropped before its end costs its
/// connection, unless what is left of the body is small (see
/// [`drain_bytes`](crate::AgentBuilder::drain_bytes)); one that is held unread holds its
/// connection.
pub struct Response {
    pub(crate) head: Box<ResponseHead>,
    pub(crate) body: Body,
    pub(crate) connection: ConnectionInfo,
    pub(crate) timings: Timings,
    /// Boxed, since few responses have it.
    pub(crate) redirected: Option<Box<Redirected>>,
}

impl fmt::Debug for Response {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Response")
            .field("status", &self.head.status)
            .field("version", &self.head.version)
            .field("headers", &shown::Headers(&self.head.headers))
            .field("connection", &self.connection)
            .field("timings", &self.timings)
            .finish_non_exhaustive()
    }
}

impl Response {
    /// The status.
    pub fn status(&self) -> StatusCode {
        self.head.status
    }

    /// The version that the server speaks: HTTP/1.0, HTTP/1.1 or HTTP/2.
    pub fn version(&self) -> Version {
        self.head.version
    }

    /// The headers.
    pub fn headers(&self) -> &HeaderMap {
        &self.head.headers
    }

    /// The headers, to change them.
    pub fn headers_mut(&mut self) -> &mut HeaderMap {
        &mut self.head.headers
    }

    /// The connection that carried the exchange.
    pub fn connection(&self) -> &ConnectionInfo {
        &self.connection
    }

    /// How long each part took.
    pub fn timings(&self) -> Timings {
        self.timings
    }

    /// The URL that the response is from, if redirects were followed; otherwise it is the request's
    /// own, and this is `None`.
    pub fn url(&self) -> Option<&Uri> {
        self.redirected.as_ref().map(|redirected| redirected.url())
    }

    /// The redirects that were followed, in their order.
    pub fn redirects(&self) -> &[Hop] {
        self.redirected.as_ref().map_or(&[], |redirected| redirected.hops())
    }

    /// The length of the body in bytes, if it is known before it has come.
    pub fn content_length(&self) -> Option<u64> {
        self.body.size_hint().exact()
    }

    /// The next piece of the body; `None` at its end. Trailers are passed over.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::ReadTimeout`], [`ErrorKind::Timeout`], [`ErrorKind::ResponseCut`],
    /// [`ErrorKind::InvalidResponse`].
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost when the future is dropped: the next call goes on where this one was.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, Error> {
        poll_fn(|cx| self.body.poll_data(cx)).await
    }

    /// The whole body.
    ///
    /// The memory is bounded by what the server sends: use
    /// [`bytes_limited`](Self::bytes_limited) for a server that is not trusted.
    ///
    /// # Errors
    ///
    /// As [`chunk`](Self::chunk).
    ///
    /// # Cancel safety
    ///
    /// Dropping the future drops the response.
    pub async fn bytes(self) -> Result<Bytes, Error> {
        self.bytes_limited(usize::MAX).await
    }

    /// The whole body, of at most `limit` bytes.
    ///
    /// # Errors
    ///
    /// As [`chunk`](Self::chunk), and [`ErrorKind::Decode`] for a longer body.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future drops the response.
    pub async fn bytes_limited(mut self, limit: usize) -> Result<Bytes, Error> {
        let Some(first) = self.chunk().await? else { return Ok(Bytes::new()) };
        let told = self.about();
        let check = |length: usize| match length <= limit {
            true => Ok(()),
            false => Err(told.decode(format!(
                "the response's body has {length} bytes or more, the limit is {limit}"
            ))),
        };
        check(first.len())?;
        let Some(second) = self.chunk().await? else { return Ok(first) };
        let mut all = BytesMut::with_capacity(first.len() + second.len());
        all.extend_from_slice(&first);
        let mut next = Some(second);
        while let Some(piece) = next {
            check(all.len() + piece.len())?;
            all.extend_from_slice(&piece);
            next = self.chunk().await?;
        }
        Ok(all.freeze())
    }

    /// The whole body as text, which must be UTF-8.
    ///
    /// # Errors
    ///
    /// As [`bytes`](Self::bytes), and [`ErrorKind::Decode`] for other text.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future drops the response.
    pub async fn text(self) -> Result<String, Error> {
        let about = self.about();
        let bytes = self.bytes().await?;
        String::from_utf8(bytes.into()).map_err(|error| {
            about.decode(format!("the response's body is not UTF-8: {}", error.utf8_error()))
        })
    }

    /// The whole body as JSON.
    ///
    /// # Errors
    ///
    /// As [`bytes`](Self::bytes), and [`ErrorKind::Decode`] when it is not the JSON of a `T`.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future drops the response.
    pub async fn json<T: DeserializeOwned>(self) -> Result<T, Error> {
        let about = self.about();
        let bytes = self.bytes().await?;
        serde_json::from_slice(&bytes).map_err(|error| {
            let text = format!("the response's body is not the JSON that was asked for: {error}");
            about.decode(text).with_source(error)
        })
    }

    /// The body as a stream of its pieces; trailers are passed over. The errors are those of
    /// [`chunk`](Self::chunk), and the stream ends after one.
    pub fn bytes_stream(self) -> impl Stream<Item = Result<Bytes, Error>> + Send + Unpin + 'static {
        let mut body = self.body;
        stream::poll_fn(move |cx| body.poll_data(cx).map(Result::transpose))
    }

    /// The body alone, which is an [`http_body::Body`]: its frames have the trailers too.
    pub fn into_body(self) -> Body {
        self.body
    }

    /// The connection, if the server has switched to another protocol: its answer was a `101`, to a
    /// request with `Upgrade` and `Connection: upgrade`. What was sent behind the response's head is
    /// read from it first.
    ///
    /// It has left the pool already; see [`Upgraded`].
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidResponse`], which names the status, for any other response. To read
    /// such a one, look at [`status`](Self::status) first.
    pub fn upgrade(self) -> Result<Upgraded, Error> {
        let (about, status) = (self.about(), self.status());
        self.body.upgrade().ok_or_else(|| {
            let text = format!("the server answered {status} and did not switch protocols");
            about.error(ErrorKind::InvalidResponse, Phase::Head, text)
        })
    }

    fn about(&self) -> About {
        About { connection: self.connection.clone(), timings: self.timings }
    }
}

/// What an error about a response says of its exchange.
struct About {
    connection: ConnectionInfo,
    timings: Timings,
}

impl About {
    fn decode(&self, text: String) -> Error {
        self.error(ErrorKind::Decode, Phase::Body, text)
    }

    fn error(&self, kind: ErrorKind, phase: Phase, text: String) -> Error {
        let origin = self.connection.origin().clone();
        Error::new(kind, phase, text).with_sent(Sent::Yes).with_exchange(
            Some(origin),
            Some(self.connection.clone()),
            self.timings,
            self.timings.total(),
        )
    }
}

impl From<Response> for http::Response<Body> {
    /// The [`ConnectionInfo`] and the [`Timings`] become extensions, and [`Redirected`] if redirects
    /// were followed.
    fn from(response: Response) -> Self {
        let mut converted = http::Response::new(response.body);
        *converted.status_mut() = response.head.status;
        *converted.version_mut() = response.head.version;
        *converted.headers_mut() = response.head.headers;
        converted.extensions_mut().insert(response.connection);
        converted.extensions_mut().insert(response.timings);
        if let Some(redirected) = response.redirected {
            converted.extensions_mut().insert(*redirected);
        }
        converted
    }
}
