//! The agent's end of a connection: a pipe that can also be reset.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf};

/// The two ends of a connection that holds `capacity` bytes each way.
pub(super) fn pipe(capacity: usize) -> (ClientEnd, ServerEnd) {
    let (client, server) = tokio::io::duplex(capacity);
    let reset = Arc::new(AtomicBool::new(false));
    (ClientEnd { stream: client, reset: reset.clone() }, ServerEnd { stream: server, reset })
}

/// The mock's end.
pub(super) struct ServerEnd {
    pub(super) stream: DuplexStream,
    reset: Arc<AtomicBool>,
}

impl ServerEnd {
    /// Closes so that the other end sees a reset in place of an end of file.
    pub(super) fn reset(self) {
        self.reset.store(true, Ordering::Release);
    }
}

/// The agent's end.
pub(super) struct ClientEnd {
    stream: DuplexStream,
    reset: Arc<AtomicBool>,
}

impl ClientEnd {
    fn is_reset(&self) -> bool {
        self.reset.load(Ordering::Acquire)
    }
}

impl AsyncRead for ClientEnd {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, buffer))?;
        let ended = buffer.filled().len() == before && buffer.remaining() > 0;
        match ended && self.is_reset() {
            true => Poll::Ready(Err(io::ErrorKind::ConnectionReset.into())),
            false => Poll::Ready(Ok(())),
        }
    }
}

impl AsyncWrite for ClientEnd {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.stream).poll_write(cx, bytes));
        Poll::Ready(written.map_err(|error| match self.is_reset() {
            true => io::ErrorKind::ConnectionReset.into(),
            false => error,
        }))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
