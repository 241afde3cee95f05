//! A response's body on its stream.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body as _, Frame, SizeHint};
use tokio::time::{Instant, Sleep};
use warmwire_h1::Sent;

use super::exchange::{finish, give_up};
use super::fault;
use crate::core::ConnectionLease;
use crate::error::{Error, Phase};
use crate::held::Watched;
use crate::trace::{Timer, Trace, deadline, earlier};

type First = Option<Result<Frame<Bytes>, hyper::Error>>;

/// Holds the stream until the last byte has come; gives it back at that moment, also if the caller
/// goes on holding the body. Dropping it before resets the stream, and no more.
pub(crate) struct Incoming {
    // Before the lease: the stream is reset before its slot is lent again.
    body: Option<hyper::body::Incoming>,
    /// `None` once the stream is over.
    lease: Option<ConnectionLease>,
    first: First,
    /// The bytes of the body that the caller has not got yet, if the length was told.
    left: Option<u64>,
    trace: Trace,
    silence: Option<Silence>,
    timer: Option<Pin<Box<Sleep>>>,
    /// `None` without `held_after`, and once the stream is over.
    watched: Option<Watched>,
}

/// Since when nothing has come on the stream, and what had come on the connection by then.
#[derive(Clone, Copy)]
struct Silence {
    since: Instant,
    reads: u64,
}

impl Incoming {
    pub(super) fn new(
        lease: ConnectionLease,
        body: hyper::body::Incoming,
        first: First,
        left: Option<u64>,
        trace: Trace,
        now: Instant,
    ) -> Incoming {
        let watched = Watched::begin_stream(
            &lease.pooled().hooks,
            lease.established(),
            lease.stream().link(),
            now.into_std(),
            trace.timeouts.read,
        );
        Incoming {
            body: Some(body),
            lease: Some(lease),
            first,
            left,
            trace,
            silence: None,
            timer: None,
            watched,
        }
    }

    pub(crate) fn poll_frame(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let frame = self.poll_next(cx);
        if let (Some(watched), Some(lease)) = (&self.watched, &self.lease) {
            watched.step(&lease.pooled().hooks, frame.is_pending());
        }
        frame
    }

    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let next = match (self.first.take(), &mut self.body) {
            (Some(first), _) => Some(first),
            (None, None) => return Poll::Ready(None),
            (None, Some(body)) => match Pin::new(body).poll_frame(cx) {
                Poll::Ready(next) => next,
                Poll::Pending => return Poll::Ready(Some(Err(ready!(self.poll_timers(cx))))),
            },
        };
        match next {
            Some(Ok(frame)) => {
                self.silence = None;
                let length = frame.data_ref().map_or(0, |data| data.len() as u64);
                self.left = self.left.map(|left| left.saturating_sub(length));
                if self.body.as_ref().is_some_and(http_body::Body::is_end_stream) {
                    self.finish();
                }
                Poll::Ready(Some(Ok(frame)))
            }
            Some(Err(error)) => {
                self.finish();
                Poll::Ready(Some(Err(self.trace.error(fault::explain(error, Phase::Body)))))
            }
            None => {
                self.finish();
                Poll::Ready(None)
            }
        }
    }

    pub(crate) fn is_end(&self) -> bool {
        self.body.is_none() && self.first.is_none()
    }

    pub(crate) fn size_hint(&self) -> SizeHint {
        self.left.map_or_else(SizeHint::default, SizeHint::with_exact)
    }

    /// Ready when a timer ends the wait; the stream is given up then.
    fn poll_timers(&mut self, cx: &mut Context<'_>) -> Poll<Error> {
        let Some(lease) = &self.lease else { return Poll::Pending };
        let reads = lease.stream().link().reads();
        let now = || Silence { since: Instant::now(), reads };
        let silence = *self.silence.get_or_insert_with(now);
        let read = deadline(silence.since, self.trace.timeouts.read, Timer::Read);
        let total = self.trace.total_deadline().map(|at| (at, Timer::Total));
        let Some((at, which)) = earlier(read, total) else { return Poll::Pending };
        ready!(self.poll_until(cx, at));
        self.body = None;
        let Some(lease) = self.take_lease() else { return Poll::Pending };
        let core = lease.pooled().clone();
        give_up(lease, &self.trace, silence.reads);
        Poll::Ready(self.trace.timed_out(&core, which, Phase::Body, Sent::Yes))
    }

    /// Ready when `deadline` has passed. A timer that is armed for an earlier time is left as it is,
    /// as for HTTP/1.1.
    fn poll_until(&mut self, cx: &mut Context<'_>, deadline: Instant) -> Poll<()> {
        let timer = self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(deadline)));
        if timer.deadline() > deadline {
            timer.as_mut().reset(deadline);
        }
        while timer.as_mut().poll(cx).is_ready() {
            if timer.deadline() >= deadline {
                self.timer = None;
                return Poll::Ready(());
            }
            timer.as_mut().reset(deadline);
        }
        Poll::Pending
    }

    fn finish(&mut self) {
        self.body = None;
        if let Some(lease) = self.take_lease() {
            finish(lease, &self.trace);
        }
    }

    fn take_lease(&mut self) -> Option<ConnectionLease> {
        let lease = self.lease.take()?;
        if let Some(watched) = self.watched.take() {
            watched.end(&lease.pooled().hooks);
        }
        Some(lease)
    }
}

impl Drop for Incoming {
    fn drop(&mut self) {
        self.finish();
    }
}
