//! Opens a connection to a target and measures each phase.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::TryFutureExt;
use sync_wrapper::SyncWrapper;
use tokio::net::UnixStream;
use tokio::time::{Instant, timeout_at};

use crate::error::{Attempt, ConnectError, ConnectFault, ConnectPhase};
use crate::race::{Tried, interleave};
use crate::tls::TlsInfo;
use crate::{Connect, ConnectTarget, Resolve, Socket, Stream, TcpConnect, Tls};

/// Where a connection goes.
#[derive(Clone, Debug)]
pub struct Target {
    /// The host as the URL has it, lower case; an IPv6 literal without brackets.
    pub host: String,
    /// The port.
    pub port: u16,
    /// The Unix socket that is connected to in place of host and port. On Linux a path that
    /// begins with `@` names an abstract socket.
    pub unix: Option<PathBuf>,
    /// The TLS settings; `None` speaks no TLS.
    pub tls: Option<Tls>,
    /// The local address to connect from; `None` is the system's choice. It has no meaning for
    /// Unix sockets and a caller's own streams.
    pub local_address: Option<IpAddr>,
}

/// How long each phase of opening a connection took; zero for a phase that was not needed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Phases {
    /// Looking the name up.
    pub dns: Duration,
    /// The TCP or Unix connect.
    pub connect: Duration,
    /// The TLS handshake.
    pub tls: Duration,
}

/// A connection that is up.
pub struct Connected {
    /// Its bytes.
    pub stream: Stream,
    /// The local address; `None` for Unix sockets and a caller's own streams.
    pub local: Option<SocketAddr>,
    /// The address that was connected to; `None` for Unix sockets and a caller's own streams.
    pub remote: Option<SocketAddr>,
    /// What the handshake agreed on.
    pub tls: Option<TlsInfo>,
    /// What it took.
    pub phases: Phases,
}

/// Opens connections, all with the same settings.
pub struct Connector {
    /// Looks names up.
    pub resolver: Arc<dyn Resolve>,
    /// How TCP is connected.
    pub tcp: TcpConnect,
    /// Connects in place of the built-in TCP connect where it is set (never for Unix sockets).
    pub custom: Option<Arc<dyn Connect>>,
}

impl Connector {
    /// Opens a connection to `target`; look-up, connect and handshake together may take
    /// `timeout`. `entered` is told each phase as it begins.
    ///
    /// # Errors
    ///
    /// A [`ConnectError`] that names the phase, what went wrong and every address tried.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future closes what it had opened.
    pub async fn connect(
        &self,
        target: &Target,
        timeout: Option<Duration>,
        entered: &(dyn Fn(ConnectPhase) + Sync),
    ) -> Result<Connected, ConnectError> {
        let mut progress = Progress::new(timeout, entered);
        match self.transport(target, &mut progress).await {
            Ok(transport) => match &target.tls {
                None => Ok(transport.plain(progress.finish())),
                // Boxed, as all but the plain TCP connect is: a handshake's future is three times as
                // large as the rest, and a burst of plain connects would carry the room for it.
                Some(tls) => Box::pin(secure(tls, &target.host, transport, progress)).await,
            },
            Err(fault) => Err(progress.failed(fault)),
        }
    }

    async fn transport(
        &self,
        target: &Target,
        progress: &mut Progress<'_>,
    ) -> Result<Transport, ConnectFault> {
        if let Some(path) = &target.unix {
            progress.enter(ConnectPhase::Connect);
            let socket = progress.within(Box::pin(connect_unix(path))).await?;
            let socket = Socket::Unix(socket.map_err(ConnectFault::Connect)?);
            return Ok(Transport::without_addresses(socket));
        }
        let addresses = self.addresses(target, progress).await?;
        progress.enter(ConnectPhase::Connect);
        match &self.custom {
            Some(custom) => {
                let asked = ConnectTarget::new(target.host.clone(), target.port, addresses);
                let stream = progress.within(custom.connect(asked)).await?;
                let stream = stream.map_err(ConnectFault::Connect)?;
                let socket = Socket::Custom(SyncWrapper::new(stream));
                Ok(Transport::without_addresses(socket))
            }
            None => self.tcp(addresses, target.local_address, progress).await,
        }
    }

    async fn addresses(
        &self,
        target: &Target,
        progress: &mut Progress<'_>,
    ) -> Result<Vec<SocketAddr>, ConnectFault> {
        if let Ok(literal) = target.host.parse::<IpAddr>() {
            return Ok(vec![SocketAddr::new(literal, target.port)]);
        }
        let found = progress.within(self.resolver.resolve(&target.host)).await?;
        let found = found.map_err(ConnectFault::Dns)?;
        if found.is_empty() {
            let text = format!("the resolver knows no address of {:?}", target.host);
            return Err(ConnectFault::Dns(io::Error::new(io::ErrorKind::NotFound, text)));
        }
        Ok(interleave(found).into_iter().map(|ip| SocketAddr::new(ip, target.port)).collect())
    }

    async fn tcp(
        &self,
        addresses: Vec<SocketAddr>,
        from: Option<IpAddr>,
        progress: &mut Progress<'_>,
    ) -> Result<Transport, ConnectFault> {
        let mut tried = Tried::default();
        let won = progress.within(self.tcp.connect(addresses, from, &mut tried)).await;
        progress.attempts = tried.into_attempts();
        match won? {
            Some((address, stream)) => Ok(Transport {
                local: stream.local_addr().ok(),
                remote: Some(address),
                socket: Socket::Tcp(stream),
            }),
            None => {
                let kind =
                    progress.attempts.last().map_or(io::ErrorKind::Other, |a| a.error.kind());
                Err(ConnectFault::Connect(io::Error::new(kind, "no address could be connected to")))
            }
        }
    }
}

async fn secure(
    tls: &Tls,
    host: &str,
    transport: Transport,
    mut progress: Progress<'_>,
) -> Result<Connected, ConnectError> {
    progress.enter(ConnectPhase::Tls);
    let Transport { socket, local, remote } = transport;
    let handshake = tls.handshake(host, socket);
    match progress.within(handshake).await.and_then(|done| done) {
        Ok((stream, info)) => {
            let stream = Stream::Tls(Box::new(stream));
            let (tls, phases) = (Some(info), progress.finish());
            Ok(Connected { stream, local, remote, tls, phases })
        }
        Err(fault) => Err(progress.failed(fault)),
    }
}

async fn connect_unix(path: &std::path::Path) -> io::Result<UnixStream> {
    // Tokio takes a path whose first byte is NUL for an abstract name.
    match path.to_str().and_then(|text| text.strip_prefix('@')) {
        Some(name) => UnixStream::connect(format!("\0{name}")).await,
        None => UnixStream::connect(path).await,
    }
}

struct Transport {
    socket: Socket,
    local: Option<SocketAddr>,
    remote: Option<SocketAddr>,
}

impl Transport {
    /// Of a stream that has no addresses of its own.
    fn without_addresses(socket: Socket) -> Transport {
        Transport { socket, local: None, remote: None }
    }

    fn plain(self, phases: Phases) -> Connected {
        let Transport { socket, local, remote } = self;
        Connected { stream: Stream::Plain(socket), local, remote, tls: None, phases }
    }
}

/// What stands for no timeout at all: 30 years, which every clock can hold.
const FOR_EVER: Duration = Duration::from_secs(30 * 365 * 24 * 3600);

/// The clock of one connect: which phase is running and what the others took.
struct Progress<'a> {
    entered: &'a (dyn Fn(ConnectPhase) + Sync),
    deadline: Instant,
    phase: ConnectPhase,
    since: Instant,
    phases: Phases,
    attempts: Vec<Attempt>,
}

impl<'a> Progress<'a> {
    fn new(timeout: Option<Duration>, entered: &'a (dyn Fn(ConnectPhase) + Sync)) -> Self {
        entered(ConnectPhase::Dns);
        let now = Instant::now();
        Progress {
            entered,
            deadline: now + timeout.unwrap_or(FOR_EVER).min(FOR_EVER),
            phase: ConnectPhase::Dns,
            since: now,
            phases: Phases::default(),
            attempts: Vec::new(),
        }
    }

    fn enter(&mut self, phase: ConnectPhase) {
        self.finish();
        (self.entered)(phase);
        self.phase = phase;
        self.since = Instant::now();
    }

    fn finish(&mut self) -> Phases {
        let took = self.since.elapsed();
        match self.phase {
            ConnectPhase::Dns => self.phases.dns = took,
            ConnectPhase::Connect => self.phases.connect = took,
            ConnectPhase::Tls => self.phases.tls = took,
        }
        self.phases
    }

    /// Not an `async fn`, which would hold `future` twice.
    fn within<F: Future>(
        &self,
        future: F,
    ) -> impl Future<Output = Result<F::Output, ConnectFault>> + use<F> {
        timeout_at(self.deadline, future).map_err(|_| ConnectFault::TimedOut)
    }

    fn failed(mut self, fault: ConnectFault) -> ConnectError {
        let phases = self.finish();
        ConnectError { phase: self.phase, fault, attempts: self.attempts, phases }
    }
}
