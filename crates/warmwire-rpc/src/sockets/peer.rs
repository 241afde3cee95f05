//! One connection of a socket.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::task::AtomicWaker;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::{CancellationToken, PollSender};
use warmwire_amp::message::plain;

use super::core::{Core, Message};
use crate::wire::{Wire, WireError};

/// Bytes that are being written, below which more is taken out of the queue: what is there cannot be
/// dropped any more, so it is little.
const WRITING: usize = 64 << 10;

/// What waits for one peer.
#[derive(Debug)]
pub(super) struct Peer {
    queue: Mutex<Queue>,
    waker: AtomicWaker,
    /// Ends the connection.
    pub(super) ending: CancellationToken,
}

#[derive(Debug, Default)]
struct Queue {
    frames: VecDeque<Bytes>,
    bytes: usize,
    ended: bool,
}

impl Peer {
    pub(super) fn new(ending: CancellationToken) -> Self {
        Self { queue: Mutex::default(), waker: AtomicWaker::new(), ending }
    }

    /// Whether it has room for a message of so many bytes. An empty queue has room for any.
    pub(super) fn has_room(&self, bytes: usize, max: (usize, usize)) -> bool {
        let queue = self.lock();
        !queue.ended
            && (queue.frames.is_empty()
                || queue.frames.len() < max.0 && queue.bytes.saturating_add(bytes) <= max.1)
    }

    /// Puts a message behind the others.
    pub(super) fn push(&self, frame: Bytes) {
        let mut queue = self.lock();
        queue.bytes += frame.len();
        queue.frames.push_back(frame);
        drop(queue);
        self.waker.wake();
    }

    /// Drops the message that has waited longest, if one waits.
    pub(super) fn drop_oldest(&self) -> bool {
        let mut queue = self.lock();
        let oldest = queue.frames.pop_front();
        queue.bytes -= oldest.as_ref().map_or(0, Bytes::len);
        oldest.is_some()
    }

    pub(super) fn waiting(&self) -> usize {
        self.lock().frames.len()
    }

    /// Takes no more, and gives back what was not written.
    fn end(&self) -> VecDeque<Bytes> {
        let mut queue = self.lock();
        queue.ended = true;
        queue.bytes = 0;
        std::mem::take(&mut queue.frames)
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        // Nothing that runs under it leaves it half done.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Moves a peer's bytes until the connection or the socket ends. Gives back what was not written.
pub(super) async fn run<S>(core: &Arc<Core>, peer: &Arc<Peer>, stream: S) -> VecDeque<Bytes>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let mut mover = Mover {
        wire: Wire::new(stream, core.options.max_message),
        inbox: core.incoming.as_ref().map(|incoming| PollSender::new(incoming.sender())),
        peer: Arc::clone(peer),
        core: Arc::clone(core),
        written: 0,
    };
    let mut closing = std::pin::pin!(core.closing.cancelled());
    let mut is_closing = false;
    let moved = poll_fn(|cx| {
        is_closing = is_closing || closing.as_mut().poll(cx).is_ready();
        mover.poll(cx, is_closing)
    });
    // Why it ended is nobody's concern: a one-way socket has no call that could be told.
    let _ = peer.ending.run_until_cancelled(moved).await;
    peer.end()
}

struct Mover<S> {
    wire: Wire<S>,
    inbox: Option<PollSender<Message>>,
    peer: Arc<Peer>,
    core: Arc<Core>,
    written: u64,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Mover<S> {
    /// Ready with `Ok` when the socket is closing and everything has been written.
    fn poll(&mut self, cx: &mut Context<'_>, closing: bool) -> Poll<Result<(), WireError>> {
        // Before anything is looked at: who puts something in after that wakes this task.
        self.peer.waker.register(cx.waker());
        loop {
            let flushed = self.write(cx)?;
            let has_room = self.take(cx)?;
            if has_room {
                match self.wire.poll_read(cx) {
                    Poll::Ready(Ok(())) => continue,
                    Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                    Poll::Pending => {}
                }
            }
            if closing && flushed {
                // What the peer does with the end of the stream is its affair.
                let _ = self.wire.poll_shutdown(cx);
                return Poll::Ready(Ok(()));
            }
            return Poll::Pending;
        }
    }

    /// Writes what there is. Returns whether nothing is left.
    fn write(&mut self, cx: &mut Context<'_>) -> Result<bool, WireError> {
        loop {
            self.fill();
            match self.wire.poll_flush(cx, &mut self.written) {
                // What was being written may have left no room for all that waits.
                Poll::Ready(Ok(())) if self.peer.waiting() > 0 => {}
                Poll::Ready(Ok(())) => return Ok(true),
                Poll::Ready(Err(error)) => return Err(WireError::Io(error)),
                Poll::Pending => return Ok(false),
            }
        }
    }

    /// Takes messages out of the queue to be written.
    fn fill(&mut self) {
        let mut queue = self.peer.lock();
        let mut taken = 0;
        while self.wire.out.len() < WRITING
            && let Some(frame) = queue.frames.pop_front()
        {
            queue.bytes -= frame.len();
            self.wire.out.written(&frame);
            taken += 1;
        }
        drop(queue);
        if taken > 0 {
            self.core.counters.sent.add(taken);
            self.core.room_is_free();
        }
    }

    /// Hands over the messages that have come. Returns whether there is room for more.
    fn take(&mut self, cx: &mut Context<'_>) -> Result<bool, WireError> {
        loop {
            let Some(inbox) = &mut self.inbox else {
                // Nothing is expected of the peer of a socket that only sends.
                while self.wire.buffered()?.is_some() {}
                return Ok(true);
            };
            match inbox.poll_reserve(cx) {
                Poll::Pending => return Ok(false),
                // Whoever received is gone.
                Poll::Ready(Err(_)) => return Err(WireError::Closed),
                Poll::Ready(Ok(())) => {}
            }
            let Some(frame) = self.wire.buffered()? else {
                inbox.abort_send();
                return Ok(true);
            };
            if frame.is_empty() {
                return Err(WireError::NoArguments);
            }
            match plain::read(frame) {
                Ok(values) => match self.core.incoming.as_ref().and_then(|to| to.accept(values)) {
                    Some(message) => {
                        self.core.counters.received.add(1);
                        // The place was reserved; if it is gone by now, so is the receiver.
                        let _ = inbox.send_item(message);
                    }
                    None => drop(inbox.abort_send()),
                },
                Err(_) => {
                    self.core.counters.unreadable.add(1);
                    inbox.abort_send();
                }
            }
        }
    }
}
