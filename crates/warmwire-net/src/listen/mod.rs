//! Listening for RPC peers.

mod peer;
mod tls;
mod unix;

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, UnixListener};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::{Endpoint, Socket, SocketOptions};

pub use peer::{Credentials, Peer};
pub use tls::ServerTls;

/// How long accepting rests when the process or the system has no file descriptor left: others
/// are given up sooner than that, and to ask again at once would only keep a core busy.
const OUT_OF_FILES: Duration = Duration::from_millis(50);

/// How a listener behaves.
#[derive(Clone, Debug)]
pub struct ListenOptions {
    mode: Option<u32>,
    allowed_uids: Option<Vec<u32>>,
    backlog: u32,
    tls: Option<ServerTls>,
}

impl Default for ListenOptions {
    fn default() -> ListenOptions {
        ListenOptions { mode: None, allowed_uids: None, backlog: 1024, tls: None }
    }
}

impl ListenOptions {
    /// The mode of a Unix socket's file, such as `0o660`; set before the socket can be connected
    /// to. Default: what the process's umask leaves.
    #[must_use]
    pub fn mode(mut self, mode: u32) -> ListenOptions {
        self.mode = Some(mode);
        self
    }

    /// Who may connect to a Unix socket, by the user id that the kernel tells. Others are dropped
    /// before a byte of theirs is read. Default: whom the file's mode lets.
    #[must_use]
    pub fn allowed_uids(mut self, uids: impl IntoIterator<Item = u32>) -> ListenOptions {
        self.allowed_uids = Some(uids.into_iter().collect());
        self
    }

    /// Connections that the kernel may hold until they are accepted. Default 1024; the system has a
    /// limit of its own (`net.core.somaxconn` on Linux).
    #[must_use]
    pub fn backlog(mut self, connections: u32) -> ListenOptions {
        self.backlog = connections;
        self
    }

    /// The certificate and the rules of `tls://` endpoints.
    #[must_use]
    pub fn tls(mut self, tls: ServerTls) -> ListenOptions {
        self.tls = Some(tls);
        self
    }
}

/// Listens on an [`Endpoint`].
///
/// Dropped, it stops listening and removes the file of its Unix socket.
#[derive(Debug)]
pub struct Listener {
    source: Source,
    endpoint: Endpoint,
    options: ListenOptions,
}

#[derive(Debug)]
enum Source {
    Tcp(TcpListener),
    Unix(UnixListener, #[expect(dead_code, reason = "held for its Drop")] Option<unix::File>),
}

impl Listener {
    /// Listens on `endpoint`.
    ///
    /// The file of a Unix socket that nobody listens on any more is replaced; see
    /// [`ListenOptions`] for who may connect.
    ///
    /// # Errors
    ///
    /// What the system says, with the endpoint's name before it. `AddrInUse` for a Unix socket on
    /// which somebody listens, `AlreadyExists` where another kind of file is in its place,
    /// `InvalidInput` for `tls://` without a certificate.
    pub async fn bind(endpoint: &Endpoint, options: &ListenOptions) -> io::Result<Listener> {
        let named = |error: io::Error| io::Error::new(error.kind(), format!("{endpoint}: {error}"));
        let (source, endpoint) = open(endpoint, options).await.map_err(named)?;
        Ok(Listener { source, endpoint, options: options.clone() })
    }

    /// Where it listens, with the port that the system chose.
    pub fn local_endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Waits for the next peer.
    ///
    /// Goes on after what concerns one peer only, and after a pause where there is no file
    /// descriptor left.
    ///
    /// # Errors
    ///
    /// Where the listening socket itself has failed.
    ///
    /// # Cancel safety
    ///
    /// No peer is lost when the future is dropped.
    pub async fn accept(&self) -> io::Result<Accepted> {
        loop {
            match self.accept_one().await {
                Ok(Some(accepted)) => return Ok(accepted),
                Ok(None) => {}
                Err(error) if is_of_one_peer(&error) => {}
                Err(error) if is_out_of_files(&error) => tokio::time::sleep(OUT_OF_FILES).await,
                Err(error) => return Err(error),
            }
        }
    }

    async fn accept_one(&self) -> io::Result<Option<Accepted>> {
        match &self.source {
            Source::Tcp(listener) => {
                let (stream, address) = listener.accept().await?;
                // A peer that is gone already shows when it is read from.
                let _ = SocketOptions::default().apply(&stream);
                let tls = match (&self.endpoint, &self.options.tls) {
                    (Endpoint::Tls { .. }, Some(tls)) => Some(tls.acceptor()),
                    _ => None,
                };
                let peer = Peer { address: Some(address), ..Peer::default() };
                Ok(Some(Accepted { socket: Socket::Tcp(stream), tls, peer }))
            }
            Source::Unix(listener, _) => {
                let (stream, _) = listener.accept().await?;
                let credentials = peer::credentials(&stream)?;
                let allowed = self.options.allowed_uids.as_ref();
                if allowed.is_some_and(|uids| !uids.contains(&credentials.uid)) {
                    return Ok(None);
                }
                let peer = Peer { credentials: Some(credentials), ..Peer::default() };
                Ok(Some(Accepted { socket: Socket::Unix(stream), tls: None, peer }))
            }
        }
    }
}

async fn open(endpoint: &Endpoint, options: &ListenOptions) -> io::Result<(Source, Endpoint)> {
    match endpoint {
        Endpoint::Tcp { host, port } => {
            let (listener, port) = open_tcp(host, *port, options).await?;
            Ok((Source::Tcp(listener), Endpoint::Tcp { host: host.clone(), port }))
        }
        Endpoint::Tls { host, port } => {
            let Some(tls) = &options.tls else {
                let text = "a certificate is missing: give one by ListenOptions::tls";
                return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
            };
            tls.check()?;
            let (listener, port) = open_tcp(host, *port, options).await?;
            Ok((Source::Tcp(listener), Endpoint::Tls { host: host.clone(), port }))
        }
        Endpoint::Unix(path) => {
            let (listener, file) = unix::File::bind(path, options.mode, options.backlog)?;
            Ok((Source::Unix(listener, Some(file)), endpoint.clone()))
        }
        Endpoint::Abstract(name) => {
            let listener = unix::bind_abstract(name, options.backlog)?;
            Ok((Source::Unix(listener, None), endpoint.clone()))
        }
    }
}

async fn open_tcp(
    host: &str,
    port: u16,
    options: &ListenOptions,
) -> io::Result<(TcpListener, u16)> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for address in tokio::net::lookup_host((host, port)).await? {
        match unix::listen_tcp(address, options.backlog) {
            Ok(listener) => {
                let port = listener.local_addr()?.port();
                return Ok((listener, port));
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Errors of `accept` that are the connection's and not the listener's (`man 2 accept`).
fn is_of_one_peer(error: &io::Error) -> bool {
    use io::ErrorKind::{
        ConnectionAborted, ConnectionReset, HostUnreachable, Interrupted, NetworkDown,
        NetworkUnreachable, PermissionDenied, TimedOut,
    };
    matches!(
        error.kind(),
        ConnectionAborted
            | ConnectionReset
            | HostUnreachable
            | Interrupted
            | NetworkDown
            | NetworkUnreachable
            | PermissionDenied
            | TimedOut
    )
}

/// EMFILE, ENFILE, ENOBUFS, ENOMEM: the numbers are those of Linux and, but for ENOBUFS, of the
/// BSDs; the standard library has no names for the first two.
fn is_out_of_files(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(23 | 24 | 12 | 105 | 55))
}

/// A peer that has connected.
pub struct Accepted {
    socket: Socket,
    tls: Option<TlsAcceptor>,
    peer: Peer,
}

impl Accepted {
    /// Who it is, as far as the kernel knows.
    pub fn peer(&self) -> &Peer {
        &self.peer
    }

    /// The peer's stream: at once, or after the TLS handshake.
    ///
    /// A future of its own, so that a slow peer keeps nobody else from being accepted.
    ///
    /// # Errors
    ///
    /// What the handshake fails with, or that it took longer than `timeout`.
    pub async fn handshake(self, timeout: Duration) -> io::Result<(ServerStream, Peer)> {
        let Accepted { socket, tls, mut peer } = self;
        let Some(tls) = tls else {
            return Ok((ServerStream::Plain(socket), peer));
        };
        let stream = match tokio::time::timeout(timeout, tls.accept(socket)).await {
            Ok(stream) => stream?,
            Err(_) => {
                let text = format!("no TLS handshake within {timeout:?}");
                return Err(io::Error::new(io::ErrorKind::TimedOut, text));
            }
        };
        let certificates = stream.get_ref().1.peer_certificates().unwrap_or_default();
        peer.certificates = certificates.iter().map(|one| one.to_vec()).collect();
        Ok((ServerStream::Tls(Box::new(stream)), peer))
    }
}

/// The stream of a peer that was accepted.
pub enum ServerStream {
    /// Without TLS.
    Plain(Socket),
    /// With TLS.
    Tls(Box<TlsStream<Socket>>),
}

macro_rules! on_stream {
    ($self:expr, $stream:ident => $call:expr) => {
        match $self.get_mut() {
            ServerStream::Plain($stream) => $call,
            ServerStream::Tls($stream) => $call,
        }
    };
}

impl AsyncRead for ServerStream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        on_stream!(self, stream => Pin::new(stream).poll_read(cx, buffer))
    }
}

impl AsyncWrite for ServerStream {
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
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        on_stream!(self, stream => Pin::new(stream).poll_write_vectored(cx, pieces))
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            ServerStream::Plain(stream) => stream.is_write_vectored(),
            ServerStream::Tls(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        on_stream!(self, stream => Pin::new(stream).poll_flush(cx))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        on_stream!(self, stream => Pin::new(stream).poll_shutdown(cx))
    }
}
