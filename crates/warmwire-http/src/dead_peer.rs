//! Peers that have gone without a word: a request that they leave without an answer tells something
//! of the other connections to them.
//!
//! A NAT that forgets, a machine that is unplugged or suspended: no FIN comes, and each idle
//! connection looks alive until the kernel has probed it (TCP keep-alive), a minute later. Until then
//! each request on one of them would wait for its response timeout.

use std::io;
use std::net::SocketAddr;
use std::time::Instant;

use warmwire_pool::CloseReason;

use crate::conn::Conn;
use crate::core::Core;
use crate::wire::Fault;

/// A connection on which a request was left without an answer.
pub(crate) struct Silence {
    remote: SocketAddr,
    /// When the request was sent, as far as it could be.
    since: Instant,
}

impl Silence {
    /// Of a connection on which a timer has ended the exchange. `None` if its peer's TCP has
    /// acknowledged all of the request: then it lives, and its server is slow.
    pub(crate) fn after_timeout(conn: &Conn) -> Option<Silence> {
        let remote = conn.established.remote?;
        match conn.stream.unacknowledged() {
            Some(0) => None,
            _ => Some(Silence::of(conn, remote)),
        }
    }

    /// Of a connection that the kernel has given up, since its peer did not answer.
    pub(crate) fn after_fault(conn: &Conn, fault: &Fault) -> Option<Silence> {
        let remote = conn.established.remote?;
        is_silence(fault).then(|| Silence::of(conn, remote))
    }

    fn of(conn: &Conn, remote: SocketAddr) -> Silence {
        Silence { remote, since: conn.wire.progress().last.into_std() }
    }

    /// Closes the idle connections to the same address, but for those which were used since: their
    /// peer has answered then.
    pub(crate) fn retire_others(self, core: &Core) {
        core.with(|pool, now, actions| {
            pool.evict(CloseReason::PeerDead, now, actions, |_, view| {
                let established = view.connection.established.as_ref();
                established.is_some_and(|of| of.remote == Some(self.remote))
                    && view.idle_since.is_some_and(|idle_since| idle_since <= self.since)
            })
        });
    }
}

/// Whether the peer, or the way to it, does not answer any more.
pub(crate) fn is_silence(fault: &Fault) -> bool {
    matches!(fault, Fault::Io { error, .. } if is_silent(error))
}

pub(crate) fn is_silent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::TimedOut
            | io::ErrorKind::HostUnreachable
            | io::ErrorKind::NetworkUnreachable
    )
}
