//! Runs a connection.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use hyper::client::conn::http2::Connection;
use hyper::rt::{Sleep, Timer as _};
use hyper_util::rt::TokioIo;
use tokio::sync::oneshot;
use warmwire_pool::CloseReason;

use super::connection::Link;
use super::moving::{Clock, Watched};
use super::outgoing::Outgoing;
use super::tasks::{Queue, Signal, Spawner, Task, Tasks};

pub(super) type Client = Connection<TokioIo<Watched>, Outgoing, Spawner>;

/// What h2 believes the peer allows before it has said so: tells that no SETTINGS have come.
pub(super) const NOT_TOLD: usize = 0;

/// How long a connection that nobody has any more may take to say goodbye. What there is to say
/// fits into the socket's buffer, if the peer reads at all.
const LINGER: Duration = Duration::from_secs(1);

/// How often within one poll whoever was woken is polled: enough for a request that goes out and a
/// response that comes in. More could go on for ever, since a future whose share of its task's time
/// is used up wakes itself.
const ROUNDS: usize = 4;

/// hyper splits a connection into a task for its frames, one that takes requests, and one for each
/// request. They run here as one, in an order that matters: a change of the peer's settings, its
/// goodbye or its end is told to the pool in the moment in which it was read, and before the requests
/// that fail with it are, which would else be lent the same connection again.
pub(super) struct Driver {
    frames: Option<Task>,
    requests: Option<Client>,
    tasks: Tasks,
    queue: Arc<Queue>,
    wakes: Wakes,
    link: Arc<Link>,
    streams: usize,
    ready: Option<oneshot::Sender<()>>,
    /// Ends when neither the pool nor a request has the connection any more.
    held: oneshot::Receiver<Infallible>,
    linger: Option<Pin<Box<dyn Sleep>>>,
    arriving: Option<Task>,
}

/// What wakes the connection's own two parts.
struct Wakes {
    frames: (Arc<Signal>, Waker),
    requests: (Arc<Signal>, Waker),
}

impl Wakes {
    fn new(queue: &Arc<Queue>) -> Wakes {
        let pair = || {
            let signal = Signal::raised(queue.clone());
            (signal.clone(), Waker::from(signal))
        };
        Wakes { frames: pair(), requests: pair() }
    }

    fn any(&self) -> bool {
        self.frames.0.is_raised() || self.requests.0.is_raised()
    }
}

impl Driver {
    pub(super) fn new(
        frames: Option<Task>,
        requests: Client,
        queue: Arc<Queue>,
        link: Arc<Link>,
        ready: oneshot::Sender<()>,
        held: oneshot::Receiver<Infallible>,
    ) -> Driver {
        Driver {
            frames,
            requests: Some(requests),
            tasks: Tasks::new(queue.clone()),
            wakes: Wakes::new(&queue),
            queue,
            link,
            streams: NOT_TOLD,
            ready: Some(ready),
            held,
            linger: None,
            arriving: None,
        }
    }

    /// Prepares for another runtime. What the peer has said meanwhile is read before a request is
    /// sent there, and the runtime must look at the socket once to know of it.
    pub(super) fn depart(&mut self) {
        self.wakes.frames.0.raise();
        self.arriving = Some(Box::pin(tokio::task::yield_now()));
    }

    fn poll_arrival(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if let Some(arrival) = &mut self.arriving {
            if arrival.as_mut().poll(cx).is_pending() {
                self.poll_frames();
                return Poll::Pending;
            }
            self.arriving = None;
            self.wakes.frames.0.raise();
            self.poll_frames();
        }
        Poll::Ready(())
    }

    /// Reads and writes, if there may be something to; looks at what the peer has said.
    fn poll_frames(&mut self) {
        let Some(frames) = self.frames.as_mut().filter(|_| self.wakes.frames.0.take()) else {
            return;
        };
        let reads = self.link.begin_reading();
        let mut cx = Context::from_waker(&self.wakes.frames.1);
        if frames.as_mut().poll(&mut cx).is_ready() {
            self.frames = None;
        }
        if self.frames.is_none() || self.link.reads() != reads {
            self.wakes.requests.0.raise();
        }
    }

    /// Takes what was asked for, and looks at what the peer allows.
    fn poll_requests(&mut self) {
        if !self.wakes.requests.0.take() {
            return;
        }
        let Some(requests) = &mut self.requests else { return };
        match Pin::new(&mut *requests).poll(&mut Context::from_waker(&self.wakes.requests.1)) {
            Poll::Pending => {
                let streams = requests.current_max_send_streams();
                if streams != self.streams {
                    self.streams = streams;
                    self.link.set_streams(streams);
                    if let Some(ready) = self.ready.take() {
                        // The dial may have been given up.
                        let _ = ready.send(());
                    }
                }
            }
            Poll::Ready(end) => {
                // Told before the requests that were not sent yet are dropped.
                let told = match end {
                    // A goodbye, or the pool has dropped the connection and knows.
                    Ok(()) => self.frames.is_some().then_some(CloseReason::PeerAsked),
                    Err(error) => super::fault::close_reason(&error),
                };
                // After a goodbye h2 ends a connection without a request, and has no words for why.
                let found = || self.link.socket_end().unwrap_or(CloseReason::PeerAsked);
                self.link.retire(told.unwrap_or_else(found));
                self.requests = None;
            }
        }
    }

    /// Ready when the goodbye of a connection that nobody has takes too long.
    fn poll_linger(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.requests.is_some() {
            return Poll::Pending;
        }
        if self.linger.is_none() && Pin::new(&mut self.held).poll(cx).is_ready() {
            self.linger = Some(Clock::new(self.link.clone()).sleep(LINGER));
        }
        match &mut self.linger {
            None => Poll::Pending,
            Some(linger) => linger.as_mut().poll(cx),
        }
    }
}

impl Future for Driver {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.queue.hold();
        if self.poll_arrival(cx).is_pending() {
            return Poll::Pending;
        }
        for _ in 0..ROUNDS {
            self.poll_requests();
            self.tasks.run();
            self.poll_frames();
            self.poll_requests();
            self.tasks.run();
            if self.frames.is_none() || self.poll_linger(cx).is_ready() {
                return Poll::Ready(());
            }
            if self.queue.rest(cx.waker(), || self.wakes.any()) {
                return Poll::Pending;
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

impl Drop for Driver {
    /// Also when the runtime drops the task: nobody else would tell the pool.
    fn drop(&mut self) {
        self.link.retire(CloseReason::ClosedByPeer);
    }
}
