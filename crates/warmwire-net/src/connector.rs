//! Opens a connection to a target and measures each phase.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use sync_wrapper::SyncWrapper;
use tokio::net::UnixStream;

use crate::error::{ConnectError, ConnectFault, ConnectPhase, ProxyFault};
use crate::names::Choice;
use crate::progress::Progress;
use crate::proxy::Endpoint;
use crate::race::Tried;
use crate::tls::{Alpn, TlsInfo};
use crate::{AddressUse, Connect, ConnectTarget, Names, Proxy, Socket, Stream, TcpConnect, Tls};

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
    /// The proxy to reach it through; it has no meaning for Unix sockets.
    pub proxy: Option<Proxy>,
    /// The TLS settings; `None` speaks no TLS.
    pub tls: Option<Tls>,
    /// The local address to connect from; `None` is the system's choice. It has no meaning for
    /// Unix sockets and a caller's own streams.
    pub local_address: Option<IpAddr>,
    /// What is offered in the TLS handshake.
    pub alpn: Alpn,
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
    /// Opening the way through a proxy that is connected to: TLS with it, asking, its answer.
    pub proxy: Duration,
}

/// A connection that is up.
pub struct Connected {
    /// Its bytes.
    pub stream: Stream,
    /// The local address; `None` for Unix sockets and a caller's own streams.
    pub local: Option<SocketAddr>,
    /// The address that was connected to; `None` for Unix sockets and a caller's own streams.
    pub remote: Option<SocketAddr>,
    /// Counts the connection on the address; `None` where no name was looked up.
    pub address: Option<AddressUse>,
    /// What the handshake agreed on.
    pub tls: Option<TlsInfo>,
    /// What it took.
    pub phases: Phases,
}

/// Opens connections, all with the same settings.
pub struct Connector {
    /// What is known of names.
    pub names: Names,
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
                None => {
                    self.judge(transport.address.as_ref(), None, &progress);
                    Ok(transport.plain(progress.finish()))
                }
                // Boxed, as all but the plain TCP connect is: a handshake's future is three times as
                // large as the rest, and a burst of plain connects would carry the room for it.
                Some(tls) => Box::pin(self.secure(tls, target, transport, progress)).await,
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
        match &target.proxy {
            None => self.reach(&target.host, target.port, target.local_address, progress).await,
            // Boxed, since most connections have no proxy.
            Some(proxy) => Box::pin(self.through(proxy, target, progress)).await,
        }
    }

    /// A connection to a host, whatever is spoken on it.
    async fn reach(
        &self,
        host: &str,
        port: u16,
        from: Option<IpAddr>,
        progress: &mut Progress<'_>,
    ) -> Result<Transport, ConnectFault> {
        let choice = progress.within(self.names.choose(host, port)).await?;
        let choice = choice.map_err(ConnectFault::Dns)?;
        progress.enter(ConnectPhase::Connect);
        match &self.custom {
            Some(custom) => {
                let addresses = choice.addresses.clone();
                let asked = ConnectTarget::new(host.to_owned(), port, addresses);
                let stream = progress.within(custom.connect(asked)).await?;
                let stream = stream.map_err(ConnectFault::Connect)?;
                let socket = Socket::Custom(SyncWrapper::new(stream));
                Ok(Transport {
                    address: choice.into_first(),
                    ..Transport::without_addresses(socket)
                })
            }
            None => self.tcp(choice, from, progress).await,
        }
    }

    /// A connection through a proxy: a stream whose other end is the target, or the proxy itself
    /// where that is sent the requests as they are.
    async fn through(
        &self,
        proxy: &Proxy,
        target: &Target,
        progress: &mut Progress<'_>,
    ) -> Result<Transport, ConnectFault> {
        let mut to = Endpoint::new(&target.host, target.port);
        if proxy.takes_addresses_only() {
            let found = progress.within(self.names.addresses(&target.host)).await?;
            let found = found.map_err(ConnectFault::Dns)?;
            let found: Vec<_> =
                found.into_iter().map(|ip| SocketAddr::new(ip, target.port)).collect();
            to = proxy.choose(&found).ok_or_else(|| {
                let text =
                    format!("{:?} has no IPv4 address, and {proxy} takes no other", target.host);
                ConnectFault::Dns(io::Error::new(io::ErrorKind::NotFound, text))
            })?;
        }
        progress.set_to_proxy(true);
        progress.enter(ConnectPhase::Dns);
        let mut transport =
            self.reach(proxy.host(), proxy.port(), target.local_address, progress).await?;
        progress.enter(ConnectPhase::Proxy);
        let address = transport.address.take();
        let asks = target.tls.is_some() || !proxy.forwards_http();
        let opened = ask(proxy, transport, asks.then_some(to), progress).await;
        self.judge(address.as_ref(), opened.as_ref().err(), progress);
        transport = opened?;
        transport.address = address;
        progress.set_to_proxy(false);
        Ok(transport)
    }

    /// What the handshakes on a connection say of the address that was connected to.
    fn judge(
        &self,
        address: Option<&AddressUse>,
        fault: Option<&ConnectFault>,
        progress: &Progress<'_>,
    ) {
        let Some(address) = address else { return };
        match fault {
            // One that fails after TCP is up has the fewest connections, and would draw every dial.
            Some(
                ConnectFault::TimedOut
                | ConnectFault::Tls(_)
                | ConnectFault::Certificate(..)
                | ConnectFault::Proxy(ProxyFault::Broken(_)),
            ) => self.names.note_failure(address, progress.began()),
            // What is wrong is on this side, or with the target behind a proxy that answers.
            None | Some(_) => address.note_success(),
        }
    }

    async fn secure(
        &self,
        tls: &Tls,
        target: &Target,
        transport: Transport,
        mut progress: Progress<'_>,
    ) -> Result<Connected, ConnectError> {
        progress.enter(ConnectPhase::Tls);
        let Transport { socket, local, remote, address } = transport;
        let handshake = tls.handshake(&target.host, target.alpn, socket);
        let done = progress.within(handshake).await.and_then(|done| done);
        if target.proxy.is_none() {
            self.judge(address.as_ref(), done.as_ref().err(), &progress);
        }
        match done {
            Ok((stream, info)) => {
                let stream = Stream::Tls(Box::new(stream));
                let (tls, phases) = (Some(info), progress.finish());
                Ok(Connected { stream, local, remote, address, tls, phases })
            }
            Err(fault) => Err(progress.failed(fault)),
        }
    }

    async fn tcp(
        &self,
        choice: Choice,
        from: Option<IpAddr>,
        progress: &mut Progress<'_>,
    ) -> Result<Transport, ConnectFault> {
        let mut tried = Tried::default();
        let addresses = choice.addresses.clone();
        let won = progress.within(self.tcp.connect(addresses, from, &mut tried)).await;
        let reached = won.as_ref().ok().and_then(|up| up.as_ref()).map(|(address, _)| *address);
        let failed = tried.failed(self.tcp.happy_eyeballs_delay, reached.is_some());
        let counted = self.names.count(choice, reached, &failed, progress.began());
        progress.attempts = match reached {
            // What was still running has lost the race and not failed.
            Some(_) => tried.into_errors(),
            None => tried.into_attempts(),
        };
        match won? {
            Some((address, stream)) => Ok(Transport {
                local: stream.local_addr().ok(),
                remote: Some(address),
                address: counted,
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

/// TLS with a proxy that wants it, then asking it for the way `to` the target if there is one.
async fn ask(
    proxy: &Proxy,
    mut transport: Transport,
    to: Option<Endpoint<'_>>,
    progress: &Progress<'_>,
) -> Result<Transport, ConnectFault> {
    if let Some(tls) = proxy.own_tls() {
        let handshake = tls.handshake(proxy.host(), Alpn::Http1, transport.socket);
        let (stream, _) = progress.within(handshake).await??;
        transport.socket = Socket::Tls(Box::new(stream));
    }
    if let Some(to) = to {
        let opened = progress.within(proxy.open(&mut transport.socket, to)).await?;
        opened.map_err(ConnectFault::Proxy)?;
    }
    Ok(transport)
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
    address: Option<AddressUse>,
}

impl Transport {
    /// Of a stream that has no addresses of its own.
    fn without_addresses(socket: Socket) -> Transport {
        Transport { socket, local: None, remote: None, address: None }
    }

    fn plain(self, phases: Phases) -> Connected {
        let Transport { socket, local, remote, address } = self;
        Connected { stream: Stream::Plain(socket), local, remote, address, tls: None, phases }
    }
}
