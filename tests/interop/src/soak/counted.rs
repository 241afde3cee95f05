//! A connector that knows exactly how many connections are open, which the kernel's table does not
//! tell while they come and go.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use warmwire::http::{BoxFuture, Connect, ConnectTarget, Io};

/// How many places are taken, and how many ever were at once.
#[derive(Default)]
pub(super) struct Gauge {
    taken: AtomicUsize,
    most: AtomicUsize,
}

impl Gauge {
    fn take(self: &Arc<Gauge>) -> Place {
        let taken = self.taken.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(taken, Ordering::SeqCst);
        Place(self.clone())
    }

    pub(super) fn most(&self) -> usize {
        self.most.load(Ordering::SeqCst)
    }

    pub(super) fn taken(&self) -> usize {
        self.taken.load(Ordering::SeqCst)
    }
}

/// Taken from before the connect until after the close.
struct Place(Arc<Gauge>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.taken.fetch_sub(1, Ordering::SeqCst);
    }
}

/// The gauges of a soak: one of each server, and one of all.
#[derive(Clone, Default)]
pub(super) struct Gauges {
    pub(super) of: Vec<(SocketAddr, Arc<Gauge>)>,
    pub(super) all: Arc<Gauge>,
}

impl Gauges {
    pub(super) fn new(servers: &[SocketAddr]) -> Gauges {
        let of = servers.iter().map(|server| (*server, Arc::default())).collect();
        Gauges { of, all: Arc::default() }
    }

    fn places(&self, server: SocketAddr) -> Vec<Place> {
        let own = self.of.iter().find(|(address, _)| *address == server);
        own.map(|(_, gauge)| gauge).into_iter().chain([&self.all]).map(Gauge::take).collect()
    }
}

impl Connect for Gauges {
    fn connect(&self, target: ConnectTarget) -> BoxFuture<'static, io::Result<Box<dyn Io>>> {
        let gauges = self.clone();
        Box::pin(async move {
            let server = target.address();
            let places = gauges.places(server);
            let stream = TcpStream::connect(server).await?;
            stream.set_nodelay(true)?;
            Ok(Box::new(Counted { stream, _places: places }) as Box<dyn Io>)
        })
    }
}

/// The socket is closed before the places go: fields drop in order.
struct Counted {
    stream: TcpStream,
    _places: Vec<Place>,
}

impl AsyncRead for Counted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Counted {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
