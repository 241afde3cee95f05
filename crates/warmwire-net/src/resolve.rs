//! From a name to addresses.

use std::io;
use std::net::{IpAddr, ToSocketAddrs};
use std::time::Duration;

use tokio::sync::Semaphore;

use crate::BoxFuture;

/// What a look-up has found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Resolved {
    /// The addresses, best first.
    pub addresses: Vec<IpAddr>,
    /// How long they hold, from the look-up on: the TTL. `None` if that is not known.
    pub valid_for: Option<Duration>,
}

impl Resolved {
    /// Addresses that hold for a known time.
    pub fn new(addresses: Vec<IpAddr>, valid_for: Option<Duration>) -> Resolved {
        Resolved { addresses, valid_for }
    }
}

impl From<Vec<IpAddr>> for Resolved {
    fn from(addresses: Vec<IpAddr>) -> Resolved {
        Resolved { addresses, valid_for: None }
    }
}

/// Looks a host name up.
///
/// Called when a connection is opened to a name whose addresses are not known or no longer valid
/// (never for an IP literal or a Unix socket), once for all dials that wait for it, and now and
/// then for a name in use. The future counts against the connect timeout.
pub trait Resolve: Send + Sync + 'static {
    /// The addresses of `host`, best first, and how long they hold.
    ///
    /// # Errors
    ///
    /// An [`io::Error`]; [`io::ErrorKind::NotFound`] says that the name does not exist. An empty
    /// answer is treated as not found.
    fn resolve(&self, host: &str) -> BoxFuture<'static, io::Result<Resolved>>;
}

/// Look-ups of the whole process that may be under way at once: a name server that is silent must
/// not take all blocking threads of a runtime (512), of which each look-up holds one.
const MOST_LOOKUPS: usize = 64;

static LOOKUPS: Semaphore = Semaphore::const_new(MOST_LOOKUPS);

/// The operating system's resolver (`getaddrinfo`), on the runtime's blocking threads, at most 64
/// look-ups of the process at once. It tells no TTL.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemResolver;

impl Resolve for SystemResolver {
    fn resolve(&self, host: &str) -> BoxFuture<'static, io::Result<Resolved>> {
        let host = host.to_owned();
        Box::pin(async move {
            let turn = LOOKUPS.acquire().await.map_err(io::Error::other)?;
            let look_up = move || {
                // To the end of the thread's work, which goes on when nobody waits for it any more.
                let _turn = turn;
                (host.as_str(), 0).to_socket_addrs()
            };
            let found = tokio::task::spawn_blocking(look_up).await.map_err(io::Error::other)??;
            Ok(found.map(|address| address.ip()).collect::<Vec<_>>().into())
        })
    }
}
