//! What the kernel knows of a TCP connection besides its bytes.
//!
//! Linux tells it over a netlink socket (`NETLINK_SOCK_DIAG`), for one connection at the cost of three
//! system calls and without a wait. `TCP_INFO` would tell it too and takes `unsafe`.

use std::io::{Read as _, Result};
use std::net::{IpAddr, SocketAddr};

use socket2::{Domain, Protocol, Socket, Type};

const AF_NETLINK: i32 = 16;
const NETLINK_SOCK_DIAG: i32 = 4;
/// The message type of both the question and the answer.
const SOCK_DIAG_BY_FAMILY: u16 = 20;
const NLM_F_REQUEST: u16 = 1;
const HEADER: usize = 16;
const QUESTION: usize = HEADER + 56;
/// Where the answer has `idiag_state`.
const STATE: usize = HEADER + 1;
/// A socket that listens is found where there is no connection.
const TCP_LISTEN: u8 = 10;
/// Where the answer has `idiag_wqueue`, for a connection the bytes sent and not acknowledged.
const UNACKNOWLEDGED: usize = HEADER + 60;

/// How many bytes of what was sent from `local` to `remote` the other end has not acknowledged.
/// `None` where the kernel does not tell: the connection is unknown, or netlink is not allowed.
pub(crate) fn unacknowledged(local: SocketAddr, remote: SocketAddr) -> Option<u32> {
    ask(&question(local, remote)).ok().flatten()
}

/// `struct inet_diag_req_v2` for one connection, behind `struct nlmsghdr`.
fn question(local: SocketAddr, remote: SocketAddr) -> Vec<u8> {
    let family = if local.is_ipv4() { family_number::INET } else { family_number::INET6 };
    let any_state = u32::MAX;
    let no_cookie = [0xff; 8];
    let mut bytes = Vec::with_capacity(QUESTION);
    bytes.extend((QUESTION as u32).to_ne_bytes());
    bytes.extend(SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    bytes.extend(NLM_F_REQUEST.to_ne_bytes());
    // Sequence number and port: there is one question on this socket.
    bytes.extend([0; 8]);
    bytes.extend([family, 6 /* TCP */, 0, 0]);
    bytes.extend(any_state.to_ne_bytes());
    bytes.extend(local.port().to_be_bytes());
    bytes.extend(remote.port().to_be_bytes());
    bytes.extend(address(local.ip()));
    bytes.extend(address(remote.ip()));
    bytes.extend(scope(remote).to_ne_bytes());
    bytes.extend(no_cookie);
    bytes
}

/// The families as the kernel numbers them.
mod family_number {
    pub(super) const INET: u8 = 2;
    pub(super) const INET6: u8 = 10;
}

fn address(ip: IpAddr) -> [u8; 16] {
    match ip {
        IpAddr::V6(ip) => ip.octets(),
        IpAddr::V4(ip) => {
            let mut padded = [0; 16];
            padded[..4].copy_from_slice(&ip.octets());
            padded
        }
    }
}

fn scope(remote: SocketAddr) -> u32 {
    match remote {
        SocketAddr::V4(_) => 0,
        SocketAddr::V6(remote) => remote.scope_id(),
    }
}

fn ask(question: &[u8]) -> Result<Option<u32>> {
    let protocol = Protocol::from(NETLINK_SOCK_DIAG);
    let mut socket = Socket::new(Domain::from(AF_NETLINK), Type::DGRAM, Some(protocol))?;
    // The answer is there when the question has been sent.
    socket.set_nonblocking(true)?;
    socket.send(question)?;
    let mut answer = [0; 1024];
    let length = socket.read(&mut answer)?;
    let answer = &answer[..length];
    let field = |at: usize| answer.get(at..at + 4)?.try_into().ok().map(u32::from_ne_bytes);
    let kind = answer.get(4..6).and_then(|kind| kind.try_into().ok()).map(u16::from_ne_bytes);
    Ok(match kind {
        Some(SOCK_DIAG_BY_FAMILY) if answer.get(STATE) != Some(&TCP_LISTEN) => {
            field(UNACKNOWLEDGED)
        }
        // An error: there is no such connection.
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::net::{Ipv6Addr, TcpListener, TcpStream};

    use super::*;

    fn check(listener: &TcpListener) {
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (local, remote) = (client.local_addr().unwrap(), client.peer_addr().unwrap());
        // Loopback acknowledges within `write`.
        client.write_all(b"hello").unwrap();
        assert_eq!(unacknowledged(local, remote), Some(0));
        // Nobody reads, so what the buffers of both sides cannot hold is not acknowledged.
        client.set_nonblocking(true).unwrap();
        let piece = vec![0; 1 << 20];
        while client.write(&piece).is_ok() {}
        assert!(unacknowledged(local, remote).unwrap() > 0);
        let (_server, _) = listener.accept().unwrap();
        assert_eq!(unacknowledged(remote, SocketAddr::new(local.ip(), 1)), None);
    }

    #[test]
    fn the_kernel_tells_what_is_not_acknowledged() {
        check(&TcpListener::bind("127.0.0.1:0").unwrap());
        if let Ok(listener) = TcpListener::bind((Ipv6Addr::LOCALHOST, 0)) {
            check(&listener);
        }
    }
}
