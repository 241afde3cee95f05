//! A response's body that is still on its way.

use std::task::{Context, Poll, Waker, ready};

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use tokio::runtime::Handle;
use tokio::time::Instant;
use warmwire_h1::Received;
use warmwire_pool::{CloseReason, Verdict};

use crate::core::ConnectionLease;
use crate::error::{Error, Phase};
use crate::held::Watched;
use crate::policy::Drain;
use crate::release::release;
use crate::trace::{Timer, Trace, close_reason, deadline, earlier};
use crate::wire::Fault;

/// Holds the connection until the last byte has come; gives it back at that moment, also if the
/// caller goes on holding the body.
pub(crate) struct Incoming {
    /// `None` once the connection is given back or lost.
    lease: Option<ConnectionLease>,
    first: Option<Frame<Bytes>>,
    /// The bytes of the body that the caller has not got yet, if the length was told.
    left: Option<u64>,
    trace: Trace,
    /// Since when nothing has come; read from the clock only when there is a wait.
    silent_since: Option<Instant>,
    /// `None` without `held_after`, and once the connection is given back or lost.
    watched: Option<Watched>,
}

impl Incoming {
    pub(crate) fn new(
        lease: ConnectionLease,
        first: Option<Frame<Bytes>>,
        length: Option<u64>,
        trace: Trace,
        now: Instant,
    ) -> Incoming {
        let watched = Watched::begin(
            &lease.pooled().hooks,
            &lease.conn().established,
            now.into_std(),
            trace.timeouts.read,
        );
        Incoming { lease: Some(lease), first, left: length, trace, silent_since: None, watched }
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
        if let Some(first) = self.first.take() {
            self.count(&first);
            return Poll::Ready(Some(Ok(first)));
        }
        let received = match self.poll_received(cx) {
            Poll::Pending => ready!(self.poll_timers(cx)).map_or_else(Err, |()| Ok(None)),
            Poll::Ready(Ok(received)) => Ok(Some(received)),
            Poll::Ready(Err(fault)) => Err(self.fail(fault)),
        };
        match received {
            Ok(Some(Received::Data(data))) => {
                self.silent_since = None;
                self.finish_if_complete();
                let frame = Frame::data(data);
                self.count(&frame);
                Poll::Ready(Some(Ok(frame)))
            }
            Ok(Some(Received::Trailers(trailers))) => {
                Poll::Ready(Some(Ok(Frame::trailers(trailers))))
            }
            Ok(_) => {
                self.finish_if_complete();
                drop(self.take_lease());
                Poll::Ready(None)
            }
            Err(error) => Poll::Ready(Some(Err(error))),
        }
    }

    pub(crate) fn is_end(&self) -> bool {
        self.lease.is_none() && self.first.is_none()
    }

    pub(crate) fn size_hint(&self) -> SizeHint {
        match self.left {
            Some(left) => SizeHint::with_exact(left),
            None => SizeHint::default(),
        }
    }

    /// Goes on sending the request, if that is not done yet, and reads.
    fn poll_received(&mut self, cx: &mut Context<'_>) -> Poll<Result<Received, Fault>> {
        let Some(lease) = &mut self.lease else { return Poll::Ready(Ok(Received::End)) };
        let conn = lease.conn_mut();
        if conn.wire.is_sending()
            && let Poll::Ready(Err(fault)) = conn.poll_send(cx)
        {
            return Poll::Ready(Err(fault));
        }
        conn.poll_receive(cx)
    }

    /// Never `Ready(Ok)`: the wait ends with an error or goes on.
    fn poll_timers(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        let silent_since = *self.silent_since.get_or_insert_with(Instant::now);
        let read = deadline(silent_since, self.trace.timeouts.read, Timer::Read);
        let total = self.trace.total_deadline().map(|at| (at, Timer::Total));
        let Some(((at, timer), lease)) = earlier(read, total).zip(self.lease.as_mut()) else {
            return Poll::Pending;
        };
        ready!(lease.conn_mut().poll_until(cx, at));
        let core = lease.pooled().clone();
        self.close(CloseReason::TimedOut);
        let sent = warmwire_h1::Sent::Yes;
        Poll::Ready(Err(self.trace.timed_out(&core, timer, Phase::Body, sent)))
    }

    fn count(&mut self, frame: &Frame<Bytes>) {
        let length = frame.data_ref().map_or(0, |data| data.len() as u64);
        self.left = self.left.map(|left| left.saturating_sub(length));
    }

    fn finish_if_complete(&mut self) {
        let complete = |lease: &ConnectionLease| lease.conn().wire.exchange.response_complete();
        if self.lease.as_ref().is_some_and(complete)
            && let Some(lease) = self.take_lease()
        {
            release(lease, &self.trace.key, Instant::now());
        }
    }

    fn fail(&mut self, fault: Fault) -> Error {
        self.close(close_reason(&fault, true));
        self.trace.failed(fault, warmwire_h1::Sent::Yes, Phase::Body, None)
    }

    fn close(&mut self, reason: CloseReason) {
        if let Some(lease) = self.take_lease() {
            lease.release(Verdict::Close(reason));
        }
    }

    /// The connection, which nobody holds by this body any more.
    fn take_lease(&mut self) -> Option<ConnectionLease> {
        let lease = self.lease.take()?;
        if let Some(watched) = self.watched.take() {
            watched.end(&lease.pooled().hooks);
        }
        Some(lease)
    }
}

impl Drop for Incoming {
    /// What is left is read to its end if it is small enough to cost less than a new connection.
    fn drop(&mut self) {
        let Some(lease) = self.take_lease() else { return };
        let drain = self.trace.key.policy().drain;
        let wire = &lease.conn().wire;
        let small = wire.exchange.remaining().is_none_or(|left| left <= drain.bytes);
        if !small || drain.bytes == 0 || wire.is_sending() {
            return lease.release(Verdict::Close(CloseReason::BodyDropped));
        }
        let mut draining = Draining { lease, left: drain.bytes };
        let mut cx = Context::from_waker(Waker::noop());
        match draining.poll(&mut cx) {
            Poll::Ready(whole) => draining.end(whole, &self.trace),
            Poll::Pending => drain_later(draining, drain, self.trace.clone()),
        }
    }
}

fn drain_later(mut draining: Draining, drain: Drain, trace: Trace) {
    let Ok(runtime) = Handle::try_current() else {
        return draining.end(false, &trace);
    };
    runtime.spawn(async move {
        let all = std::future::poll_fn(|cx| draining.poll(cx));
        let whole = tokio::time::timeout(drain.time, all).await.unwrap_or(false);
        draining.end(whole, &trace);
    });
}

/// A dropped body being read to its end.
struct Draining {
    lease: ConnectionLease,
    left: u64,
}

impl Draining {
    /// Whether the end was reached.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<bool> {
        loop {
            let conn = self.lease.conn_mut();
            match ready!(conn.poll_receive(cx)) {
                Ok(Received::Data(data)) => match self.left.checked_sub(data.len() as u64) {
                    Some(left) => self.left = left,
                    None => return Poll::Ready(false),
                },
                Ok(Received::End) => return Poll::Ready(true),
                Ok(_) => {}
                Err(_) => return Poll::Ready(false),
            }
            if conn.wire.exchange.response_complete() {
                return Poll::Ready(true);
            }
        }
    }

    fn end(self, whole: bool, trace: &Trace) {
        match whole {
            true => release(self.lease, &trace.key, Instant::now()),
            false => self.lease.release(Verdict::Close(CloseReason::BodyDropped)),
        }
    }
}
