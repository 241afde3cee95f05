//! Scripts of proxies, for a [`Server`] to run.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

use crate::peer::Peer;
use crate::response::{Reply, ok};
use crate::server::{Dialer, Server};

/// What a scripted proxy knows: where its targets are, and whom it serves. Clones share what they
/// were asked for.
///
/// Give [`http`](Self::http), [`socks5`](Self::socks5) or [`socks4`](Self::socks4) to a [`Server`]
/// as its script. What it is asked for and does not know, it refuses: 502, or the reply 5.
#[derive(Clone, Default)]
pub struct ProxyScript {
    targets: Vec<(String, Far)>,
    user: Option<(String, String)>,
    asked: Arc<Mutex<Vec<String>>>,
}

#[derive(Clone)]
enum Far {
    Tcp(SocketAddr),
    Memory(Dialer),
}

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

impl ProxyScript {
    /// One that knows no targets and serves everybody.
    pub fn new() -> ProxyScript {
        ProxyScript::default()
    }

    /// Leads what is asked for as `host:port` to a server.
    #[must_use]
    pub fn leading(mut self, asked: &str, server: &Server) -> ProxyScript {
        let far = match server.memory_dialer() {
            Some(dialer) => Far::Memory(dialer),
            None => Far::Tcp(server.address()),
        };
        self.targets.push((asked.to_owned(), far));
        self
    }

    /// Serves this user alone.
    #[must_use]
    pub fn only_for(mut self, user: &str, password: &str) -> ProxyScript {
        self.user = Some((user.to_owned(), password.to_owned()));
        self
    }

    /// What was asked for so far, as `host:port`.
    pub fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// An HTTP proxy: opens tunnels for `CONNECT`, and answers other requests itself, with their
    /// target, where that leads to a server it knows. The user is shown as `Basic user:password`
    /// without base64 being known here: [`only_for`](Self::only_for) takes the token as password.
    pub async fn http(self, mut peer: Peer) {
        while let Some(request) = peer.request().await {
            let shown = request.header("proxy-authorization").map(str::to_owned);
            let wanted = self.user.as_ref().map(|(_, token)| format!("Basic {token}"));
            if wanted.is_some() && shown != wanted {
                let reply = Reply::new(407).header("Proxy-Authenticate", "Basic realm=\"test\"");
                peer.send(reply.body("who are you?").bytes()).await;
                continue;
            }
            if request.method != "CONNECT" {
                let known = self.targets.iter().any(|(asked, _)| request.target.contains(asked));
                let refusal = || Reply::new(502).body("no such server").bytes();
                peer.send(if known { ok(&request.target) } else { refusal() }).await;
                continue;
            }
            match self.reach(&request.target).await {
                Some(far) => {
                    peer.send("HTTP/1.1 200 Connection established\r\n\r\n").await;
                    return peer.relay(far).await;
                }
                None => peer.send(Reply::new(502).body("no such server").bytes()).await,
            }
        }
    }

    /// A SOCKS5 proxy (RFC 1928, RFC 1929).
    pub async fn socks5(self, peer: Peer) {
        // `None`: the client has gone.
        let _ = self.socks5_steps(peer).await;
    }

    async fn socks5_steps(self, mut peer: Peer) -> Option<()> {
        let greeting = peer.exactly(2).await?;
        let methods = peer.exactly(usize::from(greeting[1])).await?;
        let method = if self.user.is_some() { 2 } else { 0 };
        if !methods.contains(&method) {
            peer.send([5, 0xff]).await;
            return None;
        }
        peer.send([5, method]).await;
        if let Some((user, password)) = &self.user {
            peer.exactly(1).await?;
            let shown = (sized(&mut peer).await?, sized(&mut peer).await?);
            let known = shown == (Bytes::from(user.clone()), Bytes::from(password.clone()));
            peer.send([1, u8::from(!known)]).await;
        }
        let request = peer.exactly(4).await?;
        let host = match request[3] {
            1 => std::net::Ipv4Addr::from(array::<4>(&mut peer).await?).to_string(),
            4 => format!("[{}]", std::net::Ipv6Addr::from(array::<16>(&mut peer).await?)),
            _ => String::from_utf8_lossy(&sized(&mut peer).await?).into_owned(),
        };
        let port = u16::from_be_bytes(array(&mut peer).await?);
        let far = self.reach(&format!("{host}:{port}")).await;
        peer.send([5, if far.is_some() { 0 } else { 5 }, 0, 1, 0, 0, 0, 0, 0, 0]).await;
        peer.relay(far?).await;
        Some(())
    }

    /// A SOCKS4 proxy that knows names too (SOCKS4A).
    pub async fn socks4(self, peer: Peer) {
        // `None`: the client has gone.
        let _ = self.socks4_steps(peer).await;
    }

    async fn socks4_steps(self, mut peer: Peer) -> Option<()> {
        peer.exactly(2).await?;
        let port = u16::from_be_bytes(array(&mut peer).await?);
        let address: [u8; 4] = array(&mut peer).await?;
        let user = peer.through(b"\0").await?;
        let host = match address {
            [0, 0, 0, last] if last != 0 => {
                let name = peer.through(b"\0").await?;
                String::from_utf8_lossy(&name[..name.len() - 1]).into_owned()
            }
            address => std::net::Ipv4Addr::from(address).to_string(),
        };
        let known =
            self.user.as_ref().is_none_or(|(own, _)| own.as_bytes() == &user[..user.len() - 1]);
        let far = self.reach(&format!("{host}:{port}")).await.filter(|_| known);
        let reply = match (&far, known) {
            (Some(_), _) => 90,
            (None, true) => 91,
            (None, false) => 93,
        };
        peer.send([0, reply, 0, 0, 0, 0, 0, 0]).await;
        peer.relay(far?).await;
        Some(())
    }

    async fn reach(&self, asked: &str) -> Option<Box<dyn Stream>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).push(asked.to_owned());
        let (_, far) = self.targets.iter().find(|(known, _)| known == asked)?;
        Some(match far {
            Far::Tcp(address) => Box::new(TcpStream::connect(address).await.ok()?),
            Far::Memory(dialer) => Box::new(dialer.dial()),
        })
    }
}

/// A byte with a length, and as many bytes.
async fn sized(peer: &mut Peer) -> Option<Bytes> {
    let length = peer.exactly(1).await?;
    peer.exactly(usize::from(length[0])).await
}

async fn array<const N: usize>(peer: &mut Peer) -> Option<[u8; N]> {
    peer.exactly(N).await?.as_ref().try_into().ok()
}
