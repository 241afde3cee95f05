//! One connection of a client: callers put requests in, a task moves the bytes.

use std::cell::RefCell;
use std::pin::Pin;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use futures_util::task::AtomicWaker;
use tokio::sync::oneshot;
use warmwire_amp::message::{Reply, Request, plain, write_id};
use warmwire_amp::{Argument, CallTable, Dialect, Fault, FrameError, FrameWriter};

use crate::error::Sent;

/// Bytes that wait to be written, from which on calls wait for room: a peer that does not read must
/// not make this process keep everything that it is told.
const HIGH_WATER: usize = 1 << 20;

thread_local! {
    /// A frame that is being made; empty between two calls. A buffer for each would be given up
    /// again at once.
    static SCRATCH: RefCell<FrameWriter> = RefCell::default();
}

/// What is asked of a peer.
#[derive(Debug)]
pub(crate) enum Asked {
    /// In the form of axon-rpc, or the extended one.
    Rpc(Request),
    /// Bare arguments, for axon's `rep` sockets.
    Plain(Vec<Argument>),
}

impl Asked {
    fn write(&self, dialect: Dialect, out: &mut FrameWriter) {
        match self {
            Self::Rpc(request) => request.write(dialect, out),
            Self::Plain(arguments) => plain::write(arguments, out),
        }
    }
}

/// One connection.
///
/// Everybody who calls locks it once to enter the call and put the request behind the others; the
/// task takes all of them at once and writes them by one system call.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) number: u64,
    pub(crate) opened: Instant,
    state: Mutex<State>,
    /// The task that moves the bytes.
    pub(super) waker: AtomicWaker,
    in_flight: AtomicUsize,
    buffered: AtomicUsize,
    /// The peer has shown that it is Warmwire.
    extended: AtomicBool,
    /// The peer has answered something.
    healthy: AtomicBool,
}

#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) calls: CallTable<Pending>,
    pub(super) out: FrameWriter,
    /// Bytes that were ever put into `out`.
    pushed: u64,
    /// When the task looks for calls whose time is over.
    pub(super) armed: Option<Instant>,
    ended: bool,
}

/// A call that waits for its reply.
#[derive(Debug)]
pub(super) struct Pending {
    reply: oneshot::Sender<Outcome>,
    /// Where its request begins among all bytes of the connection.
    start: u64,
}

/// How a call on a link ends.
pub(crate) type Outcome = Result<Reply, Failure>;

/// Why a call on a link ends without a reply.
#[derive(Debug)]
pub(crate) enum Failure {
    Timeout,
    Disconnected(Sent, Arc<str>),
    /// What came is no reply.
    Unreadable(Fault),
}

/// Why a request was not put on a link.
#[derive(Debug)]
pub(crate) enum Refused {
    /// The link has no room any more, or has ended: another one may do.
    Busy,
    TooLarge(FrameError),
}

/// A call that is under way. Dropped before its reply has come, it is forgotten, and the peer told
/// so if it understands that.
#[derive(Debug)]
pub(crate) struct Ticket {
    link: Arc<Link>,
    id: u64,
    reply: oneshot::Receiver<Outcome>,
    ended: bool,
}

impl Ticket {
    /// How the call ends.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Outcome> {
        let outcome = ready!(Pin::new(&mut self.reply).poll(cx));
        self.ended = true;
        // A link ends every call before it goes.
        Poll::Ready(
            outcome.unwrap_or_else(|_| {
                Err(Failure::Disconnected(Sent::Maybe, "its task ended".into()))
            }),
        )
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if self.ended {
            return;
        }
        let mut state = self.link.lock();
        if state.calls.remove(self.id).is_some() {
            self.link.count(&state);
            self.link.cancel(&mut state, self.id);
            drop(state);
            self.link.waker.wake();
        }
    }
}

impl Link {
    pub(crate) fn new(number: u64) -> Self {
        Self {
            number,
            opened: Instant::now(),
            state: Mutex::default(),
            waker: AtomicWaker::new(),
            in_flight: AtomicUsize::new(0),
            buffered: AtomicUsize::new(0),
            extended: AtomicBool::new(false),
            healthy: AtomicBool::new(false),
        }
    }

    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight.load(Relaxed)
    }

    pub(crate) fn has_room(&self, max_in_flight: usize) -> bool {
        self.in_flight() < max_in_flight && self.buffered.load(Relaxed) < HIGH_WATER
    }

    pub(crate) fn is_extended(&self) -> bool {
        self.extended.load(Relaxed)
    }

    pub(crate) fn is_healthy(&self) -> bool {
        self.healthy.load(Relaxed)
    }

    /// Sends a request whose reply is waited for.
    pub(crate) fn send(
        self: &Arc<Self>,
        request: &Asked,
        deadline: Option<Instant>,
        max_message: usize,
    ) -> Result<Ticket, Refused> {
        let (sender, reply) = oneshot::channel();
        let id = self.with_frame(request, max_message, |state, frame| {
            let pending = Pending { reply: sender, start: state.pushed };
            let id = state.calls.insert(pending, deadline);
            self.push(state, frame, id);
            self.count(state);
            id
        })?;
        Ok(Ticket { link: Arc::clone(self), id, reply, ended: false })
    }

    /// Sends a request whose reply, should there be one, belongs to nobody.
    pub(crate) fn send_only(&self, request: &Asked, max_message: usize) -> Result<(), Refused> {
        self.with_frame(request, max_message, |state, frame| {
            let id = state.calls.next_id();
            self.push(state, frame, id);
        })
    }

    /// Has `enter` put a request behind the others, and wakes the task. All of the frame but its id
    /// is made before the lock is taken.
    fn with_frame<T>(
        &self,
        request: &Asked,
        max_message: usize,
        enter: impl FnOnce(&mut State, &mut FrameWriter) -> T,
    ) -> Result<T, Refused> {
        let dialect = if self.is_extended() { Dialect::Extended } else { Dialect::Axon };
        SCRATCH.with_borrow_mut(|frame| {
            request.write(dialect, frame);
            // With the id, of at most twenty digits.
            let length = frame.len() + 4 + 2 + 20;
            if length > max_message {
                *frame = FrameWriter::default();
                let error = FrameError::MessageTooLarge { length, limit: max_message };
                return Err(Refused::TooLarge(error));
            }
            let mut state = self.lock();
            if state.ended {
                *frame = FrameWriter::default();
                return Err(Refused::Busy);
            }
            let entered = enter(&mut state, frame);
            drop(state);
            self.waker.wake();
            Ok(entered)
        })
    }

    fn push(&self, state: &mut State, frame: &mut FrameWriter, id: u64) {
        write_id(id, frame);
        state.pushed += frame.len() as u64;
        state.out.append(frame);
        self.buffered.store(state.out.len(), Relaxed);
    }

    fn cancel(&self, state: &mut State, id: u64) {
        if self.is_extended() && !state.ended {
            let mut frame = FrameWriter::default();
            Request::Cancel.write(Dialect::Extended, &mut frame);
            self.push(state, &mut frame, id);
        }
    }

    fn count(&self, state: &State) {
        self.in_flight.store(state.calls.len(), Relaxed);
    }

    /// Gives out the replies that have come.
    pub(super) fn settle(&self, replies: &mut Vec<(u64, Outcome)>) -> usize {
        let mut state = self.lock();
        let mut unknown = 0;
        // The callers are woken under the lock; a wake-up only puts a task into a queue.
        for (id, outcome) in replies.drain(..) {
            match state.calls.remove(id) {
                // A caller that has just gone away does not want it any more.
                Some(call) => drop(call.reply.send(outcome)),
                None => unknown += 1,
            }
        }
        self.count(&state);
        unknown
    }

    pub(super) fn heard(&self, dialect: Dialect) {
        self.healthy.store(true, Relaxed);
        if dialect == Dialect::Extended {
            self.extended.store(true, Relaxed);
        }
    }

    /// Ends the calls whose time is over, tells the peer, and says when to come again.
    pub(super) fn expire(&self, now: Instant) -> Option<Instant> {
        let mut state = self.lock();
        while let Some((id, call)) = state.calls.expire(now) {
            drop(call.reply.send(Err(Failure::Timeout)));
            self.cancel(&mut state, id);
        }
        self.count(&state);
        state.armed = state.calls.next_deadline();
        state.armed
    }

    /// Moves what callers have put in behind what is being written. Returns whether that was
    /// anything.
    pub(super) fn take(&self, out: &mut FrameWriter) -> bool {
        let mut state = self.lock();
        if state.out.is_empty() {
            return false;
        }
        if out.is_empty() {
            std::mem::swap(out, &mut state.out);
        } else {
            out.append(&mut state.out);
        }
        true
    }

    /// Says how much is being written still, so that callers wait while it is much.
    pub(super) fn writing(&self, bytes: usize) {
        self.buffered.store(bytes, Relaxed);
    }

    /// Whether a call's deadline comes before the task would look.
    pub(super) fn needs_arming(&self) -> bool {
        let state = self.lock();
        match (state.calls.next_deadline(), state.armed) {
            (Some(next), Some(armed)) => next < armed,
            (next, armed) => next.is_some() && armed.is_none(),
        }
    }

    pub(super) fn is_idle(&self) -> bool {
        let state = self.lock();
        state.calls.is_empty() && state.out.is_empty()
    }

    /// Ends every call: the connection is gone after `written` bytes.
    pub(super) fn end(&self, written: u64, why: &Arc<str>) {
        let mut state = self.lock();
        state.ended = true;
        // Nobody chooses it any more.
        self.buffered.store(usize::MAX, Relaxed);
        for call in state.calls.drain() {
            let sent = if call.start >= written { Sent::No } else { Sent::Maybe };
            drop(call.reply.send(Err(Failure::Disconnected(sent, Arc::clone(why)))));
        }
        self.count(&state);
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing that runs under it leaves it half done.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How long it has been open.
    pub(crate) fn age(&self) -> Duration {
        self.opened.elapsed()
    }
}
