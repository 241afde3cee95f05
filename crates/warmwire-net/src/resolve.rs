//! From a name to addresses.

use std::io;
use std::net::IpAddr;

use crate::BoxFuture;

/// Looks a host name up.
///
/// Called once for each connection that is opened to a name (never for an IP literal or a Unix
/// socket). The future counts against the connect timeout.
pub trait Resolve: Send + Sync + 'static {
    /// The addresses of `host`, best first.
    ///
    /// # Errors
    ///
    /// An [`io::Error`]; [`io::ErrorKind::NotFound`] says that the name does not exist. An empty
    /// answer is treated as not found.
    fn resolve(&self, host: &str) -> BoxFuture<'static, io::Result<Vec<IpAddr>>>;
}

/// The operating system's resolver (`getaddrinfo`), on the runtime's blocking threads.
///
/// It gives no TTL, so nothing is cached here: a look-up is made for each new connection, of which
/// a pool makes few.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemResolver;

impl Resolve for SystemResolver {
    fn resolve(&self, host: &str) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        let host = host.to_owned();
        Box::pin(async move {
            let found = tokio::net::lookup_host((host.as_str(), 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    }
}
