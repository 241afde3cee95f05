//! The client's part of a simulated network: connects that wait a round trip, look-ups that wait.
//!
//! What happens after a connect is late in the server's process, which costs the client nothing.

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use tokio::net::TcpStream;
use warmwire::http::{BoxFuture, Connect, ConnectTarget, Io, Resolve, Resolved};

use crate::timer::PreciseTimer;

/// Connects to loopback as if it were a round trip away: SYN out, SYN and ACK back.
pub(super) struct DistantConnector {
    pub(super) rtt: Duration,
    pub(super) nodelay: bool,
    pub(super) timer: PreciseTimer,
}

impl Connect for DistantConnector {
    fn connect(&self, target: ConnectTarget) -> BoxFuture<'static, io::Result<Box<dyn Io>>> {
        let Self { rtt, nodelay, ref timer } = *self;
        let timer = timer.clone();
        Box::pin(async move {
            timer.sleep(rtt).await;
            let stream = TcpStream::connect(target.address()).await?;
            stream.set_nodelay(nodelay)?;
            Ok(Box::new(stream) as Box<dyn Io>)
        })
    }
}

/// Finds every name on loopback, after a while.
pub(super) struct SlowResolver {
    pub(super) duration: Duration,
    pub(super) timer: PreciseTimer,
}

impl Resolve for SlowResolver {
    fn resolve(&self, _host: &str) -> BoxFuture<'static, io::Result<Resolved>> {
        let (timer, duration) = (self.timer.clone(), self.duration);
        Box::pin(async move {
            timer.sleep(duration).await;
            Ok(vec![IpAddr::V4(Ipv4Addr::LOCALHOST)].into())
        })
    }
}
