//! Who has connected.

use std::io;
use std::net::SocketAddr;

use tokio::net::UnixStream;

/// Who has connected, as far as the kernel and the handshake know.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Peer {
    /// Its address, on TCP.
    pub address: Option<SocketAddr>,
    /// Its process, on a Unix socket.
    pub credentials: Option<Credentials>,
    /// The certificates that it showed, its own first, in DER; none if none were asked for.
    pub certificates: Vec<Vec<u8>>,
}

/// The process at the other end of a Unix socket, as the kernel knows it (`SO_PEERCRED`): it cannot
/// be feigned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Credentials {
    /// The process, where the system tells.
    pub pid: Option<i32>,
    /// The user.
    pub uid: u32,
    /// The group.
    pub gid: u32,
}

pub(super) fn credentials(stream: &UnixStream) -> io::Result<Credentials> {
    let told = stream.peer_cred()?;
    Ok(Credentials { pid: told.pid(), uid: told.uid(), gid: told.gid() })
}
