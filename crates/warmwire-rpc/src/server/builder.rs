//! What a server exposes and allows.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use warmwire_amp::{DEFAULT_MAX_MESSAGE, Fault, Value};
use warmwire_net::{Dialer, Endpoint, EndpointError, ListenOptions, ServerTls, Tls};

use super::registry::{Method, Registry};
use super::{Context, Counters, Handler, Limits, Server, Shared};
use crate::error::Error;

/// Describes a [`Server`].
///
/// | option | default |
/// |---|---|
/// | [`max_connections`](Self::max_connections) | 4096 |
/// | [`max_in_flight`](Self::max_in_flight) | 1024 per connection |
/// | [`max_message`](Self::max_message) | 16 MiB |
/// | [`handshake_timeout`](Self::handshake_timeout) | 10 s |
/// | [`mode`](Self::mode), [`allowed_uids`](Self::allowed_uids) | as the umask leaves; whom the mode lets |
/// | [`tls`](Self::tls) | none |
pub struct ServerBuilder {
    registry: Registry,
    limits: Limits,
    options: ListenOptions,
    tls_client: Tls,
}

impl Default for ServerBuilder {
    fn default() -> Self {
        Self {
            registry: Registry::default(),
            limits: Limits {
                max_message: DEFAULT_MAX_MESSAGE,
                max_in_flight: 1024,
                max_connections: 4096,
                handshake_timeout: Duration::from_secs(10),
            },
            options: ListenOptions::default(),
            tls_client: Tls::new(),
        }
    }
}

impl ServerBuilder {
    /// A name for the server, which faults for unknown methods tell.
    #[must_use]
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.registry.id = Some(id.into());
        self
    }

    /// Exposes an async function as the method `name`, in place of one of the same name.
    ///
    /// Its parameters are the call's arguments, by serde; missing ones are undefined, so an `Option`
    /// may be left out. A [`Context`] may stand before them. An error becomes the fault that the
    /// caller gets; `?` makes a [`Fault`] of every error. A panic becomes a fault, too, and nobody
    /// else notices.
    ///
    /// A handler that never waits runs where its connection is read. One that computes for long
    /// belongs on `tokio::task::spawn_blocking`, as everywhere in async code.
    #[must_use]
    pub fn expose<M, H: Handler<M>>(mut self, name: impl Into<String>, handler: H) -> Self {
        self.registry.insert(name.into(), Method::typed(handler));
        self
    }

    /// Exposes an async function that takes any number of arguments as they are.
    #[must_use]
    pub fn expose_values<F, O>(mut self, name: impl Into<String>, handler: F) -> Self
    where
        F: Fn(Context, Vec<Value>) -> O + Send + Sync + 'static,
        O: Future<Output = Result<Value, Fault>> + Send + 'static,
    {
        self.registry.insert(name.into(), Method::variadic(handler));
        self
    }

    /// How many peers may be connected at once. Others are closed as soon as they connect.
    /// Default 4096.
    #[must_use]
    pub fn max_connections(mut self, connections: usize) -> Self {
        self.limits.max_connections = connections;
        self
    }

    /// How many calls of one connection may be under way at once, at least 1. The calls after them
    /// are not read until there is room, so their callers wait. Default 1024.
    #[must_use]
    pub fn max_in_flight(mut self, calls: usize) -> Self {
        self.limits.max_in_flight = calls.max(1);
        self
    }

    /// The most bytes of a message, both ways. A peer that announces more is disconnected before
    /// anything is kept of it; a result that has more becomes a fault. Default 16 MiB.
    #[must_use]
    pub fn max_message(mut self, bytes: usize) -> Self {
        self.limits.max_message = bytes.min(crate::LARGEST_MESSAGE);
        self
    }

    /// How long a TLS handshake may take. Default 10 s.
    #[must_use]
    pub fn handshake_timeout(mut self, time: Duration) -> Self {
        self.limits.handshake_timeout = time;
        self
    }

    /// The mode of the file of a Unix socket, such as `0o660`; see [`ListenOptions::mode`].
    #[must_use]
    pub fn mode(mut self, mode: u32) -> Self {
        self.options = self.options.mode(mode);
        self
    }

    /// Who may connect to a Unix socket; see [`ListenOptions::allowed_uids`].
    #[must_use]
    pub fn allowed_uids(mut self, uids: impl IntoIterator<Item = u32>) -> Self {
        self.options = self.options.allowed_uids(uids);
        self
    }

    /// The certificate of `tls://` endpoints.
    #[must_use]
    pub fn tls(mut self, tls: ServerTls) -> Self {
        self.options = self.options.tls(tls);
        self
    }

    /// The TLS settings towards `tls://` endpoints that the server [connects](Server::connect) to.
    /// Default: the system's roots.
    #[must_use]
    pub fn tls_client(mut self, tls: Tls) -> Self {
        self.tls_client = tls;
        self
    }

    /// Speaks axon's bare req/rep in place of axon-rpc: every message goes to `handler`, whose
    /// parameters are its arguments, and whose result (an array as several values) is the reply
    /// behind a null for "no error". A fault's text is the error. See [`Req`](crate::Req) for the
    /// other side.
    #[must_use]
    pub fn reply<M, H: Handler<M>>(mut self, handler: H) -> Self {
        self.registry.plain = Some(Arc::new(Method::typed(handler)));
        self
    }

    /// As [`reply`](Self::reply), with a handler that takes any number of arguments as they are.
    #[must_use]
    pub fn reply_values<F, O>(mut self, handler: F) -> Self
    where
        F: Fn(Context, Vec<Value>) -> O + Send + Sync + 'static,
        O: Future<Output = Result<Value, Fault>> + Send + 'static,
    {
        self.registry.plain = Some(Arc::new(Method::variadic(handler)));
        self
    }

    /// Listens on `endpoint`: a port number (on all interfaces, as the field has it), a text such
    /// as `tcp://127.0.0.1:8888`, `tls://…`, `unix:///path`, or an [`Endpoint`].
    ///
    /// [`Server::bind`] adds others.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Endpoint`](crate::ErrorKind::Endpoint) if it is written wrongly,
    /// [`ErrorKind::Bind`](crate::ErrorKind::Bind) if the system does not let it listen, a
    /// certificate is missing or wrong, or another server holds the Unix socket.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime.
    pub async fn bind<E>(self, endpoint: E) -> Result<Server, Error>
    where
        E: TryInto<Endpoint>,
        E::Error: Into<EndpointError>,
    {
        let mut server = self.start();
        server.bind(endpoint).await?;
        Ok(server)
    }

    /// A server that listens nowhere yet: for one that only [connects](Server::connect).
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime.
    pub fn start(self) -> Server {
        let timeout = Some(self.limits.handshake_timeout);
        let shared = Shared {
            dialer: Dialer::new(self.tls_client, None, timeout),
            registry: self.registry,
            limits: self.limits,
            counters: Counters::default(),
            closing: CancellationToken::new(),
            ending: CancellationToken::new(),
            tasks: TaskTracker::new(),
            notified: TaskTracker::new(),
        };
        Server { shared: Arc::new(shared), addresses: Vec::new(), options: self.options }
    }
}
