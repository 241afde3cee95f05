//! An open connection: its stream, what watches it while it is idle, and its timer.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, Wake, Waker, ready};

use tokio::runtime::Handle;
use tokio::time::{Instant, Sleep};
use warmwire_h1::Received;
use warmwire_net::{Quiet, Stream};
use warmwire_pool::{CloseReason, ConnectionId};

use crate::observe::Open;
use crate::reaper::Notices;
use crate::response::Established;
use crate::wire::{Fault, Wire};

/// Where the TLS handshake is, of a connection that takes early data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Handshake {
    /// Done, as with every other connection.
    Done,
    /// Under way, and nothing was said yet of who may send meanwhile.
    Open,
    /// To be done before the exchange begins.
    First,
    /// Done while the exchange runs.
    Within,
}

/// A connection, as the pool keeps it and an exchange uses it.
pub(crate) struct Conn {
    pub(crate) stream: Stream,
    pub(crate) wire: Wire,
    pub(crate) established: Arc<Established>,
    pub(crate) open: Open,
    watch: Arc<IdleWatch>,
    /// `watch` as a waker, made once: making one is an atomic increment at every release else.
    watcher: Waker,
    runtime: tokio::runtime::Id,
    handshake: Handshake,
    /// Armed at the first wait and left armed: moving a timer is the dearest part of an exchange
    /// that does not time out. See [`poll_until`](Self::poll_until).
    timer: Option<Pin<Box<Sleep>>>,
}

impl Conn {
    /// # Panics
    ///
    /// Outside a tokio runtime, where no stream can have been opened either.
    pub(crate) fn new(
        stream: Stream,
        established: Arc<Established>,
        open: Open,
        notices: Arc<Notices>,
    ) -> Conn {
        let handshaking = stream.is_handshaking();
        let watch = Arc::new(IdleWatch { notices, id: OnceLock::new(), missed: false.into() });
        Conn {
            stream,
            wire: Wire::new(),
            established,
            open,
            watcher: Waker::from(watch.clone()),
            watch,
            runtime: Handle::current().id(),
            handshake: if handshaking { Handshake::Open } else { Handshake::Done },
            timer: None,
        }
    }

    /// See [`Wire::poll_send`].
    pub(crate) fn poll_send(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Fault>> {
        if self.handshake == Handshake::First {
            let done = ready!(self.stream.poll_handshake(cx));
            done.map_err(|error| Fault::Io { error, writing: true })?;
            self.note_handshake();
        }
        self.wire.poll_send(&mut self.stream, cx)
    }

    /// Says before an exchange whether its request may be early data, if it can be.
    pub(crate) fn allow_early_data(&mut self, allowed: impl FnOnce() -> bool) {
        if self.handshake != Handshake::Done {
            self.handshake = if allowed() { Handshake::Within } else { Handshake::First };
        }
    }

    /// Whether the exchange in progress may have sent early data.
    pub(crate) fn is_early(&self) -> bool {
        self.handshake == Handshake::Within
    }

    /// Takes note of a handshake that was done within the exchange.
    pub(crate) fn note_handshake(&mut self) {
        if self.handshake != Handshake::Done
            && let Some(mut info) = self.stream.tls_info()
        {
            // A server may take early data of which there is none.
            info.early_data &= self.is_early();
            self.handshake = Handshake::Done;
            self.established.note_handshake(info);
        }
    }

    /// See [`Wire::poll_receive`].
    pub(crate) fn poll_receive(&mut self, cx: &mut Context<'_>) -> Poll<Result<Received, Fault>> {
        if self.is_early() && self.stream.is_handshaking() {
            // Reads would wait for a handshake that has failed.
            return self.wire.take_broken().map_or(Poll::Pending, |fault| Poll::Ready(Err(fault)));
        }
        self.wire.poll_receive(&mut self.stream, cx)
    }

    pub(crate) fn watch(&self) -> Arc<IdleWatch> {
        self.watch.clone()
    }

    /// Looks whether the connection is fit to be kept, and has it watched from now on.
    pub(crate) fn go_idle(&mut self) -> Result<(), CloseReason> {
        self.open.idle();
        self.forget_task();
        close_reason_of(self.stream.poll_quiet(&mut Context::from_waker(&self.watcher)))
    }

    /// The look before a reuse. It asks the kernel, which knows of a FIN before the runtime's driver
    /// has noticed it.
    pub(crate) fn look(&mut self) -> Result<(), CloseReason> {
        match self.stream.peek() {
            // Session tickets and key updates are no reason to close: read them.
            Quiet::Bytes if self.stream.is_tls() => {}
            other => close_reason_of(other)?,
        }
        self.go_idle()
    }

    /// Makes the connection work on the runtime that this is called on; says whether it has moved.
    pub(crate) fn settle_here(&mut self) -> std::io::Result<bool> {
        let here = Handle::current().id();
        let moves = here != self.runtime;
        if moves {
            self.timer = None;
            self.stream.move_to_this_runtime()?;
            self.runtime = here;
        }
        Ok(moves)
    }

    /// Ready when `deadline` has passed.
    ///
    /// A timer that is armed for an earlier time is left as it is: it wakes the task once for
    /// nothing and is then armed anew. So a timer is moved once per timeout's length and not once
    /// per request.
    pub(crate) fn poll_until(&mut self, cx: &mut Context<'_>, deadline: Instant) -> Poll<()> {
        let timer = self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(deadline)));
        if timer.deadline() > deadline {
            timer.as_mut().reset(deadline);
        }
        while timer.as_mut().poll(cx).is_ready() {
            if timer.deadline() >= deadline {
                // A fired timer must not be polled again before it is reset.
                self.timer = None;
                return Poll::Ready(());
            }
            timer.as_mut().reset(deadline);
        }
        Poll::Pending
    }

    /// Takes the last task's waker out of the timer, which would keep that task's memory for as
    /// long as the timer is armed: 1.4 KB for each idle connection in `bench/`'s IDLE.
    fn forget_task(&mut self) {
        if let Some(timer) = &mut self.timer
            && timer.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready()
        {
            self.timer = None;
        }
    }

    /// Closes politely: TLS `close_notify` and FIN, as far as that goes without waiting.
    pub(crate) fn close(mut self) {
        use tokio::io::AsyncWrite;
        let mut cx = Context::from_waker(Waker::noop());
        let _ = Pin::new(&mut self.stream).poll_shutdown(&mut cx);
    }
}

fn close_reason_of(found: Quiet) -> Result<(), CloseReason> {
    match found {
        Quiet::Yes => Ok(()),
        Quiet::Closed => Err(CloseReason::ClosedByPeer),
        Quiet::Broken => Err(CloseReason::Reset),
        Quiet::Bytes => Err(CloseReason::Unsolicited),
    }
}

/// Woken when something happens on an idle connection; tells the reaper which one.
pub(crate) struct IdleWatch {
    notices: Arc<Notices>,
    id: OnceLock<ConnectionId>,
    missed: AtomicBool,
}

impl IdleWatch {
    /// Names the connection, which has its number only once the pool has it.
    pub(crate) fn name(&self, id: ConnectionId) {
        if self.id.set(id).is_ok() && self.missed.swap(false, Ordering::SeqCst) {
            self.notices.push(id);
        }
    }
}

impl Wake for IdleWatch {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        match self.id.get() {
            Some(id) => self.notices.push(*id),
            None => {
                self.missed.store(true, Ordering::SeqCst);
                // The name may have come between the two lines above.
                if let Some(id) = self.id.get()
                    && self.missed.swap(false, Ordering::SeqCst)
                {
                    self.notices.push(*id);
                }
            }
        }
    }
}
