//! One connection of a server.

use std::collections::HashMap;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::task::{Context as Task, Poll, ready};
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::{AbortHandle, JoinSet};
use warmwire_amp::message::{Call, Received, Reply, Request, plain};
use warmwire_amp::{Argument, Dialect, Fault, Frame, FrameWriter, Value};
use warmwire_net::Peer;

use super::invoke::{Running, start};
use super::registry::Method;
use super::{Caller, Shared};
use crate::wire::{Wire, WireError};

/// Replies that wait to be written, in bytes, from which on no more is read: a peer that does not
/// take its replies gets no more work done.
const HIGH_WATER: usize = 1 << 20;

/// How long a closed server waits for the peer to have read the last replies. To close at once
/// would reset the connection if anything has come that was not read, and the reset would take the
/// replies with it (RFC 1122, 4.2.2.13).
const LINGER: Duration = Duration::from_secs(1);

/// One connection: reads requests, runs handlers, writes replies.
///
/// Handlers that have to wait run on tasks of their own, at most `max_in_flight` of them; the others
/// run here.
pub(super) struct Session<S> {
    wire: Wire<S>,
    server: Arc<Shared>,
    peer: Arc<Peer>,
    handlers: JoinSet<Ended>,
    /// The handlers that their callers can cancel.
    running: HashMap<Bytes, AbortHandle>,
    scratch: FrameWriter,
    written: u64,
    came_at: Option<Instant>,
    /// The server is closing: what has come is answered, and no more is read.
    closing: bool,
    drained: bool,
    /// What the peer sends can no longer be read; what it is owed is still written.
    lost: Option<WireError>,
}

/// A reply and where it goes.
struct Answer {
    id: Bytes,
    dialect: Dialect,
    reply: Reply,
}

/// What a handler's task ends with: its call's id, and an answer if somebody waits for one still.
type Ended = (Bytes, Option<Answer>);

impl<S: AsyncRead + AsyncWrite + Unpin> Session<S> {
    pub(super) fn new(stream: S, peer: Peer, server: Arc<Shared>) -> Self {
        Self {
            wire: Wire::new(stream, server.limits.max_message),
            server,
            peer: Arc::new(peer),
            handlers: JoinSet::new(),
            running: HashMap::new(),
            scratch: FrameWriter::default(),
            written: 0,
            came_at: None,
            closing: false,
            drained: false,
            lost: None,
        }
    }

    /// Serves the peer until it goes or the server closes. Handlers that still run when the peer
    /// goes are dropped.
    pub(super) async fn run(mut self) {
        let server = Arc::clone(&self.server);
        let mut close = pin!(server.closing.cancelled());
        let end = poll_fn(|cx| {
            self.closing = self.closing || close.as_mut().poll(cx).is_ready();
            self.poll(cx)
        });
        // A peer that is gone needs no goodbye.
        if !matches!(end.await, Err(WireError::Closed | WireError::Cut | WireError::Io(_))) {
            // Whether the peer hears it is no longer this side's to know.
            let _ = tokio::time::timeout(LINGER, poll_fn(|cx| self.poll_goodbye(cx))).await;
        }
    }

    /// Ready with `Ok` when the server is closing and everything has been answered.
    fn poll(&mut self, cx: &mut Task<'_>) -> Poll<Result<(), WireError>> {
        loop {
            self.came_at = None;
            self.take_buffered();
            let stalled = !self.has_room();
            let flushed = match self.wire.poll_flush(cx, &mut self.written) {
                Poll::Ready(Err(error)) => return Poll::Ready(Err(WireError::Io(error))),
                flushed => flushed.is_ready(),
            };
            if flushed && let Some(error) = self.lost.take() {
                return Poll::Ready(Err(error));
            }
            // Asked for last, since only a set that is not empty wakes this task.
            if self.collect(cx) || (stalled && self.has_room()) {
                continue;
            }
            if !stalled && !self.drained && self.lost.is_none() {
                match self.wire.poll_read(cx) {
                    Poll::Ready(Ok(())) => continue,
                    Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                    Poll::Pending => self.drained = self.closing,
                }
            }
            let done = self.drained && self.handlers.is_empty() && flushed;
            return if done { Poll::Ready(Ok(())) } else { Poll::Pending };
        }
    }

    fn take_buffered(&mut self) {
        while self.has_room() && self.lost.is_none() {
            let taken = match self.wire.buffered() {
                Ok(Some(frame)) => self.take(frame),
                Ok(None) => return,
                Err(error) => Err(error),
            };
            self.lost = taken.err();
        }
    }

    fn poll_goodbye(&mut self, cx: &mut Task<'_>) -> Poll<()> {
        if ready!(self.wire.poll_shutdown(cx)).is_ok() {
            while ready!(self.wire.poll_discard(cx)).is_ok() {}
        }
        Poll::Ready(())
    }

    fn has_room(&self) -> bool {
        self.handlers.len() < self.server.limits.max_in_flight && self.wire.out.len() < HIGH_WATER
    }

    /// Takes the replies of the handlers that have ended. Returns whether there were any.
    fn collect(&mut self, cx: &mut Task<'_>) -> bool {
        let mut some = false;
        while self.wire.out.len() < HIGH_WATER
            && let Poll::Ready(Some(ended)) = self.handlers.poll_join_next(cx)
        {
            some = true;
            // An error is a handler that was cancelled: its caller is not there any more.
            let Ok((id, answer)) = ended else { continue };
            self.running.remove(&id);
            if let Some(answer) = answer {
                self.answer(&answer);
            }
        }
        some
    }

    fn take(&mut self, frame: Frame) -> Result<(), WireError> {
        if let Some(method) = self.server.registry.plain.clone() {
            return self.take_plain(&method, frame);
        }
        match Request::read(frame) {
            Ok(Received { id, message, dialect }) => self.serve(id, message, dialect),
            Err(unreadable) => {
                // Without an id the peer has lost step: what follows would be read as garbage.
                let id = unreadable.id.ok_or(WireError::NoArguments)?;
                let reply = Reply::Fault(unreadable.fault);
                self.answer(&Answer { id, dialect: unreadable.dialect, reply });
            }
        }
        Ok(())
    }

    /// A message of axon's bare req/rep.
    fn take_plain(&mut self, method: &Method, mut frame: Frame) -> Result<(), WireError> {
        let id = frame.pop().ok_or(WireError::NoArguments)?;
        self.server.counters.calls.fetch_add(1, Relaxed);
        let started = match plain::read(frame) {
            Ok(values) => start(method, Caller::new(&self.peer, None), None, values),
            Err(error) => Ok(Reply::Fault(Fault::new(error.to_string()))),
        };
        match started {
            Ok(reply) => self.answer(&Answer { id, dialect: Dialect::Axon, reply }),
            Err(running) => self.spawn(id, Dialect::Axon, running),
        }
        Ok(())
    }

    fn serve(&mut self, id: Bytes, request: Request, dialect: Dialect) {
        let reply = match request {
            Request::Call(call) => match self.call(&id, call, dialect) {
                Some(reply) => reply,
                None => return,
            },
            Request::Methods => Reply::Methods(self.server.registry.list()),
            Request::Ping => Reply::Pong,
            Request::Cancel => {
                if let Some(handler) = self.running.remove(&id) {
                    handler.abort();
                }
                return;
            }
        };
        self.answer(&Answer { id, dialect, reply });
    }

    /// When what is being taken was read: the clock is asked once for all that came together.
    fn came_at(&mut self) -> Instant {
        *self.came_at.get_or_insert_with(|| tokio::time::Instant::now().into())
    }

    /// Runs the handler, and returns the reply if it is there already.
    fn call(&mut self, id: &Bytes, call: Call, dialect: Dialect) -> Option<Reply> {
        self.server.counters.calls.fetch_add(1, Relaxed);
        let deadline = call.deadline.and_then(|left| self.came_at().checked_add(left));
        let method = match self.server.registry.get(&call.method) {
            Ok(method) => method,
            Err(fault) => return Some(Reply::Fault(fault)).filter(|_| !call.notify),
        };
        match start(method, Caller::new(&self.peer, deadline), deadline, call.arguments) {
            Ok(reply) => Some(reply).filter(|_| !call.notify),
            Err(running) if call.notify => {
                // Nobody waits for it, so nobody's going ends it.
                self.server.notified.spawn(running.finish());
                None
            }
            Err(running) => {
                self.spawn(id.clone(), dialect, running);
                None
            }
        }
    }

    fn spawn(&mut self, id: Bytes, dialect: Dialect, running: Running) {
        let key = id.clone();
        let handler = self.handlers.spawn(async move {
            let reply = running.finish().await;
            (id.clone(), reply.map(|reply| Answer { id, dialect, reply }))
        });
        if dialect == Dialect::Extended {
            self.running.insert(key, handler);
        }
    }

    fn answer(&mut self, answer: &Answer) {
        let Answer { id, dialect, reply } = answer;
        if matches!(reply, Reply::Fault(_)) {
            self.server.counters.faults.fetch_add(1, Relaxed);
        }
        self.write(id, *dialect, reply);
        let limit = self.server.limits.max_message;
        if self.scratch.len() > limit {
            let length = self.scratch.len();
            self.scratch = FrameWriter::default();
            let fault = Fault::new(format!(
                "the result has {length} bytes and a message may have {limit}: raise max_message \
                 at both ends, or answer in parts"
            ));
            let reply = Reply::Fault(fault.code("too_large"));
            self.write(id, *dialect, &reply);
        }
        self.wire.out.append(&mut self.scratch);
    }

    fn write(&mut self, id: &Bytes, dialect: Dialect, reply: &Reply) {
        match self.server.registry.plain {
            Some(_) => plain::write_reply(&plain_reply(reply), id, &mut self.scratch),
            None => reply.write(id, dialect, &mut self.scratch),
        }
    }
}

/// A reply as axon's bare sockets carry it: an array is several values.
fn plain_reply(reply: &Reply) -> Result<Vec<Argument>, String> {
    let values = match reply {
        Reply::Fault(fault) => return Err(fault.message().to_owned()),
        Reply::Results(results) => match results.as_slice() {
            [Value::Array(several)] => several.clone(),
            results => results.to_vec(),
        },
        Reply::Methods(_) | Reply::Pong => Vec::new(),
    };
    if values.is_empty() {
        return Ok(Vec::new());
    }
    // The error has a place of its own.
    plain::arguments(values, plain::MAX_PLAIN - 1).map_err(|fault| fault.message().to_owned())
}
