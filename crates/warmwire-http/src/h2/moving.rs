//! What of a connection is tied to a runtime, and goes along when the connection moves to another.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use hyper::rt::{Sleep, Timer};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::connection::Link;

/// A stream that counts its reads.
pub(super) struct Watched {
    stream: warmwire_net::Stream,
    link: Arc<Link>,
    /// Whether it knows that the connection has moved.
    away: bool,
}

impl Watched {
    pub(super) fn new(stream: warmwire_net::Stream, link: Arc<Link>) -> Watched {
        Watched { stream, link, away: false }
    }

    fn here(&mut self) -> io::Result<Pin<&mut warmwire_net::Stream>> {
        if self.away != self.link.home().is_away() {
            self.away = true;
            self.stream.move_to_this_runtime()?;
        }
        Ok(Pin::new(&mut self.stream))
    }
}

impl Watched {
    fn note<T>(&self, end: io::Result<T>) -> Poll<io::Result<T>> {
        Poll::Ready(end.inspect_err(|error| self.link.note_socket_end(Some(error))))
    }
}

impl AsyncRead for Watched {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = ready!(self.here()?.poll_read(cx, buffer));
        self.link.count_read();
        match &read {
            Err(error) => self.link.note_socket_end(Some(error)),
            Ok(()) if buffer.filled().len() == before => self.link.note_socket_end(None),
            Ok(()) => {}
        }
        Poll::Ready(read)
    }
}

impl AsyncWrite for Watched {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = ready!(self.here()?.poll_write(cx, bytes));
        self.note(written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = ready!(self.here()?.poll_write_vectored(cx, pieces));
        self.note(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.here()?.poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.here()?.poll_shutdown(cx)
    }
}

/// The timer of hyper's pings.
pub(super) struct Clock(Arc<Link>);

impl Clock {
    pub(super) fn new(link: Arc<Link>) -> Clock {
        Clock(link)
    }
}

impl Timer for Clock {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Sleep>> {
        self.sleep_until((tokio::time::Instant::now() + duration).into_std())
    }

    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn Sleep>> {
        Box::pin(Nap {
            link: self.0.clone(),
            away: self.0.home().is_away(),
            sleep: Box::pin(tokio::time::sleep_until(deadline.into())),
        })
    }

    fn now(&self) -> Instant {
        self.0.now()
    }
}

struct Nap {
    link: Arc<Link>,
    away: bool,
    sleep: Pin<Box<tokio::time::Sleep>>,
}

impl Future for Nap {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.away != self.link.home().is_away() {
            self.away = true;
            let deadline = self.sleep.deadline();
            self.sleep.set(tokio::time::sleep_until(deadline));
        }
        self.sleep.as_mut().poll(cx)
    }
}

impl Sleep for Nap {}
