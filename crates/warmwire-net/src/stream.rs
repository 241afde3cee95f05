//! What bytes travel on: a TCP or Unix socket or a caller's own stream, with or without TLS.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use socket2::SockRef;
use sync_wrapper::SyncWrapper;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::client::TlsStream;

use crate::tls::{self, TlsInfo};

/// A caller's own byte stream, as a [`Connect`](crate::Connect) may return it.
pub trait Io: AsyncRead + AsyncWrite + Send + Unpin + 'static {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin + 'static> Io for T {}

/// A transport without TLS.
pub enum Socket {
    /// A TCP connection.
    Tcp(TcpStream),
    /// A Unix domain connection.
    Unix(UnixStream),
    /// A stream that a caller's connector made; it need not be `Sync`, what is built on it is.
    Custom(SyncWrapper<Box<dyn Io>>),
    /// TLS with a proxy, within which the way to the target is.
    Tls(Box<TlsStream<Socket>>),
    /// A socket that could not be moved to another runtime; every use is an error.
    Lost,
}

/// One connection's byte stream.
pub enum Stream {
    /// Without TLS.
    Plain(Socket),
    /// With TLS. Boxed: the session is over a kilobyte, and most of the code moves the enum.
    Tls(Box<TlsStream<Socket>>),
}

/// What a look at a connection that should be silent found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quiet {
    /// Nothing has come: the connection looks usable.
    Yes,
    /// The peer has closed its side.
    Closed,
    /// The connection was reset or broke in another way.
    Broken,
    /// Bytes that nobody asked for.
    Bytes,
}

impl Stream {
    /// Looks at a connection that should be silent, and leaves `cx`'s waker to be woken when that
    /// changes.
    ///
    /// Reads at most one byte of application data, so a connection for which this did not answer
    /// [`Quiet::Yes`] must be closed. TLS records without application data (session tickets, key
    /// updates) are processed and do not count as bytes.
    pub fn poll_quiet(&mut self, cx: &mut Context<'_>) -> Quiet {
        let mut byte = [0; 1];
        let mut buffer = ReadBuf::new(&mut byte);
        match Pin::new(self).poll_read(cx, &mut buffer) {
            Poll::Pending => Quiet::Yes,
            Poll::Ready(Ok(())) if buffer.filled().is_empty() => Quiet::Closed,
            Poll::Ready(Ok(())) => Quiet::Bytes,
            Poll::Ready(Err(error)) if error.kind() == io::ErrorKind::UnexpectedEof => {
                Quiet::Closed
            }
            Poll::Ready(Err(_)) => Quiet::Broken,
        }
    }

    /// Asks the kernel, past the runtime's cached readiness, whether anything has come.
    ///
    /// [`poll_quiet`](Self::poll_quiet) believes the runtime, which learns of a FIN only when its
    /// driver next runs: on a busy runtime that can be milliseconds after the kernel knew. This
    /// costs one system call. A [`Socket::Custom`] stream has no kernel to ask and is quiet.
    pub fn peek(&self) -> Quiet {
        self.socket().peek()
    }

    /// How many of the bytes that were sent the other end's TCP has not acknowledged. `None` for
    /// what is not TCP, and where the kernel does not tell: it is asked on Linux only.
    pub fn unacknowledged(&self) -> Option<u32> {
        self.socket().unacknowledged()
    }

    /// Whether bytes that have come may be TLS records without application data.
    pub fn is_tls(&self) -> bool {
        matches!(self, Stream::Tls(_) | Stream::Plain(Socket::Tls(_)))
    }

    /// Whether the TLS handshake is still under way. With early data a stream may be written to
    /// before its end, and reads wait for it.
    pub fn is_handshaking(&self) -> bool {
        match self {
            Stream::Plain(_) => false,
            Stream::Tls(tls) => tls.get_ref().1.is_handshaking(),
        }
    }

    /// Finishes a handshake that [is under way](Self::is_handshaking).
    ///
    /// # Errors
    ///
    /// What the handshake fails with.
    pub fn poll_handshake(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(self).poll_flush(cx)
    }

    /// What the handshake agreed on, if it is done.
    pub fn tls_info(&self) -> Option<TlsInfo> {
        match self {
            Stream::Tls(tls) if !self.is_handshaking() => Some(tls::info(tls)),
            _ => None,
        }
    }

    /// Registers the socket with the runtime that this is called on, in place of the one that it
    /// was opened on.
    ///
    /// # Errors
    ///
    /// What the operating system answers when the registration fails; the stream is
    /// [`Socket::Lost`] then.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime.
    pub fn move_to_this_runtime(&mut self) -> io::Result<()> {
        match self {
            Stream::Plain(socket) => socket.move_to_this_runtime(),
            Stream::Tls(tls) => tls.get_mut().0.move_to_this_runtime(),
        }
    }

    /// Whether [`move_to_this_runtime`](Self::move_to_this_runtime) does what it says: a
    /// [`Socket::Custom`] stream stays where its maker has put it.
    pub fn is_movable(&self) -> bool {
        self.socket().is_movable()
    }

    fn socket(&self) -> &Socket {
        match self {
            Stream::Plain(socket) => socket,
            Stream::Tls(tls) => tls.get_ref().0,
        }
    }
}

impl Socket {
    fn peek(&self) -> Quiet {
        let peeked = match self {
            Socket::Tcp(tcp) => peek(&SockRef::from(tcp)),
            Socket::Unix(unix) => peek(&SockRef::from(unix)),
            Socket::Tls(tls) => return tls.get_ref().0.peek(),
            Socket::Custom(_) => return Quiet::Yes,
            Socket::Lost => return Quiet::Broken,
        };
        match peeked {
            Ok(0) => Quiet::Closed,
            Ok(_) => Quiet::Bytes,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Quiet::Yes,
            Err(_) => Quiet::Broken,
        }
    }

    #[cfg(target_os = "linux")]
    fn unacknowledged(&self) -> Option<u32> {
        match self {
            Socket::Tcp(tcp) => {
                crate::diagnosis::unacknowledged(tcp.local_addr().ok()?, tcp.peer_addr().ok()?)
            }
            Socket::Tls(tls) => tls.get_ref().0.unacknowledged(),
            Socket::Unix(_) | Socket::Custom(_) | Socket::Lost => None,
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn unacknowledged(&self) -> Option<u32> {
        None
    }

    fn is_movable(&self) -> bool {
        match self {
            Socket::Tcp(_) | Socket::Unix(_) => true,
            Socket::Tls(tls) => tls.get_ref().0.is_movable(),
            Socket::Custom(_) | Socket::Lost => false,
        }
    }

    fn move_to_this_runtime(&mut self) -> io::Result<()> {
        if let Socket::Tls(tls) = self {
            return tls.get_mut().0.move_to_this_runtime();
        }
        *self = match std::mem::replace(self, Socket::Lost) {
            Socket::Tcp(tcp) => Socket::Tcp(TcpStream::from_std(tcp.into_std()?)?),
            Socket::Unix(unix) => Socket::Unix(UnixStream::from_std(unix.into_std()?)?),
            other => other,
        };
        Ok(())
    }
}

fn peek(socket: &SockRef<'_>) -> io::Result<usize> {
    socket.peek(&mut [std::mem::MaybeUninit::uninit(); 1])
}

fn lost() -> io::Error {
    io::Error::new(io::ErrorKind::NotConnected, "the socket left its runtime and was lost")
}

macro_rules! on_socket {
    ($self:expr, $socket:ident => $call:expr) => {
        match $self.get_mut() {
            Socket::Tcp($socket) => $call,
            Socket::Unix($socket) => $call,
            Socket::Tls($socket) => $call,
            Socket::Custom($socket) => {
                let $socket = $socket.get_mut();
                $call
            }
            Socket::Lost => Poll::Ready(Err(lost())),
        }
    };
}

impl AsyncRead for Socket {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        on_socket!(self, socket => Pin::new(socket).poll_read(cx, buffer))
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        on_socket!(self, socket => Pin::new(socket).poll_write(cx, bytes))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        on_socket!(self, socket => Pin::new(socket).poll_write_vectored(cx, pieces))
    }

    fn is_write_vectored(&self) -> bool {
        matches!(self, Socket::Tcp(_) | Socket::Unix(_))
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        on_socket!(self, socket => Pin::new(socket).poll_flush(cx))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        on_socket!(self, socket => Pin::new(socket).poll_shutdown(cx))
    }
}

macro_rules! on_stream {
    ($self:expr, $stream:ident => $call:expr) => {
        match $self.get_mut() {
            Stream::Plain($stream) => $call,
            Stream::Tls($stream) => $call,
        }
    };
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        on_stream!(self, stream => Pin::new(stream).poll_read(cx, buffer))
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        on_stream!(self, stream => Pin::new(stream).poll_write(cx, bytes))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        on_stream!(self, stream => Pin::new(stream).poll_write_vectored(cx, pieces))
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Stream::Plain(socket) => socket.is_write_vectored(),
            Stream::Tls(tls) => tls.is_write_vectored(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        on_stream!(self, stream => Pin::new(stream).poll_flush(cx))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        on_stream!(self, stream => Pin::new(stream).poll_shutdown(cx))
    }
}
