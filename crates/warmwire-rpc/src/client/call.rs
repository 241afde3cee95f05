//! One call, from its arguments to its result.

use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use tokio::time::Sleep;
use warmwire_amp::message::{Reply, Request};
use warmwire_amp::{Value, from_value};

use super::link::{Asked, Failure, Outcome, Ticket};
use super::shared::{Begun, Wanted};
use super::{Client, Handle};
use crate::error::{Error, ErrorKind, Sent};

/// A call that is under way as soon as it is awaited.
///
/// # Cancel safety
///
/// Dropped before it was sent, it is never sent. Dropped after that, its reply is ignored, and a
/// Warmwire server drops the handler.
#[must_use = "a call does nothing until it is awaited"]
#[derive(Debug)]
pub struct Call<T> {
    inner: Untyped,
    result: PhantomData<fn() -> T>,
}

impl<T> Call<T> {
    pub(super) fn new(client: Arc<Handle>, request: Result<Asked, Error>) -> Self {
        Self { inner: Untyped::new(client, request), result: PhantomData }
    }

    /// A call whose arguments were wrong.
    pub(crate) fn failed(client: &Client, error: Error) -> Self {
        Self::new(Arc::clone(client.handle()), Err(error))
    }

    /// How long it may take, waiting for a connection included; `None` waits for ever. Default: the
    /// client's [`timeout`](super::ClientBuilder::timeout).
    pub fn timeout(mut self, time: impl Into<Option<Duration>>) -> Self {
        self.inner.timeout = time.into();
        self
    }

    /// Marks it as safe to run more than once: if its connection ends before the reply, it is sent
    /// again on another one, within its time.
    pub fn idempotent(mut self, idempotent: bool) -> Self {
        self.inner.idempotent = idempotent;
        self
    }
}

impl<T: DeserializeOwned> Future for Call<T> {
    type Output = Result<T, Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let reply = ready!(Pin::new(&mut self.inner).poll(cx))?;
        let result = from_value(value(reply));
        Poll::Ready(result.map_err(|error| {
            let error = Error::new(ErrorKind::Value, format!("the result: {error}"));
            self.inner.described(error.sent(Sent::Maybe))
        }))
    }
}

/// What a reply has as its value: nothing, the one result, or all of several.
fn value(reply: Reply) -> Value {
    match reply {
        Reply::Results(results) if results.len() > 1 => Value::Array(results),
        Reply::Results(results) => results.into_iter().next().unwrap_or_default(),
        Reply::Methods(methods) => methods.into(),
        Reply::Pong | Reply::Fault(_) => Value::Undefined,
    }
}

/// A request and what becomes of it.
#[derive(Debug)]
pub(super) struct Untyped {
    client: Arc<Handle>,
    request: Result<Asked, Error>,
    timeout: Option<Duration>,
    deadline: Option<Instant>,
    /// When it began, until it is sent for the first time.
    began: Option<Instant>,
    idempotent: bool,
    stage: Stage,
}

#[derive(Debug)]
enum Stage {
    New,
    /// It is to be sent, for the first time or again.
    Ready,
    Waits {
        place: u64,
        timer: Option<Pin<Box<Sleep>>>,
    },
    Sent(Ticket),
    Done,
}

impl Untyped {
    pub(super) fn new(client: Arc<Handle>, request: Result<Asked, Error>) -> Self {
        let timeout = client.shared.options.timeout;
        Self {
            client,
            request,
            timeout,
            deadline: None,
            began: None,
            idempotent: false,
            stage: Stage::New,
        }
    }

    fn start(&mut self) {
        self.client.shared.counters.calls.add(1);
        let now = Instant::from(tokio::time::Instant::now());
        // A time that no clock can show is no limit.
        self.deadline = self.timeout.and_then(|time| now.checked_add(time));
        self.began = Some(now);
        self.stage = Stage::Ready;
    }

    /// Has the request say how long the caller will wait from now on.
    fn tell_time_left(&mut self) {
        if let Ok(Asked::Rpc(Request::Call(call))) = &mut self.request {
            // The clock has just been read where it is sent for the first time.
            let now = self.began.take().unwrap_or_else(|| tokio::time::Instant::now().into());
            call.deadline = self.deadline.map(|at| at.saturating_duration_since(now));
        }
    }

    /// Sends it, or takes a place in the queue.
    fn begin(&mut self, cx: &mut Context<'_>, place: Option<u64>) -> Result<(), Error> {
        let request = match &self.request {
            Ok(request) => request,
            Err(_) => {
                let begun = std::mem::replace(&mut self.request, Ok(Asked::Rpc(Request::Ping)));
                return begun.map(drop);
            }
        };
        let wanted = Wanted {
            request,
            deadline: self.deadline,
            replies: !matches!(request, Asked::Rpc(Request::Call(call)) if call.notify),
            place,
        };
        self.stage = match self.client.shared.begin(&wanted, cx) {
            Begun::Sent(Some(ticket)) => Stage::Sent(ticket),
            Begun::Sent(None) => Stage::Done,
            Begun::Failed(error) => {
                // Its place is given up already.
                self.stage = Stage::Ready;
                return Err(error);
            }
            Begun::Waits(place) => {
                let timer = match std::mem::replace(&mut self.stage, Stage::Ready) {
                    Stage::Waits { timer, .. } => timer,
                    _ => self.deadline.map(|at| Box::pin(tokio::time::sleep_until(at.into()))),
                };
                Stage::Waits { place, timer }
            }
        };
        Ok(())
    }

    fn poll_stage(&mut self, cx: &mut Context<'_>) -> Poll<Result<Reply, Error>> {
        loop {
            match &mut self.stage {
                Stage::New => self.start(),
                Stage::Ready => {
                    self.tell_time_left();
                    self.begin(cx, None)?;
                }
                Stage::Waits { place, .. } => {
                    let place = Some(*place);
                    self.tell_time_left();
                    self.begin(cx, place)?;
                    if let Stage::Waits { timer, .. } = &mut self.stage {
                        match timer {
                            Some(timer) => ready!(timer.as_mut().poll(cx)),
                            None => return Poll::Pending,
                        }
                        return Poll::Ready(Err(self.timed_out(Sent::No)));
                    }
                }
                Stage::Sent(ticket) => {
                    let outcome = ready!(ticket.poll(cx));
                    self.stage = Stage::Ready;
                    if let Some(end) = self.settle(outcome) {
                        return Poll::Ready(end);
                    }
                }
                // A notification has been sent.
                Stage::Done => return Poll::Ready(Ok(Reply::Results(Vec::new()))),
            }
        }
    }

    /// What an outcome means; `None` to send the call again.
    fn settle(&mut self, outcome: Outcome) -> Option<Result<Reply, Error>> {
        Some(match outcome {
            Ok(Reply::Fault(fault)) => Err(Error::from_fault(fault)),
            Ok(reply) => Ok(reply),
            Err(Failure::Timeout) => Err(self.timed_out(Sent::Maybe)),
            Err(Failure::Disconnected(sent, why)) => {
                let unsent = sent == Sent::No && self.client.shared.options.resend_unsent;
                if self.idempotent || unsent {
                    self.client.shared.counters.resent.add(1);
                    return None;
                }
                let error =
                    Error::new(ErrorKind::Disconnected, format!("the connection ended: {why}"));
                Err(error.sent(sent))
            }
            Err(Failure::Unreadable(fault)) => {
                let error = Error::new(ErrorKind::Protocol, format!("no reply: {fault}"));
                Err(error.sent(Sent::Maybe))
            }
        })
    }

    fn timed_out(&self, sent: Sent) -> Error {
        Error::timeout(self.timeout.unwrap_or_default(), sent)
    }

    fn described(&self, error: Error) -> Error {
        let endpoint = &self.client.shared.endpoint;
        match &self.request {
            Ok(Asked::Rpc(Request::Call(call))) => error.of(&call.method, endpoint),
            _ => error.at(endpoint),
        }
    }
}

impl Future for Untyped {
    type Output = Result<Reply, Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let end = ready!(self.poll_stage(cx));
        self.leave();
        self.stage = Stage::Done;
        let is_notification = matches!(&self.request, Ok(Asked::Rpc(Request::Call(call))) if call.notify && end.is_ok());
        let counters = &self.client.shared.counters;
        match is_notification {
            true => drop(counters.notified.add(1)),
            false => counters.ended(end.as_ref().map(drop).map_err(Error::kind)),
        }
        Poll::Ready(end.map_err(|error| self.described(error)))
    }
}

impl Untyped {
    fn leave(&mut self) {
        if let Stage::Waits { place, .. } = self.stage {
            self.client.shared.leave(Some(place));
        }
    }
}

impl Drop for Untyped {
    fn drop(&mut self) {
        self.leave();
        if !matches!(self.stage, Stage::New | Stage::Done) {
            self.client.shared.counters.cancelled.add(1);
        }
    }
}
