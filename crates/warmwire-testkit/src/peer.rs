//! The server's end of one connection, as a script uses it.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};

use crate::counts::Tally;
use crate::gate::Gate;
use crate::request::{Request, fields};
use crate::response::ok;
use crate::transport::Transport;

/// The server's end of one connection. Dropping it closes it, with FIN.
///
/// Where the client has gone, reads end and writes do nothing: scripts are about what the client
/// does next, and tests find out from the [`Counts`](crate::Counts).
pub struct Peer {
    transport: Transport,
    buffer: BytesMut,
    number: usize,
    early: usize,
    open: Open,
}

/// Counts the connection as open while it lives.
struct Open(Tally);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.closed();
    }
}

/// See [`Peer::into_stream`].
struct Wrapped {
    transport: Transport,
    _open: Open,
}

impl AsyncRead for Wrapped {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.transport).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Wrapped {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.transport).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.transport).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.transport).poll_shutdown(cx)
    }
}

impl Peer {
    pub(crate) fn new(transport: Transport, number: usize, tally: Tally) -> Peer {
        Peer { transport, buffer: BytesMut::new(), number, early: 0, open: Open(tally) }
    }

    /// The same connection on another transport, or none.
    pub(crate) async fn upgrade(
        self,
        change: impl AsyncFnOnce(Transport) -> Option<Transport>,
    ) -> Option<Peer> {
        let Peer { transport, mut buffer, number, open, .. } = self;
        let mut transport = change(transport).await?;
        let early = transport.take_early_data(&mut buffer);
        Some(Peer { transport, buffer, number, early, open })
    }

    /// How many bytes came within the TLS handshake.
    pub fn early_data(&self) -> usize {
        self.early
    }

    /// The connection as a stream, for a server that speaks something else than HTTP/1.1. It counts
    /// as open until it is dropped.
    pub fn into_stream(self) -> impl AsyncRead + AsyncWrite + Send + Unpin + 'static {
        Wrapped { transport: self.transport, _open: self.open }
    }

    /// The connection's number, from 0 in the order of their accept.
    pub fn number(&self) -> usize {
        self.number
    }

    /// The name that the client sent in its TLS handshake (SNI).
    pub fn server_name(&self) -> Option<&str> {
        match &self.transport {
            Transport::Tls(tls) => tls.get_ref().1.server_name(),
            _ => None,
        }
    }

    /// Whether the client has shown a certificate.
    pub fn has_client_certificate(&self) -> bool {
        match &self.transport {
            Transport::Tls(tls) => tls.get_ref().1.peer_certificates().is_some(),
            _ => false,
        }
    }

    /// The next request with its body; `None` when the client has closed.
    pub async fn request(&mut self) -> Option<Request> {
        let mut request = self.head().await?;
        self.body(&mut request).await?;
        Some(request)
    }

    /// The head of the next request; `None` when the client has closed.
    pub async fn head(&mut self) -> Option<Request> {
        let head = self.through(b"\r\n\r\n").await?;
        let head = String::from_utf8_lossy(&head);
        let mut request = Request::parse(self.number, &head);
        request.place = self.open.0.request(&request);
        Some(request)
    }

    /// Reads the body of a request whose head was read; `None` when the client closed before its
    /// end.
    pub async fn body(&mut self, request: &mut Request) -> Option<()> {
        if request.is_chunked() {
            let mut all = BytesMut::new();
            while let Some(chunk) = Some(self.chunk().await?).filter(|chunk| !chunk.is_empty()) {
                all.extend_from_slice(&chunk);
            }
            request.body = all.freeze();
            request.trailers = self.trailers().await?;
        } else {
            request.body = self.exactly(request.content_length()).await?;
        }
        self.open.0.body(request.place, &request.body);
        Some(())
    }

    /// One chunk of a chunked body, empty at the end; `None` when the client has closed.
    pub async fn chunk(&mut self) -> Option<Bytes> {
        let line = self.through(b"\r\n").await?;
        let size = String::from_utf8_lossy(&line[..line.len() - 2]).into_owned();
        let size = usize::from_str_radix(&size, 16).expect("a chunk begins with its size");
        if size == 0 {
            return Some(Bytes::new());
        }
        let data = self.exactly(size).await?;
        let end = self.exactly(2).await?;
        assert_eq!(&end[..], b"\r\n", "a chunk ends with a line end");
        Some(data)
    }

    async fn trailers(&mut self) -> Option<Vec<(String, String)>> {
        let mut trailers = Vec::new();
        loop {
            let line = self.through(b"\r\n").await?;
            if line.len() == 2 {
                return Some(trailers);
            }
            trailers.extend(fields(&String::from_utf8_lossy(&line)));
        }
    }

    /// The next `n` bytes; `None` when the client closed before.
    pub async fn exactly(&mut self, n: usize) -> Option<Bytes> {
        while self.buffer.len() < n {
            self.read().await?;
        }
        Some(self.buffer.split_to(n).freeze())
    }

    pub(crate) async fn through(&mut self, end: &[u8]) -> Option<Bytes> {
        let mut looked_at = 0;
        loop {
            let found = self.buffer[looked_at..].windows(end.len()).position(|bytes| bytes == end);
            if let Some(at) = found {
                return Some(self.buffer.split_to(looked_at + at + end.len()).freeze());
            }
            looked_at = self.buffer.len().saturating_sub(end.len() - 1);
            self.read().await?;
        }
    }

    async fn read(&mut self) -> Option<()> {
        match self.transport.read_buf(&mut self.buffer).await {
            Ok(n) if n > 0 => Some(()),
            _ => None,
        }
    }

    /// Sends these bytes.
    pub async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        if self.transport.write_all(bytes.as_ref()).await.is_ok() {
            let _ = self.transport.flush().await;
        }
    }

    /// Closes the sending side, with FIN, and goes on reading.
    pub async fn finish(&mut self) {
        let _ = self.transport.shutdown().await;
    }

    /// Closes with RST (with FIN where the transport knows no reset).
    pub fn reset(self) {
        self.transport.reset_on_close();
    }

    /// Passes bytes on to and from `far`, until both sides have ended.
    pub async fn relay(mut self, mut far: impl AsyncRead + AsyncWrite + Unpin) {
        if far.write_all(&self.buffer.split()).await.is_ok() {
            // Either side may go when it likes.
            let _ = tokio::io::copy_bidirectional(&mut self.transport, &mut far).await;
        }
    }

    /// Reads until the client closes, and gives what came.
    pub async fn until_closed(&mut self) -> Bytes {
        while self.read().await.is_some() {}
        self.buffer.split().freeze()
    }

    /// Answers every request with what `answer` makes of it, until the client closes.
    pub async fn serve(mut self, mut answer: impl FnMut(&Request) -> Vec<u8>) {
        while let Some(request) = self.request().await {
            let reply = answer(&request);
            self.send(reply).await;
        }
    }

    /// Answers every request with its own target, until the client closes.
    pub async fn echo_targets(self) {
        self.serve(|request| ok(&request.target)).await;
    }

    /// As [`echo_targets`](Self::echo_targets), each answer waiting at the gate.
    pub async fn echo_targets_at(mut self, gate: Gate) {
        while let Some(request) = self.request().await {
            gate.pass().await;
            self.send(ok(&request.target)).await;
        }
    }
}
