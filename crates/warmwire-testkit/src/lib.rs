//! Scripted peers and helpers for Warmwire's tests.
//!
//! A [`Server`] listens on loopback TCP (with TLS if asked to), on a Unix socket or in memory, and
//! runs a script, an async closure over a [`Peer`], for each connection. It [counts](Counts) what
//! it sees, since a limit is only kept if the other end says so.
//!
//! Nothing here sleeps to be right: scripts wait at a [`Gate`] or for the client, tests wait for
//! counts with [`Server::until`], which fails after [`GUARD`] with the counts that it saw. A test
//! about time runs on tokio's paused clock against [`Server::memory`].

mod black_hole;
mod certificates;
mod counts;
mod dns;
mod gate;
mod guard;
#[cfg(target_os = "linux")]
mod netns;
mod peer;
mod proxy;
mod random;
mod request;
mod response;
mod server;
mod transport;

pub use black_hole::BlackHole;
pub use certificates::{Certificates, Identity};
pub use counts::Counts;
pub use dns::{DnsAnswer, DnsRecord, DnsServer};
pub use gate::Gate;
pub use guard::{GUARD, guarded};
#[cfg(target_os = "linux")]
pub use netns::Netns;
pub use peer::Peer;
pub use proxy::ProxyScript;
pub use random::Random;
pub use request::Request;
pub use response::{Reply, ok};
pub use server::{Dialer, Server, ServerTls};
