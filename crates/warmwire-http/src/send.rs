//! A request from its start to its response's head: checkout, exchange, and at most one repeat.

use std::borrow::Cow;
use std::fmt;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use futures_util::future::Either;
use http::{HeaderMap, Method, StatusCode, Uri};
use tokio::time::Instant;
use warmwire_h1::{Received, RequestError, RequestHead, ResponseHead, Sent, Target};
use warmwire_pool::{CloseReason, Verdict};

use crate::agent::Agent;
use crate::body::Body;
use crate::checkout::checkout;
use crate::conn::Conn;
use crate::core::{Acquired, Config, ConnectionLease, Core, insert, origin_of};
use crate::dead_peer::Silence;
use crate::error::{Error, ErrorKind, Phase};
use crate::forward;
use crate::h2;
use crate::head;
use crate::incoming::Incoming;
use crate::key::{Address, Key};
use crate::observe;
use crate::policy::{Own, Timeouts};
use crate::redirect::{self, Following, Rules, follow};
use crate::release::{release, upgrade};
use crate::response::Response;
use crate::retry::{self, Loss};
use crate::route::OwnRoute;
use crate::shown;
use crate::trace::{Timer, Trace, close_reason, deadline, earlier, is_lost};
use crate::wire::Fault;

/// All of a request but its body.
#[derive(Clone)]
pub(crate) struct RequestParts {
    pub(crate) method: Method,
    /// Of a request to a [`Base`], the path alone.
    pub(crate) uri: Uri,
    pub(crate) base: Option<Arc<Base>>,
    pub(crate) headers: HeaderMap,
    /// This request's own Unix socket.
    pub(crate) unix: Option<Arc<Path>>,
    /// `None` if it is the origin's, as in most requests.
    pub(crate) route: Option<Box<OwnRoute>>,
    /// `None` if all else is as the origin has it, as in most requests.
    pub(crate) own: Option<Box<Own>>,
    /// What the caller says about sending the request twice; otherwise the method tells.
    pub(crate) idempotent: Option<bool>,
}

impl fmt::Debug for RequestParts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestParts")
            .field("method", &self.method)
            .field("url", &format_args!("{}", redirect::Shown(&self.url())))
            .field("headers", &shown::Headers(&self.headers))
            .finish_non_exhaustive()
    }
}

/// An origin with its key already made.
#[derive(Debug)]
pub(crate) struct Base {
    uri: Uri,
    key: Key,
}

impl Base {
    pub(crate) fn new(agent: &Agent, uri: Uri, unix: Option<&Path>) -> Result<Base, Error> {
        let key = agent.core().hooks.key(&Address::of(&uri, unix)?);
        Ok(Base { uri, key })
    }

    pub(crate) fn name(&self) -> &str {
        self.key.name()
    }
}

impl RequestParts {
    /// RFC 9110, 9.2.2, or what the caller says.
    pub(crate) fn is_idempotent(&self, key: &Key) -> bool {
        self.idempotent.unwrap_or_else(|| {
            let has_key = || self.headers.contains_key("idempotency-key");
            self.method.is_idempotent() || key.policy().idempotency_key && has_key()
        })
    }

    fn timeouts(&self, key: &Key) -> Arc<Timeouts> {
        let origin = &key.policy().timeouts;
        match &self.own {
            None => origin.clone(),
            Some(own) => Arc::new(own.timeouts.over(origin)),
        }
    }

    /// The rules for the redirect that `response` is, if it is to be followed.
    fn redirects(&self, response: &Response) -> Option<Arc<Rules>> {
        let own = self.own.as_ref().and_then(|own| own.redirects.as_ref());
        let policy = own.unwrap_or(&response.connection.origin().policy().redirects);
        policy.rules().cloned()
    }

    /// The whole URL.
    pub(crate) fn url(&self) -> Uri {
        let Some(base) = &self.base else { return self.uri.clone() };
        let mut parts = base.uri.clone().into_parts();
        parts.path_and_query = self.uri.path_and_query().cloned();
        // With scheme, authority and path there is nothing that could be missing.
        Uri::from_parts(parts).unwrap_or_default()
    }

    /// The Unix socket that the request goes over.
    pub(crate) fn unix(&self, config: &Config) -> Option<Arc<Path>> {
        let base = || Some(self.base.as_ref()?.key.address().unix?.into());
        self.unix.clone().or_else(base).or_else(|| config.unix_socket.clone())
    }

    /// The default headers.
    pub(crate) fn defaults<'a>(&'a self, config: &'a Config) -> &'a HeaderMap {
        let own = self.own.as_ref().and_then(|own| own.defaults.as_ref());
        own.unwrap_or(&config.default_headers)
    }

    /// Where the request goes, as far as it says so itself.
    #[cfg(feature = "tracing")]
    pub(crate) fn address(&self) -> Result<Address<'_>, Error> {
        match (&self.base, &self.unix) {
            (Some(base), None) => Ok(base.key.address()),
            (_, unix) => Address::of(self.authority(), unix.as_deref()),
        }
    }

    /// Whether it may be sent within a TLS handshake, if it has no body.
    fn may_be_early(&self, key: &Key) -> bool {
        match self.own.as_ref().and_then(|own| own.early_data) {
            Some(wanted) => wanted && self.is_idempotent(key),
            None => self.method.is_safe(),
        }
    }

    /// Makes the request one with a whole URL in place of a path.
    pub(crate) fn leave_base(&mut self) -> Result<(), Error> {
        let Some(base) = self.base.take() else { return Ok(()) };
        let mut whole = base.uri.clone().into_parts();
        whole.path_and_query = std::mem::take(&mut self.uri).into_parts().path_and_query;
        self.uri = Uri::from_parts(whole)
            .map_err(|error| Error::request(ErrorKind::InvalidRequest, error.to_string()))?;
        if self.unix.is_none() {
            self.unix = base.key.address().unix.map(Arc::from);
        }
        Ok(())
    }

    /// The URL whose scheme, host and port count.
    pub(crate) fn authority(&self) -> &Uri {
        self.base.as_ref().map_or(&self.uri, |base| &base.uri)
    }

    /// Asks for a connection, and gives the key under which the pool has the origin.
    fn acquire(&self, core: &Arc<Core>, now: Instant) -> Result<(Acquired, Key), Error> {
        let mut known = None;
        let acquired = match (&self.base, &self.unix, &self.route) {
            (Some(base), None, None) => core.acquire(now.into_std(), |pool| {
                let origin = origin_of(pool, &base.key);
                known = pool.key(origin).cloned();
                origin
            }),
            _ => {
                let config = &core.hooks.config;
                let unix = self.unix(config);
                let address = Address::of(self.authority(), unix.as_deref())?;
                let own = self
                    .route
                    .as_ref()
                    .and_then(|route| route.apart(&address, config.policies.of(&address).as_ref()));
                let address = address.by(own.as_ref());
                let acquired = core.acquire_known(now.into_std(), |pool| {
                    let origin = pool.find(&address)?;
                    known = pool.key(origin).cloned();
                    Some(origin)
                });
                acquired.unwrap_or_else(|| {
                    // Made outside the lock: which proxy an origin has may be for the caller's
                    // own code to say.
                    let key = core.hooks.key(&address);
                    core.acquire(now.into_std(), |pool| {
                        let origin = pool.find(&key).unwrap_or_else(|| insert(pool, key));
                        known = pool.key(origin).cloned();
                        origin
                    })
                })
            }
        };
        Ok((acquired, known.expect("the pool has the key of an origin that it has just given")))
    }
}

/// Sends a request and waits for its response's head. `invalid` says why it cannot be sent.
///
/// # Cancel safety
///
/// Dropping the future frees the slot at once: the place in the queue, or the connection, which
/// is closed if the exchange had begun.
#[expect(
    clippy::manual_async_fn,
    reason = "an async fn would keep its arguments twice, and the future of a request is moved \
              about by those who spawn and combine it"
)]
pub(crate) fn send(
    agent: Agent,
    request: RequestParts,
    body: Body,
    invalid: Option<Error>,
) -> impl Future<Output = Result<Response, Error>> + Send + 'static {
    async move {
        let started = Instant::now();
        let mut watch = observe::Watch::new(&request);
        if let Some(error) = invalid {
            return Err(watch.failed(error));
        }
        if request.method == Method::CONNECT {
            let text = "CONNECT opens a tunnel and is not a request that an agent can send";
            return Err(watch.failed(Error::request(ErrorKind::InvalidRequest, text)));
        }
        // The agent is held to the end: when its last handle goes, its pool is closed.
        let core = agent.core();
        let mut body = body;
        head::check(core, &request, &mut body).map_err(|error| watch.failed(error))?;
        let (acquired, key) =
            request.acquire(core, started).map_err(|error| watch.failed(error))?;
        let mut trace = Trace {
            timeouts: request.timeouts(&key),
            key,
            started,
            acquired: started,
            timings: Default::default(),
            connection: None,
        };
        let active = observe::Active::new(&trace.key, &request.method, started);
        let spare = body.try_clone();
        let repeatable = spare.is_some() && request.is_idempotent(&trace.key);
        let lease = watch.over(checkout(core, &mut trace, acquired, repeatable)).await;
        let lease = match lease {
            Ok(lease) => lease,
            Err(error) => {
                active.end();
                return Err(watch.failed(error));
            }
        };
        let exchange = exchange(core, lease, &request, body, &mut trace, repeatable);
        let end = match watch.over(exchange).await {
            Ok(response) => Ok(response),
            // Boxed, as everything rare here is, for the same reason.
            Err(failed) => {
                let spare = spare.as_ref().and_then(Body::try_clone);
                watch.over(Box::pin(retry::repeat(core, &request, spare, trace, failed))).await
            }
        };
        active.end();
        match onward(agent, request, spare, end, started, watch) {
            ControlFlow::Break(end) => end,
            ControlFlow::Continue(following) => following.await,
        }
    }
}

/// Begins to follow the redirect that a response may be, or to read what a proxy says.
///
/// No part of `send`, whose future would have room for the response if that were borrowed in it.
fn onward(
    agent: Agent,
    request: RequestParts,
    spare: Option<Body>,
    end: Result<Response, Error>,
    started: Instant,
    watch: observe::Watch,
) -> ControlFlow<Result<Response, Error>, Following> {
    // What follows on a redirect are requests of their own.
    watch.ended(&end);
    let response = match end {
        Ok(response) if response.status().is_redirection() => response,
        Ok(response) if response.status() == StatusCode::PROXY_AUTHENTICATION_REQUIRED => {
            return ControlFlow::Continue(Box::pin(forward::told(response)));
        }
        end => return ControlFlow::Break(end),
    };
    match request.redirects(&response) {
        None => ControlFlow::Break(Ok(response)),
        Some(rules) => {
            ControlFlow::Continue(follow(agent, request, spare, response, rules, started))
        }
    }
}

/// An exchange that failed before the response's head.
pub(crate) struct Failed {
    pub(crate) error: Error,
    /// The connection is gone, and no byte of the response came.
    pub(crate) loss: Option<Loss>,
    /// The server says that it has not looked at the request.
    pub(crate) unprocessed: bool,
    /// The connection carried other requests too.
    pub(crate) shared: bool,
    /// The body, if nothing of it was taken.
    pub(crate) unused_body: Option<Body>,
}

impl Failed {
    /// One that is not repeated.
    pub(crate) fn for_good(error: Error) -> Box<Failed> {
        Box::new(Failed { error, loss: None, unprocessed: false, shared: false, unused_body: None })
    }
}

/// Sends the request on the connection and waits for the response's head, by the version of HTTP
/// that the connection speaks.
pub(crate) fn exchange<'a>(
    core: &Core,
    lease: ConnectionLease,
    request: &'a RequestParts,
    body: Body,
    trace: &'a mut Trace,
    repeatable: bool,
) -> impl Future<Output = Result<Response, Box<Failed>>> + Send + use<'a> {
    match lease.is_shared() {
        false => Either::Left(exchange_alone(core, lease, request, body, trace, repeatable)),
        true => Either::Right(h2::exchange(lease, request, body, trace)),
    }
}

/// [`exchange`] by HTTP/1.1, which has the connection for itself.
fn exchange_alone<'a>(
    core: &Core,
    mut lease: ConnectionLease,
    request: &RequestParts,
    body: Body,
    trace: &'a mut Trace,
    repeatable: bool,
) -> impl Future<Output = Result<Response, Box<Failed>>> + Send + use<'a> {
    let early = || repeatable && request.may_be_early(&trace.key) && body.is_empty();
    lease.conn_mut().allow_early_data(early);
    let started = start(core, &mut lease, request, body, trace);
    async move {
        if let Err(error) = started {
            // Nothing of it was sent: the connection is as it was.
            lease.conn().open.idle();
            lease.release(Verdict::Untouched);
            let error = trace.failed(Fault::Request(error), Sent::No, Phase::Prepare, None);
            return Err(Failed::for_good(error));
        }
        let mut continue_at = None;
        let end =
            std::future::poll_fn(|cx| poll_end(lease.conn_mut(), trace, &mut continue_at, cx));
        match end.await {
            End::Head(head) if repeatable && is_late_goodbye(&lease, &head) => {
                Err(answered_too_late(lease, trace))
            }
            End::Head(head) if repeatable && is_too_early(&lease, &head) => {
                Err(sent_too_early(lease, trace))
            }
            End::Head(head) if is_switch_too_early(&lease, &head) => {
                Err(switched_too_early(lease, trace))
            }
            End::Head(head) => Ok(respond(lease, trace, head)),
            End::Fault(fault) => Err(fail(lease, trace, fault)),
            End::Timer(timer) => Err(time_out(lease, trace, timer)),
        }
    }
}

fn start(
    core: &Core,
    lease: &mut ConnectionLease,
    request: &RequestParts,
    body: Body,
    trace: &Trace,
) -> Result<(), RequestError> {
    let own = request.own.as_ref().is_some_and(|own| own.defaults.is_some());
    let ours = request.defaults(&core.hooks.config);
    let whole;
    let (target, defaults) = match (trace.key.forward(), &request.base) {
        (None, _) => (head::target(request), Cow::Borrowed(ours)),
        (Some(forward), None) => (Target::Absolute(&request.uri), forward.defaults(ours, own)),
        (Some(forward), Some(base)) => {
            whole = forward::whole(&base.uri, &request.uri);
            (Target::Absolute(&whole), forward.defaults(ours, own))
        }
    };
    let head = RequestHead {
        method: &request.method,
        target,
        host: head::host(request.authority()),
        headers: &request.headers,
        defaults: &defaults,
    };
    lease.conn_mut().wire.start(trace.key.policy().h1, &head, body, trace.acquired)
}

/// How the wait for a head ends.
enum End {
    Head(Box<ResponseHead>),
    Fault(Fault),
    Timer(Timer),
}

/// Sends, receives and watches the clock until the head is there.
///
/// `continue_at`: when the body is sent although no `100 Continue` came.
fn poll_end(
    conn: &mut Conn,
    trace: &Trace,
    continue_at: &mut Option<Instant>,
    cx: &mut Context<'_>,
) -> Poll<End> {
    loop {
        if let Poll::Ready(Err(fault)) = conn.poll_send(cx) {
            return Poll::Ready(End::Fault(fault));
        }
        match conn.poll_receive(cx) {
            Poll::Ready(Ok(Received::Head(head))) => return Poll::Ready(End::Head(head)),
            // A 100 lets the body go; others are of no use to a caller who waits for a head.
            Poll::Ready(Ok(_)) => {}
            Poll::Ready(Err(fault)) => return Poll::Ready(End::Fault(fault)),
            Poll::Pending => match ready!(poll_timers(conn, trace, continue_at, cx)) {
                Some(timer) => return Poll::Ready(End::Timer(timer)),
                None => conn.wire.exchange.skip_wait_for_continue(),
            },
        }
    }
}

/// Ready with `None` when the body need not wait for a `100 Continue` any longer.
fn poll_timers(
    conn: &mut Conn,
    trace: &Trace,
    continue_at: &mut Option<Instant>,
    cx: &mut Context<'_>,
) -> Poll<Option<Timer>> {
    let last = conn.wire.progress().last;
    let response = deadline(last, trace.timeouts.response, Timer::Response);
    let total = trace.total_deadline().map(|at| (at, Timer::Total));
    let mut until = earlier(response, total).map(|(at, timer)| (at, Some(timer)));
    if conn.wire.exchange.awaiting_continue() {
        let wait = trace.timeouts.expect_continue;
        let at = *continue_at.get_or_insert_with(|| Instant::now() + wait);
        if until.is_none_or(|(other, _)| at < other) {
            until = Some((at, None));
        }
    }
    let Some((at, timer)) = until else { return Poll::Pending };
    conn.poll_until(cx, at).map(|()| timer)
}

/// What was being done, and how much of the request may have arrived.
fn state(conn: &Conn) -> (Phase, Sent) {
    let phase = if conn.wire.is_sending() { Phase::Send } else { Phase::Head };
    (phase, conn.wire.exchange.sent())
}

fn time_out(lease: ConnectionLease, trace: &Trace, timer: Timer) -> Box<Failed> {
    let (phase, sent) = state(lease.conn());
    let core = lease.pooled().clone();
    let silence = Silence::after_timeout(lease.conn());
    lease.release(Verdict::Close(CloseReason::TimedOut));
    if let Some(silence) = silence {
        silence.retire_others(&core);
    }
    let error = trace.timed_out(&core, timer, phase, sent);
    Failed::for_good(error)
}

/// A server that closes an idle connection may say so by a 408 (RFC 9110, 15.5.9). If that crosses a
/// request on the wire it looks like the request's answer, and it is none.
fn is_late_goodbye(lease: &ConnectionLease, head: &ResponseHead) -> bool {
    head.status == StatusCode::REQUEST_TIMEOUT && lease.lease().reused()
}

fn answered_too_late(lease: ConnectionLease, trace: &Trace) -> Box<Failed> {
    let loss = Some(Loss::of(&lease));
    lease.release(Verdict::Close(CloseReason::PeerAsked));
    let text = "the server gave the idle connection up (408) while the request was on its way";
    let error = Error::new(ErrorKind::ConnectionClosed, Phase::Head, text).with_sent(Sent::Maybe);
    Box::new(Failed { loss, ..*Failed::for_good(trace.error(error)) })
}

/// RFC 8470, 5.2: the request was early data, and may be sent again when the handshake is done.
fn is_too_early(lease: &ConnectionLease, head: &ResponseHead) -> bool {
    head.status == StatusCode::TOO_EARLY && lease.conn().is_early()
}

fn sent_too_early(lease: ConnectionLease, trace: &Trace) -> Box<Failed> {
    let loss = Some(Loss::too_early(&lease));
    lease.release(Verdict::Close(CloseReason::PeerAsked));
    let text = "the server does not take the request within the handshake (425)";
    let error = Error::new(ErrorKind::ConnectionClosed, Phase::Head, text).with_sent(Sent::Maybe);
    Box::new(Failed { loss, ..*Failed::for_good(trace.error(error)) })
}

/// What the server takes the rest of the request for is anybody's guess (RFC 9110, 7.8: it has to read
/// the request before it speaks the other protocol).
fn is_switch_too_early(lease: &ConnectionLease, head: &ResponseHead) -> bool {
    head.status == StatusCode::SWITCHING_PROTOCOLS && !lease.conn().wire.progress().complete
}

fn switched_too_early(lease: ConnectionLease, trace: &Trace) -> Box<Failed> {
    lease.release(Verdict::Close(CloseReason::RequestUnfinished));
    let text = "the server switched protocols (101) before the request was sent to its end";
    let error = Error::new(ErrorKind::InvalidResponse, Phase::Send, text).with_sent(Sent::Yes);
    Failed::for_good(trace.error(error))
}

fn fail(mut lease: ConnectionLease, trace: &Trace, fault: Fault) -> Box<Failed> {
    let (phase, sent) = state(lease.conn());
    let wire = &mut lease.conn_mut().wire;
    let lost = !wire.exchange.received_any() && is_lost(&fault);
    let unused_body = wire.take_unused_body();
    let loss = lost.then(|| Loss::of(&lease));
    let silence = Silence::after_fault(lease.conn(), &fault);
    let core = lease.pooled().clone();
    lease.release(Verdict::Close(close_reason(&fault, sent == Sent::Yes)));
    if let Some(silence) = silence {
        silence.retire_others(&core);
    }
    Box::new(Failed {
        error: trace.failed(fault, sent, phase, Some(&trace.key.policy().h1)),
        loss,
        unprocessed: false,
        shared: false,
        unused_body,
    })
}

/// The head has come: what of the body is there already is taken along, and if that is all, the
/// connection is given back before the caller sees the response.
fn respond(mut lease: ConnectionLease, trace: &mut Trace, head: Box<ResponseHead>) -> Response {
    let now = Instant::now();
    lease.conn_mut().note_handshake();
    let wire = &mut lease.conn_mut().wire;
    // An answer before the request was sent to its end: what was sent by then counts.
    let sent_at = wire.progress().last.min(now);
    trace.timings.sent = sent_at.saturating_duration_since(trace.acquired);
    trace.timings.first_byte = now.duration_since(sent_at);
    let first = wire.take_ahead();
    let body = match wire.exchange.response_complete() {
        true if head.status == StatusCode::SWITCHING_PROTOCOLS => {
            upgrade(lease, &trace.key, now).map_or_else(Body::empty, Body::upgraded)
        }
        true => {
            release(lease, &trace.key, now);
            first.and_then(|frame| frame.into_data().ok()).map_or_else(Body::empty, Body::from)
        }
        false => {
            Body::incoming(Incoming::new(lease, first, head.body.length(), trace.clone(), now))
        }
    };
    let connection = trace.connection.take();
    let connection = connection.expect("`checkout` has noted the connection that was used");
    Response { head, body, connection, timings: trace.timings, redirected: None }
}
