//! The child process: accepts, counts, and answers its parent's questions.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::Context;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use super::relay;
use super::service::Service;
use super::tls;
use super::{Counts, Hello, ServerConfig};
use crate::timer::PreciseTimer;

/// Serves until standard input ends.
///
/// # Errors
/// When no port of loopback can be listened on, or the parent cannot be told.
pub(crate) fn run(config: ServerConfig) -> anyhow::Result<()> {
    // One core stays with the client that is measured.
    let workers = std::thread::available_parallelism()
        .map_or(1, |cores| cores.get().saturating_sub(1).max(1));
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(workers)
        .enable_all()
        .build()
        .context("cannot start the server's runtime")?;
    let result = runtime.block_on(serve(config));
    // The thread that reads standard input cannot be interrupted.
    runtime.shutdown_background();
    result
}

async fn serve(config: ServerConfig) -> anyhow::Result<()> {
    let listener =
        TcpListener::bind(("127.0.0.1", 0)).await.context("cannot listen on 127.0.0.1")?;
    let timer = PreciseTimer::start().context("cannot start the timer's thread")?;
    let protocol: &[u8] = if config.http2 { b"h2" } else { b"http/1.1" };
    let (acceptor, certificate_pem) = match config.tls {
        Some(version) => {
            let (acceptor, pem) = tls::acceptor(version, protocol)?;
            (Some(acceptor), Some(pem))
        }
        None => (None, None),
    };
    tell(&Hello { port: listener.local_addr()?.port(), certificate_pem })?;

    let counters = Arc::new(Counters::default());
    let service = Service::new(&config, timer.clone(), Arc::clone(&counters))?;
    let connections =
        Connections { config, timer, acceptor, service, counters: Arc::clone(&counters) };
    tokio::spawn(connections.accept_all(listener));

    let mut questions = BufReader::new(tokio::io::stdin()).lines();
    while questions.next_line().await?.is_some() {
        tell(&counters.snapshot())?;
    }
    Ok(())
}

/// Writes one line to the parent.
fn tell(message: &impl serde::Serialize) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    serde_json::to_writer(&mut out, message)?;
    out.write_all(b"\n")?;
    out.flush().context("the parent has gone")
}

/// Live counters, of which [`Counts`] is a snapshot.
#[derive(Default)]
pub(super) struct Counters {
    accepted: AtomicU64,
    pub(super) requests: AtomicU64,
    open: AtomicU64,
    peak_open: AtomicU64,
}

impl Counters {
    fn snapshot(&self) -> Counts {
        let open = self.open.load(Ordering::Relaxed);
        Counts {
            accepted: self.accepted.load(Ordering::Relaxed),
            requests: self.requests.load(Ordering::Relaxed),
            open,
            peak_open: self.peak_open.swap(open, Ordering::Relaxed),
        }
    }

    fn opened(self: &Arc<Self>) -> Open {
        self.accepted.fetch_add(1, Ordering::Relaxed);
        let open = self.open.fetch_add(1, Ordering::Relaxed) + 1;
        self.peak_open.fetch_max(open, Ordering::Relaxed);
        Open(Arc::clone(self))
    }
}

/// One open connection in the counters.
struct Open(Arc<Counters>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}

#[derive(Clone)]
struct Connections {
    config: ServerConfig,
    timer: PreciseTimer,
    acceptor: Option<TlsAcceptor>,
    service: Service,
    counters: Arc<Counters>,
}

impl Connections {
    async fn accept_all(self, listener: TcpListener) {
        loop {
            // Too many open files and the like pass when a connection closes; the client sees a
            // connect that waits, which is what a real server would show it.
            let Ok((stream, _)) = listener.accept().await else {
                self.timer.sleep(std::time::Duration::from_millis(5)).await;
                continue;
            };
            let open = self.counters.opened();
            let this = self.clone();
            tokio::spawn(async move {
                // A failed connection is the client's to report: it is the one who is measured.
                let _ = this.serve(stream).await;
                drop(open);
            });
        }
    }

    async fn serve(&self, stream: TcpStream) -> anyhow::Result<()> {
        stream.set_nodelay(true)?;
        if self.config.rtt.is_zero() {
            self.secure(stream).await
        } else {
            let late = self.config.rtt / 2;
            let far = relay::late_by(late, stream, self.timer.clone());
            // A server hears of a connection when the last packet of TCP's handshake has come.
            // What it says unasked, such as HTTP/2's settings, goes out no earlier.
            self.timer.sleep(late).await;
            self.secure(far).await
        }
    }

    async fn secure(
        &self,
        stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    ) -> anyhow::Result<()> {
        match &self.acceptor {
            Some(acceptor) => self.service.serve(acceptor.accept(stream).await?).await,
            None => self.service.serve(stream).await,
        }
    }
}
