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
    /// How long sent bytes may stay unacknowledged before the kernel gives the connection up
    /// (`TCP_USER_TIMEOUT`, on Linux; elsewhere it has no meaning); `None` is the kernel's own
    /// choice, a quarter of an hour on Linux. Default 60 s.
    pub user_timeout: Option<Duration>,
}

impl Default for SocketOptions {
    fn default() -> Self {
        SocketOptions {
            nodelay: true,
            keepalive_idle: Some(Duration::from_secs(15)),
            keepalive_interval: Duration::from_secs(15),
            keepalive_retries: 3,
            user_timeout: Some(Duration::from_secs(60)),
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

    pub(crate) fn apply(&self, stream: &TcpStream) -> io::Result<()> {
        stream.set_nodelay(self.nodelay)?;
        if let Some(idle) = self.keepalive_idle {
            let second = Duration::from_secs(1);
            let keepalive = TcpKeepalive::new()
                .with_time(idle.max(second))
                .with_interval(self.keepalive_interval.max(second))
                .with_retries(self.keepalive_retries);
            SockRef::from(stream).set_tcp_keepalive(&keepalive)?;
        }
        #[cfg(any(target_os = "linux", target_os = "android"))]
        SockRef::from(stream).set_tcp_user_timeout(self.user_timeout)?;
        Ok(())
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[tokio::test]
    async fn f121_every_option_is_read_back_from_the_socket() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let second = Duration::from_secs(1);
        let options = SocketOptions {
            nodelay: false,
            keepalive_idle: Some(7 * second),
            keepalive_interval: 5 * second,
            keepalive_retries: 4,
            user_timeout: Some(Duration::from_millis(12_345)),
        };
        let stream = options.connect(address, None).await.unwrap();
        let socket = SockRef::from(&stream);
        assert!(!stream.nodelay().unwrap() && socket.keepalive().unwrap());
        assert_eq!(socket.tcp_keepalive_time().unwrap(), 7 * second);
        assert_eq!(socket.tcp_keepalive_interval().unwrap(), 5 * second);
        assert_eq!(socket.tcp_keepalive_retries().unwrap(), 4);
        assert_eq!(socket.tcp_user_timeout().unwrap(), Some(Duration::from_millis(12_345)));

        let stream = SocketOptions::default().connect(address, None).await.unwrap();
        let socket = SockRef::from(&stream);
        assert_eq!(socket.tcp_user_timeout().unwrap(), Some(60 * second));

        let off = SocketOptions { user_timeout: None, keepalive_idle: None, ..options };
        let stream = off.connect(address, None).await.unwrap();
        let socket = SockRef::from(&stream);
        assert_eq!(socket.tcp_user_timeout().unwrap(), None);
        assert!(!socket.keepalive().unwrap());
    }
}
