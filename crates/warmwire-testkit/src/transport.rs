//! The streams that a server speaks on.

use std::io::{self, Read as _};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::BytesMut;
use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::server::TlsStream;

pub(crate) enum Transport {
    Tcp(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
    Unix(UnixStream),
    Memory(DuplexStream),
}

impl Transport {
    /// Takes what has come within the TLS handshake, and says how much.
    pub(crate) fn take_early_data(&mut self, into: &mut BytesMut) -> usize {
        let Transport::Tls(tls) = self else { return 0 };
        let mut early = Vec::new();
        if let Some(mut data) = tls.get_mut().1.early_data() {
            // What has come is in memory: reading it cannot fail.
            let _ = data.read_to_end(&mut early);
        }
        into.extend_from_slice(&early);
        early.len()
    }

    /// Makes the close to come a reset: the kernel drops what is unsent and sends RST.
    pub(crate) fn reset_on_close(&self) {
        let socket = match self {
            Transport::Tcp(tcp) => SockRef::from(tcp),
            Transport::Tls(tls) => SockRef::from(tls.get_ref().0),
            Transport::Unix(_) | Transport::Memory(_) => return,
        };
        socket.set_linger(Some(Duration::ZERO)).expect("a TCP socket can linger");
    }
}

macro_rules! on_transport {
    ($self:expr, $stream:ident => $call:expr) => {
        match $self.get_mut() {
            Transport::Tcp($stream) => $call,
            Transport::Tls($stream) => $call,
            Transport::Unix($stream) => $call,
            Transport::Memory($stream) => $call,
        }
    };
}

impl AsyncRead for Transport {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        on_transport!(self, stream => Pin::new(stream).poll_read(cx, buffer))
    }
}

impl AsyncWrite for Transport {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        on_transport!(self, stream => Pin::new(stream).poll_write(cx, bytes))
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        on_transport!(self, stream => Pin::new(stream).poll_flush(cx))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        on_transport!(self, stream => Pin::new(stream).poll_shutdown(cx))
    }
}
