//! What a client does, and how much.

use std::sync::Arc;
use std::time::Duration;

use warmwire_amp::DEFAULT_MAX_MESSAGE;
use warmwire_net::{Dialer, Endpoint, EndpointError, ListenOptions, Resolve, ServerTls, Tls};

use super::event::Event;
use super::shared::Shared;
use super::{Client, keeper};
use crate::error::Error;

/// What happens to a call that no connection has room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum QueuePolicy {
    /// It waits until its time is over. The memory is that of its future.
    Wait,
    /// It fails at once.
    Off,
    /// It waits, but fails at once if the queue is full.
    DropNew,
    /// It waits, and the call that has waited longest fails if the queue is full.
    DropOld,
}

#[derive(Clone, Debug)]
pub(crate) struct Queue {
    pub(crate) policy: QueuePolicy,
    pub(crate) max_calls: usize,
    pub(crate) max_bytes: usize,
}

/// What an event listener is.
pub(crate) type Listener = Arc<dyn Fn(&Event<'_>) + Send + Sync>;

pub(crate) struct Options {
    pub(crate) pool: usize,
    pub(crate) timeout: Option<Duration>,
    pub(crate) max_in_flight: usize,
    pub(crate) max_message: usize,
    pub(crate) queue: Queue,
    pub(crate) reconnect: bool,
    pub(crate) backoff: (Duration, Duration),
    pub(crate) resend_unsent: bool,
    pub(crate) on_event: Option<Listener>,
    /// Axon's bare req/rep.
    pub(crate) plain: bool,
}

/// Describes a [`Client`].
///
/// | option | default |
/// |---|---|
/// | [`pool`](Self::pool) | 1 connection |
/// | [`timeout`](Self::timeout) | 30 s per call |
/// | [`connect_timeout`](Self::connect_timeout) | 10 s |
/// | [`max_in_flight`](Self::max_in_flight) | 1024 calls per connection |
/// | [`max_message`](Self::max_message) | 16 MiB |
/// | [`queue`](Self::queue) | calls wait |
/// | [`queue_limits`](Self::queue_limits) | 1024 calls, 16 MiB |
/// | [`reconnect`](Self::reconnect) | yes |
/// | [`backoff`](Self::backoff) | 100 ms to 5 s |
/// | [`resend_unsent`](Self::resend_unsent) | no |
pub struct ClientBuilder {
    options: Options,
    tls: Tls,
    resolver: Option<Arc<dyn Resolve>>,
    connect_timeout: Option<Duration>,
    listen: ListenOptions,
}

impl Default for ClientBuilder {
    fn default() -> Self {
        Self {
            options: Options {
                pool: 1,
                timeout: Some(Duration::from_secs(30)),
                max_in_flight: 1024,
                max_message: DEFAULT_MAX_MESSAGE,
                queue: Queue {
                    policy: QueuePolicy::Wait,
                    max_calls: 1024,
                    max_bytes: DEFAULT_MAX_MESSAGE,
                },
                reconnect: true,
                backoff: (Duration::from_millis(100), Duration::from_secs(5)),
                resend_unsent: false,
                on_event: None,
                plain: false,
            },
            tls: Tls::new(),
            resolver: None,
            connect_timeout: Some(Duration::from_secs(10)),
            listen: ListenOptions::default(),
        }
    }
}

impl ClientBuilder {
    /// How many connections are kept open, at least 1. A call takes the one with the fewest calls
    /// in flight. Default 1: one carries thousands of calls at once, and more pay only where large
    /// messages or a busy core of the peer's hold the others up.
    #[must_use]
    pub fn pool(mut self, connections: usize) -> Self {
        self.options.pool = connections.max(1);
        self
    }

    /// How long a call may take, waiting for a connection included; `None` waits for ever. A call
    /// may [say otherwise](super::Call::timeout). Default 30 s.
    #[must_use]
    pub fn timeout(mut self, time: impl Into<Option<Duration>>) -> Self {
        self.options.timeout = time.into();
        self
    }

    /// How long connecting may take: look-up, TCP and TLS together. Default 10 s.
    #[must_use]
    pub fn connect_timeout(mut self, time: impl Into<Option<Duration>>) -> Self {
        self.connect_timeout = time.into();
        self
    }

    /// How many calls one connection may have in flight, at least 1. Others wait. Default 1024, as
    /// many as a [`Server`](crate::Server) runs at once for one peer.
    #[must_use]
    pub fn max_in_flight(mut self, calls: usize) -> Self {
        self.options.max_in_flight = calls.max(1);
        self
    }

    /// The most bytes of a message, both ways: a call with more fails before it is sent, and a peer
    /// that announces more is disconnected before anything is kept of it. Default 16 MiB.
    #[must_use]
    pub fn max_message(mut self, bytes: usize) -> Self {
        self.options.max_message = bytes.min(crate::LARGEST_MESSAGE);
        self
    }

    /// What happens to calls that no connection has room for: while there is none, and while all
    /// are full. Default [`QueuePolicy::Wait`].
    #[must_use]
    pub fn queue(mut self, policy: QueuePolicy) -> Self {
        self.options.queue.policy = policy;
        self
    }

    /// How many calls, and about how many bytes of arguments, may wait with
    /// [`QueuePolicy::DropNew`] and [`DropOld`](QueuePolicy::DropOld). Default 1024 and 16 MiB.
    #[must_use]
    pub fn queue_limits(mut self, calls: usize, bytes: usize) -> Self {
        self.options.queue.max_calls = calls;
        self.options.queue.max_bytes = bytes;
        self
    }

    /// Whether lost connections are opened again. If not, every call fails once there is none.
    /// Default yes.
    #[must_use]
    pub fn reconnect(mut self, reconnect: bool) -> Self {
        self.options.reconnect = reconnect;
        self
    }

    /// How long to wait before connecting again after the first failure, and at most. Each failure
    /// waits half as long again as the one before, with a jitter of a quarter; only a connection
    /// that was answered on, or lived longer than the greatest wait, starts again with the first.
    /// Default 100 ms and 5 s, axon's values.
    #[must_use]
    pub fn backoff(mut self, first: Duration, longest: Duration) -> Self {
        let first = first.max(Duration::from_millis(1));
        self.options.backoff = (first, longest.max(first));
        self
    }

    /// Whether a call of which nothing was sent when its connection ended waits for another
    /// connection, in place of failing with `sent: no`. Default no.
    #[must_use]
    pub fn resend_unsent(mut self, resend: bool) -> Self {
        self.options.resend_unsent = resend;
        self
    }

    /// The TLS settings of `tls://` endpoints. Default: the system's roots.
    #[must_use]
    pub fn tls(mut self, tls: Tls) -> Self {
        self.tls = tls;
        self
    }

    /// The certificate of a client that [listens](Self::bind) on `tls://`.
    #[must_use]
    pub fn tls_server(mut self, tls: ServerTls) -> Self {
        self.listen = self.listen.tls(tls);
        self
    }

    /// Looks names up in place of the system.
    #[must_use]
    pub fn resolver(mut self, resolver: impl Resolve) -> Self {
        self.resolver = Some(Arc::new(resolver));
        self
    }

    /// Is told what happens to connections. Must not block.
    #[must_use]
    pub fn on_event(mut self, listener: impl Fn(&Event<'_>) + Send + Sync + 'static) -> Self {
        self.options.on_event = Some(Arc::new(listener));
        self
    }

    /// Connects to `endpoint`, and returns when the first connection is up. The others of the pool
    /// follow in the background.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Endpoint`](crate::ErrorKind::Endpoint) if it is written wrongly,
    /// [`ErrorKind::Connect`](crate::ErrorKind::Connect) if nobody can be reached there.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime, on which the client lives from then on.
    pub async fn connect<E>(self, endpoint: E) -> Result<Client, Error>
    where
        E: TryInto<Endpoint>,
        E::Error: Into<EndpointError>,
    {
        let shared = self.shared(endpoint)?;
        let first = keeper::dial(&shared, &shared.endpoint).await?;
        Ok(Client::start(shared, Some(first)))
    }

    /// A client that connects in the background. Calls wait for the connection as
    /// [`queue`](Self::queue) says.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Endpoint`](crate::ErrorKind::Endpoint) if the endpoint is written wrongly.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime, on which the client lives from then on.
    pub fn connect_lazily<E>(self, endpoint: E) -> Result<Client, Error>
    where
        E: TryInto<Endpoint>,
        E::Error: Into<EndpointError>,
    {
        Ok(Client::start(self.shared(endpoint)?, None))
    }

    /// A client that listens on `endpoint`, and calls whoever connects: a `rep` socket of axon, or a
    /// server that [connects](crate::Server::connect). [`tls_server`](Self::tls_server) has the
    /// certificate of `tls://` endpoints.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Endpoint`](crate::ErrorKind::Endpoint) if it is written wrongly,
    /// [`ErrorKind::Bind`](crate::ErrorKind::Bind) if the system does not let it listen.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime, on which the client lives from then on.
    pub async fn bind<E>(self, endpoint: E) -> Result<Client, Error>
    where
        E: TryInto<Endpoint>,
        E::Error: Into<EndpointError>,
    {
        let options = self.listen.clone();
        let endpoint = crate::endpoint(endpoint)?;
        let listener = crate::listen(&endpoint, &options).await?;
        let shared = self.shared(listener.local_endpoint())?;
        Ok(Client::listening(shared, listener))
    }

    /// Speaks axon's bare req/rep in place of axon-rpc: see [`Req`](crate::Req).
    pub(crate) fn plain(mut self) -> Self {
        self.options.plain = true;
        self
    }

    fn shared<E>(self, endpoint: E) -> Result<Arc<Shared>, Error>
    where
        E: TryInto<Endpoint>,
        E::Error: Into<EndpointError>,
    {
        let endpoint = crate::endpoint(endpoint)?;
        let dialer = Dialer::new(self.tls, self.resolver, self.connect_timeout);
        Ok(Arc::new(Shared::new(endpoint, self.options, dialer)))
    }
}
