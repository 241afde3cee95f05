//! Runs a connection on a task of its own.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use hyper::client::conn::http2::Connection;
use hyper::rt::Executor;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::oneshot;
use warmwire_pool::CloseReason;

use super::connection::Link;
use super::outgoing::Outgoing;

type Task = Pin<Box<dyn Future<Output = ()> + Send>>;
pub(super) type Client = Connection<TokioIo<Watched>, Outgoing, Spawner>;

/// What h2 believes the peer allows before it has said so: tells that no SETTINGS have come.
pub(super) const NOT_TOLD: usize = 0;

/// hyper splits a connection into a task for its frames, which it hands to the executor, and one
/// that takes requests. Both run here as one: so a change of the peer's settings, or its goodbye, is
/// seen in the moment in which its frame was read, and a request costs one wake and not two.
pub(super) struct Driver {
    frames: Option<Task>,
    requests: Option<Client>,
    link: Arc<Link>,
    streams: usize,
    ready: Option<oneshot::Sender<()>>,
}

impl Driver {
    pub(super) fn new(
        frames: Option<Task>,
        requests: Client,
        link: Arc<Link>,
        ready: oneshot::Sender<()>,
    ) -> Driver {
        let (requests, ready) = (Some(requests), Some(ready));
        Driver { frames, requests, link, streams: NOT_TOLD, ready }
    }

    /// Takes what was asked for, and looks at what the peer has said.
    fn poll_requests(&mut self, cx: &mut Context<'_>) {
        let Some(requests) = &mut self.requests else { return };
        match Pin::new(&mut *requests).poll(cx) {
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
                self.requests = None;
                self.link.retire(match end {
                    // A goodbye, or the pool has dropped the connection and knows.
                    Ok(()) if self.frames.is_some() => CloseReason::PeerAsked,
                    Ok(()) => CloseReason::ClosedByPeer,
                    Err(error) => super::fault::close_reason(&error),
                });
            }
        }
    }
}

impl Future for Driver {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.poll_requests(cx);
        let reads = self.link.reads();
        if let Some(frames) = &mut self.frames
            && frames.as_mut().poll(cx).is_ready()
        {
            self.frames = None;
        }
        if self.frames.is_none() || self.link.reads() != reads {
            self.poll_requests(cx);
        }
        match self.frames {
            None => Poll::Ready(()),
            Some(_) => Poll::Pending,
        }
    }
}

impl Drop for Driver {
    /// Also when the runtime drops the task: nobody else would tell the pool.
    fn drop(&mut self) {
        self.link.retire(CloseReason::ClosedByPeer);
    }
}

/// Keeps the first task that hyper hands over for the [`Driver`] and spawns the others, which are
/// one for each request.
#[derive(Clone, Default)]
pub(super) struct Spawner(Arc<Mutex<First>>);

#[derive(Default)]
enum First {
    #[default]
    Awaited,
    Kept(Task),
    Taken,
}

impl Spawner {
    pub(super) fn take_first(&self) -> Option<Task> {
        let mut first = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match std::mem::replace(&mut *first, First::Taken) {
            First::Kept(task) => Some(task),
            First::Awaited | First::Taken => None,
        }
    }
}

impl<F> Executor<F> for Spawner
where
    F: Future<Output = ()> + Send + 'static,
{
    fn execute(&self, future: F) {
        let mut first = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match *first {
            First::Awaited => *first = First::Kept(Box::pin(future)),
            First::Kept(_) | First::Taken => {
                tokio::spawn(future);
            }
        }
    }
}

/// A stream that counts its reads.
pub(super) struct Watched {
    stream: warmwire_net::Stream,
    link: Arc<Link>,
}

impl Watched {
    pub(super) fn new(stream: warmwire_net::Stream, link: Arc<Link>) -> Watched {
        Watched { stream, link }
    }
}

impl AsyncRead for Watched {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = ready!(Pin::new(&mut self.stream).poll_read(cx, buffer));
        self.link.count_read();
        Poll::Ready(read)
    }
}

impl AsyncWrite for Watched {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
