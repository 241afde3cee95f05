//! One request on its stream, up to the response's head.

use std::future::ready;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use http::header::{CONTENT_LENGTH, HOST};
use http::uri::{Authority, PathAndQuery};
use http::{HeaderMap, Request, Uri};
use http_body::Body as _;
use hyper::client::conn::TrySendError;
use pin_project_lite::pin_project;
use tokio::time::{Instant, Sleep};
use warmwire_h1::{BodyKind, ResponseHead, Sent};
use warmwire_pool::{CloseReason, Keep, Verdict};

use super::connection::Stream;
use super::fault::{self, Meaning};
use super::incoming::Incoming;
use super::outgoing::{Failure, Outgoing, Progress};
use crate::body::Body;
use crate::core::ConnectionLease;
use crate::error::{Error, ErrorKind, Phase};
use crate::event::Event;
use crate::key::OriginName;
use crate::response::Response;
use crate::retry::Loss;
use crate::send::{Failed, RequestParts};
use crate::trace::{Timer, Trace, deadline, earlier};

type End = Result<Response, Box<Failed>>;

/// Sends the request on the stream that `lease` holds and waits for the response's head.
///
/// Boxed, so that the futures of requests, most of which go by HTTP/1.1, need not have room for it.
pub(crate) fn exchange<'a>(
    lease: ConnectionLease,
    request: &RequestParts,
    mut body: Body,
    trace: &'a mut Trace,
) -> Pin<Box<dyn Future<Output = End> + Send + 'a>> {
    let defaults = request.defaults(&lease.pooled().hooks.config);
    let head = match head(request, defaults, &mut body) {
        Ok(head) => head,
        Err(error) => {
            lease.release(Verdict::Untouched);
            return Box::pin(ready(Err(Failed::for_good(trace.error(error)))));
        }
    };
    let (body, progress) = Outgoing::new(body, trace.acquired);
    let reads = lease.stream().link().reads();
    let sending = lease.stream().sender().try_send_request(head.map(|()| body));
    Box::pin(Exchange {
        sending: Some(sending),
        timer: None,
        lease: Some(lease),
        trace,
        progress,
        reads,
    })
}

pin_project! {
    /// The wait for the head.
    ///
    /// Not an async function, whose future is twice as large: an allocator is quick with up to a
    /// kilobyte.
    struct Exchange<'a, F> {
        #[pin]
        sending: Option<F>,
        #[pin]
        timer: Option<Sleep>,
        // `None` when it is over. Dropped after `sending`, for the same reason.
        lease: Option<ConnectionLease>,
        trace: &'a mut Trace,
        progress: Option<Arc<Progress>>,
        reads: u64,
    }
}

type Answer = Result<http::Response<hyper::body::Incoming>, TrySendError<Request<Outgoing>>>;

impl<F: Future<Output = Answer>> Future for Exchange<'_, F> {
    type Output = End;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<End> {
        let mut this = self.project();
        let (trace, progress) = (&mut **this.trace, this.progress.as_deref());
        let Some(sending) = this.sending.as_mut().as_pin_mut() else { return Poll::Pending };
        let sent = sending.poll(cx);
        if sent.is_pending() {
            let timer = ready!(poll_timers(this.timer, trace, progress, cx));
            // Resets the stream, whose slot is lent again after that.
            this.sending.set(None);
            let Some(lease) = this.lease.take() else { return Poll::Pending };
            return Poll::Ready(Err(time_out(lease, trace, timer, progress, *this.reads)));
        }
        let (Poll::Ready(sent), Some(lease)) = (sent, this.lease.take()) else {
            return Poll::Pending;
        };
        Poll::Ready(match sent {
            Ok(response) => Ok(respond(lease, trace, response, progress, cx)),
            Err(mut failed) => {
                let unsent = failed.take_message();
                Err(fail(lease, trace, failed.into_error(), unsent, progress))
            }
        })
    }
}

/// Ready when a timer ends the wait.
fn poll_timers(
    mut timer: Pin<&mut Option<Sleep>>,
    trace: &Trace,
    progress: Option<&Progress>,
    cx: &mut Context<'_>,
) -> Poll<Timer> {
    loop {
        let since = progress.map_or(trace.acquired, |progress| progress.last().0);
        let response = deadline(since, trace.timeouts.response, Timer::Response);
        let total = trace.total_deadline().map(|at| (at, Timer::Total));
        let Some((at, which)) = earlier(response, total) else { return Poll::Pending };
        if timer.is_none() {
            timer.set(Some(tokio::time::sleep_until(at)));
        }
        let Some(mut armed) = timer.as_mut().as_pin_mut() else { return Poll::Pending };
        ready!(armed.as_mut().poll(cx));
        if armed.deadline() >= at {
            return Poll::Ready(which);
        }
        armed.reset(at);
    }
}

/// What of the request goes before its body. `Host` becomes `:authority`; what else HTTP/2 does not
/// have (RFC 9113, 8.2.2) hyper leaves out.
fn head(
    request: &RequestParts,
    defaults: &HeaderMap,
    body: &mut Body,
) -> Result<Request<()>, Error> {
    let invalid = |why: &dyn std::fmt::Display| {
        Error::request(ErrorKind::InvalidRequest, format!("the request cannot be sent: {why}"))
    };
    let mut headers = request.headers.clone();
    for name in defaults.keys().filter(|name| !request.headers.contains_key(*name)) {
        for value in defaults.get_all(name) {
            headers.append(name, value.clone());
        }
    }
    let authority = match headers.remove(HOST) {
        None => request.authority().authority().cloned(),
        Some(host) => Some(Authority::try_from(host.as_bytes()).map_err(|error| invalid(&error))?),
    };
    let declared = headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok());
    if let (Some(declared), Some(length)) = (declared, body.exact_length())
        && declared.trim().parse() != Ok(length)
    {
        return Err(invalid(&format!("content-length is {declared}, and the body's {length}")));
    }
    let mut parts = http::uri::Parts::default();
    parts.scheme = request.authority().scheme().cloned();
    parts.authority = authority.map(without_user);
    let path = request.uri.path_and_query().cloned();
    parts.path_and_query = Some(path.unwrap_or_else(|| PathAndQuery::from_static("/")));
    let mut head = Request::new(());
    *head.method_mut() = request.method.clone();
    *head.uri_mut() = Uri::from_parts(parts).map_err(|error| invalid(&error))?;
    *head.version_mut() = http::Version::HTTP_2;
    *head.headers_mut() = headers;
    Ok(head)
}

/// RFC 9113, 8.3.1: no user information in `:authority`.
fn without_user(authority: Authority) -> Authority {
    match authority.as_str().rsplit_once('@') {
        Some((_, host)) => host.parse().unwrap_or(authority),
        None => authority,
    }
}

/// The head has come: what of the body is there already is taken along, and if that is all, the
/// stream is given back before the caller sees the response.
fn respond(
    lease: ConnectionLease,
    trace: &mut Trace,
    response: http::Response<hyper::body::Incoming>,
    progress: Option<&Progress>,
    cx: &mut Context<'_>,
) -> Response {
    let now = Instant::now();
    let sent_at = progress.map_or(trace.acquired, |progress| progress.last().0).min(now);
    trace.timings.sent = sent_at.saturating_duration_since(trace.acquired);
    trace.timings.first_byte = now.duration_since(sent_at);
    let (parts, mut body) = response.into_parts();
    let length = body.size_hint().exact();
    let head = Box::new(ResponseHead {
        status: parts.status,
        version: parts.version,
        headers: parts.headers,
        reason: None,
        body: match length {
            Some(0) => BodyKind::None,
            Some(length) => BodyKind::Length(length),
            None => BodyKind::Chunked,
        },
    });
    let first = match body.is_end_stream() {
        true => None,
        false => match Pin::new(&mut body).poll_frame(cx) {
            Poll::Ready(first) => Some(first),
            Poll::Pending => None,
        },
    };
    let complete = body.is_end_stream();
    let body = match first {
        None if complete => {
            finish(lease, trace);
            Body::empty()
        }
        Some(None) => {
            finish(lease, trace);
            Body::empty()
        }
        Some(Some(Ok(frame))) if complete && frame.is_data() => {
            finish(lease, trace);
            frame.into_data().map_or_else(|_| Body::empty(), Body::from)
        }
        first => {
            let first = first.flatten();
            Body::shared(Incoming::new(lease, body, first, length, trace.clone(), now))
        }
    };
    let connection = trace.connection.take();
    let connection = connection.expect("`checkout` has noted the connection that was used");
    Response { head, body, connection, timings: trace.timings, redirected: None }
}

/// Gives a stream back whose exchange is over.
pub(super) fn finish(lease: ConnectionLease, trace: &Trace) {
    if !lease.pooled().hooks.config.keep_alive {
        return lease.release(Verdict::Close(CloseReason::CallerAsked));
    }
    lease
        .pooled()
        .hooks
        .observer
        .report(|| Event::Released { origin: OriginName::new(&trace.key), connection: lease.id() });
    lease.release(Verdict::Keep(Keep::default()));
}

fn fail(
    lease: ConnectionLease,
    trace: &Trace,
    error: hyper::Error,
    unsent: Option<Request<Outgoing>>,
    progress: Option<&Progress>,
) -> Box<Failed> {
    let meaning = fault::meaning(&error);
    if let Some(own) = progress.and_then(Progress::take_failure) {
        finish(lease, trace);
        match own {
            Failure::Error(error) => {
                return Failed::for_good(trace.error(error.with_sent(Sent::Maybe)));
            }
            // As if the caller had polled it, as for HTTP/1.1.
            Failure::Panic(panic) => std::panic::resume_unwind(panic),
        }
    }
    if meaning == Meaning::Unprocessed {
        // Whoever refuses a stream that its own limit allows is going away or has enough.
        lease.stream().link().retire(CloseReason::PeerAsked);
    }
    let loss = (meaning == Meaning::Lost).then(|| Loss::of(&lease));
    match meaning {
        // The connection's own task has told why it ends.
        Meaning::Unprocessed | Meaning::Lost => lease.release(Verdict::Keep(Keep::default())),
        Meaning::Reset | Meaning::Invalid => finish(lease, trace),
    }
    let unused_body = unsent.map(Request::into_body).and_then(Outgoing::unused);
    Box::new(Failed {
        error: trace.error(fault::explain(error, phase(progress))),
        loss,
        unprocessed: meaning == Meaning::Unprocessed,
        shared: true,
        unused_body,
    })
}

fn phase(progress: Option<&Progress>) -> Phase {
    match progress {
        Some(progress) if !progress.last().1 => Phase::Send,
        _ => Phase::Head,
    }
}

/// If nothing at all came on the connection
/// meanwhile, its path may be dead: no further request is tried on it.
fn time_out(
    lease: ConnectionLease,
    trace: &Trace,
    timer: Timer,
    progress: Option<&Progress>,
    reads: u64,
) -> Box<Failed> {
    let core = lease.pooled().clone();
    give_up(lease, trace, reads);
    Failed::for_good(trace.timed_out(&core, timer, phase(progress), Sent::Maybe))
}

/// Gives a stream back on which the peer was silent for too long.
pub(super) fn give_up(lease: ConnectionLease, trace: &Trace, reads: u64) {
    let link = silent_link(lease.stream(), reads);
    finish(lease, trace);
    if let Some(link) = link {
        link.retire(CloseReason::TimedOut);
    }
}

fn silent_link(stream: &Stream, reads: u64) -> Option<Arc<super::Link>> {
    (stream.link().reads() == reads).then(|| stream.link().clone())
}
