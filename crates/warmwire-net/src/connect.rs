//! How one transport is opened; the place where a caller can put another way.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use tokio::net::TcpStream;

use crate::race::{Tried, race};
use crate::{BoxFuture, Io, SocketOptions};

/// Opens a transport in place of the built-in TCP connect: a simulated network, a tunnel, a
/// scripted peer in a test.
///
/// TLS, where the target asks for it, is made on top of what this returns.
pub trait Connect: Send + Sync + 'static {
    /// A stream to `target`. The future counts against the connect timeout and is dropped when
    /// that has passed.
    ///
    /// # Errors
    ///
    /// Any [`io::Error`]; it becomes the source of the caller's error.
    fn connect(&self, target: ConnectTarget) -> BoxFuture<'static, io::Result<Box<dyn Io>>>;
}

/// Where a [`Connect`] shall connect to.
#[derive(Clone, Debug)]
pub struct ConnectTarget {
    host: String,
    port: u16,
    addresses: Vec<SocketAddr>,
}

impl ConnectTarget {
    pub(crate) fn new(host: String, port: u16, addresses: Vec<SocketAddr>) -> Self {
        ConnectTarget { host, port, addresses }
    }

    /// The host as the URL has it: a name, or an IP literal without brackets.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The addresses that the resolver gave, at least one, in the order to try them.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// The first of [`addresses`](Self::addresses).
    pub fn address(&self) -> SocketAddr {
        self.addresses[0]
    }
}

/// The built-in way: TCP, addresses raced as RFC 8305 says.
#[derive(Clone, Debug)]
pub struct TcpConnect {
    /// Options of each socket.
    pub socket: SocketOptions,
    /// How long one address may be silent before the next one is tried beside it. Default
    /// 250 ms, the value of RFC 8305, section 8; at least 10 ms is used.
    pub happy_eyeballs_delay: Duration,
}

impl Default for TcpConnect {
    fn default() -> Self {
        TcpConnect {
            socket: SocketOptions::default(),
            happy_eyeballs_delay: Duration::from_millis(250),
        }
    }
}

impl TcpConnect {
    pub(crate) async fn connect(
        &self,
        addresses: Vec<SocketAddr>,
        from: Option<IpAddr>,
        tried: &mut Tried,
    ) -> Option<(SocketAddr, TcpStream)> {
        let delay = self.happy_eyeballs_delay.max(Duration::from_millis(10));
        race(addresses, delay, tried, |address| self.socket.connect(address, from)).await
    }
}
