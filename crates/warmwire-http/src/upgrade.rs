//! Connections on which something else than HTTP is spoken from now on.

use std::fmt;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Buf, Bytes};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use warmwire_net::Stream;

use crate::conn::Conn;

/// A connection whose server has switched to another protocol (`101`), as bytes in both directions.
///
/// It is the caller's: it has left the pool, where it counts as closed
/// ([`CloseReason::Upgraded`](crate::CloseReason::Upgraded)) and against no limit, and it never
/// comes back. Dropping it closes it; with TLS,
/// [`shutdown`](tokio::io::AsyncWriteExt::shutdown) says so to the other end first.
///
/// It belongs to the runtime on which its response was awaited.
pub struct Upgraded {
    /// What was read past the response's head.
    ahead: Bytes,
    stream: Stream,
}

impl Upgraded {
    pub(crate) fn new(conn: Conn) -> Upgraded {
        let Conn { stream, mut wire, .. } = conn;
        Upgraded { ahead: wire.exchange.take_leftover(), stream }
    }
}

impl fmt::Debug for Upgraded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Upgraded").field("ahead", &self.ahead.len()).finish_non_exhaustive()
    }
}

impl AsyncRead for Upgraded {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.ahead.is_empty() {
            return Pin::new(&mut self.stream).poll_read(cx, buffer);
        }
        let length = self.ahead.len().min(buffer.remaining());
        buffer.put_slice(&self.ahead[..length]);
        self.ahead.advance(length);
        if self.ahead.is_empty() {
            // Gives the memory back, which may be that of a larger read.
            self.ahead = Bytes::new();
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Upgraded {
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
        pieces: &[IoSlice<'_>],
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
