//! The server: exposes methods on one or more endpoints.

mod builder;
mod context;
mod dial;
mod handler;
mod invoke;
mod registry;
mod session;

use std::fmt;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use warmwire_net::{Accepted, Dialer, Endpoint, EndpointError, ListenOptions, Listener};

pub use builder::ServerBuilder;
pub use context::{Caller, Context};
pub use handler::{Handler, WithContext};

use self::registry::Registry;
use self::session::Session;
use crate::error::Error;

/// A server, which answers calls until it is closed or dropped.
///
/// Dropped, it closes every connection at once and drops the handlers that run; [`close`](Self::close)
/// answers first what was accepted.
#[derive(Debug)]
pub struct Server {
    shared: Arc<Shared>,
    addresses: Vec<Endpoint>,
    options: ListenOptions,
}

/// What a server counts, since it was bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerStats {
    /// Connections that are open.
    pub connections: u64,
    /// Connections that were accepted.
    pub accepted: u64,
    /// Connections that were closed at once, since there were `max_connections` already.
    pub refused: u64,
    /// Calls that came in, notifications among them.
    pub calls: u64,
    /// Faults that were answered, those for requests that could not be read among them.
    pub faults: u64,
}

pub(crate) struct Shared {
    registry: Registry,
    limits: Limits,
    dialer: Dialer,
    counters: Counters,
    /// Answer what has come, and take no more.
    closing: CancellationToken,
    /// End at once.
    ending: CancellationToken,
    tasks: TaskTracker,
    /// Handlers that nobody waits for.
    notified: TaskTracker,
}

#[derive(Clone, Copy, Debug)]
struct Limits {
    max_message: usize,
    max_in_flight: usize,
    max_connections: usize,
    handshake_timeout: Duration,
}

#[derive(Default)]
struct Counters {
    open: AtomicU64,
    accepted: AtomicU64,
    refused: AtomicU64,
    calls: AtomicU64,
    faults: AtomicU64,
}

impl Server {
    /// A server to be described and [bound](ServerBuilder::bind).
    pub fn builder() -> ServerBuilder {
        ServerBuilder::default()
    }

    /// Listens on one more endpoint; the methods and limits are the same there.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Endpoint`](crate::ErrorKind::Endpoint) or [`ErrorKind::Bind`](crate::ErrorKind::Bind), as in [`ServerBuilder::bind`].
    pub async fn bind<E>(&mut self, endpoint: E) -> Result<(), Error>
    where
        E: TryInto<Endpoint>,
        E::Error: Into<EndpointError>,
    {
        let endpoint = crate::endpoint(endpoint)?;
        let listener = crate::listen(&endpoint, &self.options).await?;
        self.addresses.push(listener.local_endpoint().clone());
        self.shared.tasks.spawn(accept(listener, Arc::clone(&self.shared)));
        Ok(())
    }

    /// Connects to a peer and answers its calls: one that [listens](crate::ClientBuilder::bind) for
    /// servers, as axon's sockets may. A connection that ends is opened again, after growing waits.
    /// The TLS settings are those of [`ServerBuilder::tls_client`].
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Endpoint`](crate::ErrorKind::Endpoint) if the endpoint is written wrongly.
    pub fn connect<E>(&self, endpoint: E) -> Result<(), Error>
    where
        E: TryInto<Endpoint>,
        E::Error: Into<EndpointError>,
    {
        let endpoint = crate::endpoint(endpoint)?;
        self.shared.tasks.spawn(dial::keep(Arc::clone(&self.shared), endpoint));
        Ok(())
    }

    /// Where it listens first, with the port that the system chose. Of a server that only connects,
    /// a port at which nobody listens.
    pub fn local_address(&self) -> &Endpoint {
        static NOWHERE: OnceLock<Endpoint> = OnceLock::new();
        self.addresses.first().unwrap_or_else(|| NOWHERE.get_or_init(|| Endpoint::from(0)))
    }

    /// Everywhere where it listens, in the order of the binds.
    pub fn local_addresses(&self) -> &[Endpoint] {
        &self.addresses
    }

    /// What it has counted.
    pub fn stats(&self) -> ServerStats {
        let counters = &self.shared.counters;
        ServerStats {
            connections: counters.open.load(Relaxed),
            accepted: counters.accepted.load(Relaxed),
            refused: counters.refused.load(Relaxed),
            calls: counters.calls.load(Relaxed),
            faults: counters.faults.load(Relaxed),
        }
    }

    /// Stops listening, answers every request that has come, waits for the handlers of
    /// notifications, and closes the connections.
    ///
    /// Waits for as long as handlers run; whoever has less patience puts a time limit around it.
    ///
    /// # Cancel safety
    ///
    /// Dropped, the server ends at once.
    pub async fn close(self) {
        self.shared.closing.cancel();
        self.shared.tasks.close();
        self.shared.tasks.wait().await;
        self.shared.notified.close();
        self.shared.notified.wait().await;
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.closing.cancel();
        self.shared.ending.cancel();
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("limits", &self.limits).finish_non_exhaustive()
    }
}

/// Accepts peers until the server closes. The listener goes with it.
async fn accept(listener: Listener, server: Arc<Shared>) {
    let closing = server.closing.clone();
    // A listening socket that has failed does not recover; what is connected is served on.
    while let Some(Ok(accepted)) = closing.run_until_cancelled(listener.accept()).await {
        if server.counters.open.load(Relaxed) >= server.limits.max_connections as u64 {
            server.counters.refused.fetch_add(1, Relaxed);
            continue;
        }
        server.counters.accepted.fetch_add(1, Relaxed);
        server.counters.open.fetch_add(1, Relaxed);
        server.tasks.spawn(serve(accepted, Arc::clone(&server)));
    }
}

async fn serve(accepted: Accepted, server: Arc<Shared>) {
    let counted = Arc::clone(&server);
    let ending = server.ending.clone();
    let session = async {
        let handshake = accepted.handshake(server.limits.handshake_timeout);
        // A peer that fails it is gone, and has been told so by TLS.
        if let Some(Ok((stream, peer))) = server.closing.run_until_cancelled(handshake).await {
            Session::new(stream, peer, Arc::clone(&server)).run().await;
        }
    };
    ending.run_until_cancelled(session).await;
    counted.counters.open.fetch_sub(1, Relaxed);
}
