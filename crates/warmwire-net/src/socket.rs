//! Options of a TCP socket.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use socket2::{SockRef, TcpKeepalive};
use tokio::net::{TcpSocket, TcpStream};

/// What is set on each TCP socket before and after it connects.
#[derive(Clone, Debug)]
pub struct SocketOptions {
    /// `TCP_NODELAY`. Default `true`: a request is written in one piece, so waiting for more
    /// (Nagle's algorithm) only ever costs a delayed acknowledgement, 40 ms.
    pub nodelay: bool,
    /// Idle time before the first TCP keep-alive probe; `None` sends none. Default 15 s.
    pub keepalive_idle: Option<Duration>,
    /// Time between two probes. Default 15 s. The kernel counts whole seconds, at least one.
    pub keepalive_interval: Duration,
    /// Probes without an answer after which the kernel gives the connection up. Default 3.
    pub keepalive_retries: u32,
}

impl Default for SocketOptions {
    fn default() -> Self {
        SocketOptions {
            nodelay: true,
            keepalive_idle: Some(Duration::from_secs(15)),
            keepalive_interval: Duration::from_secs(15),
            keepalive_retries: 3,
        }
    }
}

impl SocketOptions {
    /// Connects to one address with these options, from a local address if one is given.
    pub(crate) async fn connect(
        &self,
        address: SocketAddr,
        from: Option<IpAddr>,
    ) -> io::Result<TcpStream> {
        let socket = match address {
            SocketAddr::V4(_) => TcpSocket::new_v4()?,
            SocketAddr::V6(_) => TcpSocket::new_v6()?,
        };
        if let Some(local) = from {
            socket.bind(SocketAddr::new(local, 0))?;
        }
        let stream = socket.connect(address).await?;
        self.apply(&stream)?;
        Ok(stream)
    }

    fn apply(&self, stream: &TcpStream) -> io::Result<()> {
        stream.set_nodelay(self.nodelay)?;
        if let Some(idle) = self.keepalive_idle {
            let second = Duration::from_secs(1);
            let keepalive = TcpKeepalive::new()
                .with_time(idle.max(second))
                .with_interval(self.keepalive_interval.max(second))
                .with_retries(self.keepalive_retries);
            SockRef::from(stream).set_tcp_keepalive(&keepalive)?;
        }
        Ok(())
    }
}
