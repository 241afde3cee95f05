//! The task that moves the bytes of a [`Link`].

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::Sleep;
use tokio_util::sync::CancellationToken;
use warmwire_amp::message::{Received, Reply, plain, read_id};
use warmwire_amp::{Dialect, Fault, Frame};

use super::link::{Failure, Link, Outcome};
use super::shared::Shared;
use crate::wire::{Wire, WireError};

/// Moves bytes until the connection or the client ends, and ends the calls that are left.
pub(super) struct Mover<S> {
    link: Arc<Link>,
    client: Arc<Shared>,
    wire: Wire<S>,
    written: u64,
    replies: Vec<(u64, Outcome)>,
    timer: Option<Pin<Box<Sleep>>>,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Mover<S> {
    pub(super) fn new(link: Arc<Link>, client: Arc<Shared>, stream: S) -> Self {
        let wire = Wire::new(stream, client.options.max_message);
        Self { link, client, wire, written: 0, replies: Vec::new(), timer: None }
    }

    /// Moves bytes until `ending`, or until all is done after the client was closed. Returns why the
    /// connection ended.
    pub(super) async fn run(mut self, ending: &CancellationToken) -> Arc<str> {
        let client = Arc::clone(&self.client);
        let mut close = pin!(client.closing.cancelled());
        let mut closing = false;
        let moved = poll_fn(|cx| {
            closing = closing || close.as_mut().poll(cx).is_ready();
            self.poll(cx, closing)
        });
        let end = ending.run_until_cancelled(moved).await;
        let why: Arc<str> = match end {
            Some(Err(error)) => error.to_string().into(),
            Some(Ok(())) | None => "this end closed it".into(),
        };
        self.link.end(self.written, &why);
        client.disconnected(&self.link, &why);
        why
    }

    /// Ready with `Ok` when the client is closing and every call has ended.
    fn poll(&mut self, cx: &mut Context<'_>, closing: bool) -> Poll<Result<(), WireError>> {
        // Before anything is looked at: who puts something in after that wakes this task.
        self.link.waker.register(cx.waker());
        loop {
            let flushed = self.write(cx)?;
            self.read()?;
            match self.wire.poll_read(cx) {
                Poll::Ready(Ok(())) => continue,
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Pending => {}
            }
            if self.expire(cx) {
                continue;
            }
            if closing && flushed && self.link.is_idle() {
                // What the peer does with the end of the stream is its affair.
                let _ = self.wire.poll_shutdown(cx);
                return Poll::Ready(Ok(()));
            }
            // Something was written, answered, cancelled, or its time was over.
            self.client.room_is_free();
            return Poll::Pending;
        }
    }

    /// Writes what there is. Returns whether nothing is left.
    fn write(&mut self, cx: &mut Context<'_>) -> Result<bool, WireError> {
        loop {
            let more = self.link.take(&mut self.wire.out);
            let flushed = self.wire.poll_flush(cx, &mut self.written);
            self.link.writing(self.wire.out.len());
            match flushed {
                Poll::Ready(Ok(())) if more => {}
                Poll::Ready(Ok(())) => return Ok(true),
                Poll::Ready(Err(error)) => return Err(WireError::Io(error)),
                Poll::Pending => return Ok(false),
            }
        }
    }

    /// Gives out the replies that have been read.
    fn read(&mut self) -> Result<(), WireError> {
        let read = loop {
            match self.wire.buffered() {
                Ok(None) => break Ok(()),
                Err(error) => break Err(error),
                Ok(Some(frame)) if self.client.options.plain => self.plain(frame)?,
                Ok(Some(frame)) => match Reply::read(frame) {
                    Ok(Received { id, message, dialect }) => {
                        self.link.heard(dialect);
                        self.got(&id, Ok(message));
                    }
                    Err(unreadable) => match unreadable.id {
                        Some(id) => self.got(&id, Err(Failure::Unreadable(unreadable.fault))),
                        None => break Err(WireError::NoArguments),
                    },
                },
            }
        };
        if !self.replies.is_empty() {
            let unknown = self.link.settle(&mut self.replies);
            self.client.counters.late_replies.add(unknown);
        }
        read
    }

    /// A reply of a bare `rep` socket.
    fn plain(&mut self, mut frame: Frame) -> Result<(), WireError> {
        let id = frame.pop().ok_or(WireError::NoArguments)?;
        self.link.heard(Dialect::Axon);
        let outcome = match plain::read(frame) {
            // One result, however many values it has.
            Ok(values) => Ok(Reply::Results(vec![values.into()])),
            Err(error) => Err(Failure::Unreadable(Fault::new(error.to_string()))),
        };
        self.got(&id, outcome);
        Ok(())
    }

    fn got(&mut self, id: &[u8], outcome: Outcome) {
        match read_id(id) {
            Some(id) => self.replies.push((id, outcome)),
            // No call of ours: axon drops it silently, too.
            None => drop(self.client.counters.late_replies.add(1)),
        }
    }

    /// Ends calls whose time is over and sets the timer for the next. Returns whether there is
    /// something to write.
    fn expire(&mut self, cx: &mut Context<'_>) -> bool {
        let fired = self.timer.as_mut().is_some_and(|timer| timer.as_mut().poll(cx).is_ready());
        if !fired && !self.link.needs_arming() {
            return false;
        }
        let Some(next) = self.link.expire(Instant::from(tokio::time::Instant::now())) else {
            self.timer = None;
            return fired;
        };
        let mut timer = Box::pin(tokio::time::sleep_until(next.into()));
        // Registers the waker; if the time is over by now, there is more to expire.
        let over = timer.as_mut().poll(cx).is_ready();
        self.timer = Some(timer);
        fired || over
    }
}

impl<S> Drop for Mover<S> {
    /// Whatever ends the task, a panic of a listener or the end of its runtime, ends the calls.
    fn drop(&mut self) {
        self.link.end(self.written, &"its task ended".into());
        self.client.disconnected(&self.link, "its task ended");
    }
}
