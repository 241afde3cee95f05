//! Listens, runs a script for each connection, and counts.

use std::net::SocketAddr;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;

use rustls::{HandshakeKind, ServerConfig};
use tokio::io::DuplexStream;
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinError, JoinSet};
use tokio_rustls::TlsAcceptor;

use crate::counts::{Counts, Tally};
use crate::guard::GUARD;
use crate::peer::Peer;
use crate::transport::Transport;

type Script = Arc<dyn Fn(Peer) -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync>;

/// A scripted server, on the runtime that it was started on. Dropping it ends its connections.
pub struct Server {
    address: Option<SocketAddr>,
    dialer: Option<Dialer>,
    tally: Tally,
    tls: bool,
    accepting: AbortHandle,
}

/// How a server speaks TLS; see [`Certificates`](crate::Certificates) for how to make one.
#[derive(Clone)]
pub struct ServerTls(pub(crate) Arc<ServerConfig>);

impl ServerTls {
    /// Agrees to these protocols by ALPN, in the order of preference.
    #[must_use]
    pub fn alpn(&self, protocols: &[&str]) -> ServerTls {
        let mut config = ServerConfig::clone(&self.0);
        config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
        ServerTls(Arc::new(config))
    }
}

/// Opens connections to a [`Server::memory`].
#[derive(Clone)]
pub struct Dialer(mpsc::UnboundedSender<DuplexStream>);

impl Dialer {
    /// The client's end of a new connection, which holds 64 KiB in each direction.
    pub fn dial(&self) -> DuplexStream {
        let (client, server) = tokio::io::duplex(64 * 1024);
        // A server that is gone reads as a connection that is closed at once.
        let _ = self.0.send(server);
        client
    }
}

enum Source {
    Tcp(TcpListener, Option<ServerTls>),
    Unix(UnixListener),
    Memory(mpsc::UnboundedReceiver<DuplexStream>),
}

impl Server {
    /// On a free TCP port of 127.0.0.1.
    pub async fn tcp<F>(script: impl Fn(Peer) -> F + Send + Sync + 'static) -> Server
    where
        F: Future<Output = ()> + Send + 'static,
    {
        Server::on("127.0.0.1:0", None, script).await
    }

    /// As [`tcp`](Self::tcp), with TLS.
    pub async fn tls<F>(
        tls: ServerTls,
        script: impl Fn(Peer) -> F + Send + Sync + 'static,
    ) -> Server
    where
        F: Future<Output = ()> + Send + 'static,
    {
        Server::on("127.0.0.1:0", Some(tls), script).await
    }

    /// On a TCP address.
    pub async fn on<F>(
        address: &str,
        tls: Option<ServerTls>,
        script: impl Fn(Peer) -> F + Send + Sync + 'static,
    ) -> Server
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind(address).await.expect("a loopback address is free");
        Server::listening(listener, tls, script)
    }

    /// On a socket that listens already, as one in a namespace of its own.
    pub fn at<F>(
        listener: std::net::TcpListener,
        script: impl Fn(Peer) -> F + Send + Sync + 'static,
    ) -> Server
    where
        F: Future<Output = ()> + Send + 'static,
    {
        listener.set_nonblocking(true).expect("a socket can be non-blocking");
        let listener = TcpListener::from_std(listener).expect("the runtime takes it");
        Server::listening(listener, None, script)
    }

    fn listening<F>(
        listener: TcpListener,
        tls: Option<ServerTls>,
        script: impl Fn(Peer) -> F + Send + Sync + 'static,
    ) -> Server
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let address = listener.local_addr().expect("a bound socket has an address");
        let is_tls = tls.is_some();
        let mut server = Server::start(Source::Tcp(listener, tls), boxed(script));
        server.address = Some(address);
        server.tls = is_tls;
        server
    }

    /// On a Unix socket; a path that begins with `@` is an abstract name.
    pub fn unix<F>(path: &Path, script: impl Fn(Peer) -> F + Send + Sync + 'static) -> Server
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let listener = match path.to_str().and_then(|path| path.strip_prefix('@')) {
            Some(name) => UnixListener::bind(format!("\0{name}")),
            None => UnixListener::bind(path),
        };
        Server::start(Source::Unix(listener.expect("the path is free")), boxed(script))
    }

    /// In memory, for tests on the paused clock: [`dialer`](Self::dialer) opens connections.
    pub fn memory<F>(script: impl Fn(Peer) -> F + Send + Sync + 'static) -> Server
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let (dialled, dials) = mpsc::unbounded_channel();
        let mut server = Server::start(Source::Memory(dials), boxed(script));
        server.dialer = Some(Dialer(dialled));
        server
    }

    fn start(source: Source, script: Script) -> Server {
        let tally = Tally::new();
        let accepting = tokio::spawn(accept(source, script, tally.clone())).abort_handle();
        Server { address: None, dialer: None, tally, tls: false, accepting }
    }

    /// The TCP address.
    ///
    /// # Panics
    ///
    /// For a server that is not on TCP.
    pub fn address(&self) -> SocketAddr {
        self.address.expect("a server on TCP")
    }

    /// The URL of a path, with the IP address as host.
    pub fn url(&self, path: &str) -> String {
        let scheme = if self.tls { "https" } else { "http" };
        format!("{scheme}://{}{path}", self.address())
    }

    /// Opens connections to a server in memory.
    ///
    /// # Panics
    ///
    /// For another server.
    pub fn dialer(&self) -> Dialer {
        self.dialer.clone().expect("a server in memory")
    }

    pub(crate) fn memory_dialer(&self) -> Option<Dialer> {
        self.dialer.clone()
    }

    /// The counts of this moment.
    pub fn counts(&self) -> Counts {
        self.tally.watch().borrow().clone()
    }

    /// Waits until the counts are as wanted.
    ///
    /// # Panics
    ///
    /// After [`GUARD`], with the counts.
    pub async fn until(&self, wanted: impl Fn(&Counts) -> bool) -> Counts {
        let mut watch = self.tally.watch();
        let found = tokio::time::timeout(GUARD, watch.wait_for(|counts| wanted(counts))).await;
        match found {
            Ok(Ok(counts)) => counts.clone(),
            _ => panic!("not as wanted after {GUARD:?}: {:#?}", self.counts()),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.accepting.abort();
        let panicked = self.tally.watch().borrow().panicked;
        if panicked > 0 && !std::thread::panicking() {
            panic!("{panicked} scripts of the server have panicked");
        }
    }
}

fn boxed<F>(script: impl Fn(Peer) -> F + Send + Sync + 'static) -> Script
where
    F: Future<Output = ()> + Send + 'static,
{
    Arc::new(move |peer| Box::pin(script(peer)))
}

async fn accept(mut source: Source, script: Script, tally: Tally) {
    let mut connections = JoinSet::new();
    loop {
        let (transport, tls) = tokio::select! {
            accepted = source.next() => match accepted {
                Some(accepted) => accepted,
                None => break,
            },
            Some(ended) = connections.join_next() => {
                note_panic(ended, &tally);
                continue;
            }
        };
        // Counted here and not in the task: the order of accepts gives the numbers.
        let peer = Peer::new(transport, tally.accepted(), tally.clone());
        let (script, tally) = (script.clone(), tally.clone());
        connections.spawn(async move {
            let peer = match tls {
                None => Some(peer),
                Some(tls) => peer.secure(tls, &tally).await,
            };
            if let Some(peer) = peer {
                script(peer).await;
            }
        });
    }
    while let Some(ended) = connections.join_next().await {
        note_panic(ended, &tally);
    }
}

fn note_panic(ended: Result<(), JoinError>, tally: &Tally) {
    if ended.is_err_and(|error| error.is_panic()) {
        tally.panicked();
    }
}

impl Source {
    async fn next(&mut self) -> Option<(Transport, Option<ServerTls>)> {
        match self {
            Source::Tcp(listener, tls) => {
                let (stream, _) = listener.accept().await.expect("loopback accepts");
                stream.set_nodelay(true).expect("a TCP socket has the option");
                Some((Transport::Tcp(stream), tls.clone()))
            }
            Source::Unix(listener) => {
                let (stream, _) = listener.accept().await.expect("a Unix socket accepts");
                Some((Transport::Unix(stream), None))
            }
            Source::Memory(dials) => Some((Transport::Memory(dials.recv().await?), None)),
        }
    }
}

impl Peer {
    /// The handshake; `None` if it failed.
    async fn secure(self, tls: ServerTls, tally: &Tally) -> Option<Peer> {
        self.upgrade(async |transport| {
            let Transport::Tcp(tcp) = transport else { return None };
            let stream = TlsAcceptor::from(tls.0).accept(tcp).await.ok()?;
            let kind = stream.get_ref().1.handshake_kind();
            tally.handshake(kind == Some(HandshakeKind::Resumed));
            Some(Transport::Tls(Box::new(stream)))
        })
        .await
    }
}
