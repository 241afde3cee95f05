//! The client: calls the methods of a server.

mod builder;
mod call;
mod event;
mod keeper;
mod link;
mod shared;
mod stats;
mod task;

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use warmwire_amp::message::{Call as Message, Request, plain};
use warmwire_amp::{Object, Value};
use warmwire_net::{Connected, Endpoint, EndpointError, Listener};

pub use builder::{ClientBuilder, QueuePolicy};
pub use call::Call;
pub use event::Event;
pub(crate) use keeper::backoff;
pub(crate) use stats::Counter;
pub use stats::{ClientStats, Status};

use self::call::Untyped;
use self::link::Asked;
use self::shared::Shared;
use crate::args::Args;
use crate::error::{Error, ErrorKind};

/// A client of one server, to be cloned and shared.
///
/// Many calls are in flight on each of its connections, and their replies come in any order. Every
/// call ends: with a result, with a fault of the method, or with an error that says whether it was
/// sent. A call whose time was over before it was sent is never sent later.
///
/// When the last handle and the last call are dropped, its connections close.
#[derive(Clone, Debug)]
pub struct Client {
    handle: Arc<Handle>,
}

/// Ends the client when the last one of these is dropped.
#[derive(Debug)]
pub(crate) struct Handle {
    shared: Arc<Shared>,
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.shared.close();
        self.shared.ending.cancel();
    }
}

impl Client {
    /// Connects to a server with the defaults of [`ClientBuilder`]: a port number, a text such as
    /// `tcp://127.0.0.1:8888` or `unix:///path`, or an [`Endpoint`].
    ///
    /// # Errors
    ///
    /// As [`ClientBuilder::connect`].
    pub async fn connect<E>(endpoint: E) -> Result<Client, Error>
    where
        E: TryInto<Endpoint>,
        E::Error: Into<EndpointError>,
    {
        Self::builder().connect(endpoint).await
    }

    /// A client to be described and connected.
    pub fn builder() -> ClientBuilder {
        ClientBuilder::default()
    }

    fn start(shared: Arc<Shared>, first: Option<Connected>) -> Client {
        shared.add_source(shared.endpoint.clone(), first);
        Client { handle: Arc::new(Handle { shared }) }
    }

    fn listening(shared: Arc<Shared>, listener: Listener) -> Client {
        shared.lock().keepers += 1;
        shared.tasks.spawn(keeper::accept(Arc::clone(&shared), listener));
        Client { handle: Arc::new(Handle { shared }) }
    }

    /// Connects to one more peer that exposes the same methods, in the background. Calls go to the
    /// connection with the fewest in flight, whichever peer's it is.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Endpoint`] if the endpoint is written wrongly.
    pub fn add<E>(&self, endpoint: E) -> Result<(), Error>
    where
        E: TryInto<Endpoint>,
        E::Error: Into<EndpointError>,
    {
        self.handle.shared.add_source(crate::endpoint(endpoint)?, None);
        Ok(())
    }

    /// Ends the connections to a peer, and the attempts to make others. The calls under way on
    /// them end as [`Disconnected`](ErrorKind::Disconnected). Returns whether there was such a peer.
    pub fn remove(&self, endpoint: &Endpoint) -> bool {
        let mut state = self.handle.shared.lock();
        let before = state.sources.len();
        state.sources.retain(|source| {
            let goes = source.endpoint == *endpoint;
            if goes {
                source.ending.cancel();
            }
            !goes
        });
        state.sources.len() < before
    }

    /// Calls `method` with the arguments of a tuple, and gives its result as a `T`.
    ///
    /// A method without a result gives `()` or [`Value::Undefined`], one with several (in Node)
    /// gives them as a tuple or a `Vec`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Fault`] with what the method answered; [`Timeout`](ErrorKind::Timeout),
    /// [`Disconnected`](ErrorKind::Disconnected), [`QueueFull`](ErrorKind::QueueFull),
    /// [`Closed`](ErrorKind::Closed); [`Value`](ErrorKind::Value) if an argument or the result does
    /// not fit; [`TooLarge`](ErrorKind::TooLarge); [`Protocol`](ErrorKind::Protocol).
    ///
    /// # Cancel safety
    ///
    /// As [`Call`] says.
    pub fn call<T>(&self, method: &str, arguments: impl Args) -> Call<T> {
        let request = arguments.into_values().map(|arguments| {
            let method = method.to_owned();
            Asked::Rpc(Request::Call(Message { method, arguments, ..Message::default() }))
        });
        let request = request.map_err(Error::from);
        Call::new(Arc::clone(&self.handle), request)
    }

    /// Calls `method` without waiting for an answer, and returns when the request is in the
    /// buffer of a connection. Nobody learns whether the method ran.
    ///
    /// # Errors
    ///
    /// As [`call`](Self::call), for all that happens before it is sent.
    ///
    /// # Cancel safety
    ///
    /// Dropped, it is not sent.
    pub async fn notify(&self, method: &str, arguments: impl Args) -> Result<(), Error> {
        let request = arguments.into_values().map(|arguments| {
            let method = method.to_owned();
            let message = Message { method, arguments, notify: true, ..Message::default() };
            Asked::Rpc(Request::Call(message))
        });
        self.untyped(request.map_err(Error::from)).await.map(drop)
    }

    /// The server's methods: for each name an object with `name` and `params`.
    ///
    /// # Errors
    ///
    /// As [`call`](Self::call). A Node server that exposes a function which axon-rpc cannot read the
    /// parameters of ends itself at this question.
    ///
    /// # Cancel safety
    ///
    /// May be dropped.
    pub async fn methods(&self) -> Result<Object, Error> {
        let call: Call<Value> =
            Call::new(Arc::clone(&self.handle), Ok(Asked::Rpc(Request::Methods)));
        match call.await? {
            Value::Object(methods) => Ok(methods),
            other => {
                let error = format!("the list of methods is {} and no object", other.kind());
                Err(Error::new(ErrorKind::Protocol, error).at(&self.handle.shared.endpoint))
            }
        }
    }

    /// Asks whether anybody is there, and returns how long the answer took.
    ///
    /// An axon server is asked for a method that it does not have, and its saying so is the answer.
    ///
    /// # Errors
    ///
    /// As [`call`](Self::call).
    ///
    /// # Cancel safety
    ///
    /// May be dropped.
    pub async fn ping(&self) -> Result<Duration, Error> {
        let start = Instant::now();
        match self.untyped(Ok(Asked::Rpc(Request::Ping))).await {
            Err(error) if error.kind() != ErrorKind::Fault => Err(error),
            Ok(_) | Err(_) => Ok(start.elapsed()),
        }
    }

    /// How it stands.
    pub fn status(&self) -> Status {
        let shared = &self.handle.shared;
        let state = shared.lock();
        Status {
            connections: state.links.len(),
            warmwire: state.links.iter().filter(|link| link.is_extended()).count(),
            in_flight: state.links.iter().map(|link| link.in_flight()).sum(),
            waiting: shared.waiting(),
            last_error: state.last_error.clone(),
            oldest: state.links.iter().map(|link| link.age()).max(),
        }
    }

    /// What it has counted.
    pub fn stats(&self) -> ClientStats {
        let status = self.status();
        ClientStats {
            in_flight: status.in_flight as u64,
            waiting: status.waiting as u64,
            ..self.handle.shared.counters.stats()
        }
    }

    /// The endpoint that it calls.
    pub fn endpoint(&self) -> &Endpoint {
        &self.handle.shared.endpoint
    }

    /// Takes no more calls, waits for those under way, and closes the connections. Calls that wait
    /// for a connection fail with [`ErrorKind::Closed`].
    ///
    /// # Cancel safety
    ///
    /// Dropped, the client stays closed; the calls under way go on.
    pub async fn close(&self) {
        let shared = &self.handle.shared;
        shared.close();
        shared.tasks.close();
        shared.tasks.wait().await;
    }

    pub(crate) fn handle(&self) -> &Arc<Handle> {
        &self.handle
    }

    /// A request of bare arguments.
    pub(crate) fn send_plain(&self, values: Vec<Value>) -> Call<Vec<Value>> {
        let arguments = plain::arguments(values, plain::MAX_PLAIN);
        let request = arguments.map(Asked::Plain);
        let request =
            request.map_err(|fault| Error::new(ErrorKind::Value, fault.message().to_owned()));
        Call::new(Arc::clone(&self.handle), request)
    }

    fn untyped(&self, request: Result<Asked, Error>) -> Untyped {
        Untyped::new(Arc::clone(&self.handle), request)
    }
}
