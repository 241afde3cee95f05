//! The agent: a handle on a pool of connections.

use std::fmt;
use std::sync::Arc;

use bytes::Buf;
use http::uri::PathAndQuery;
use http::{Method, Uri};
use http_body::Body as HttpBody;
use warmwire_pool::{CloseReason, ConnectionId, Pool, RefuseReason};

use crate::body::Body;
use crate::builder::AgentBuilder;
use crate::core::{Config, Core, DialPermit, drained, origin_again, shut};
use crate::dial::{self, DialPhase};
use crate::error::{Error, ErrorKind, Phase};
use crate::key::{Address, Key, OriginName};
use crate::policy::Policy;
use crate::request::RequestBuilder;
use crate::response::Response;
use crate::send::Base;
use crate::stats::{self, Stats};
use crate::trace::Trace;
use crate::url::{self, IntoUri};

/// An HTTP(S) client whose connections are opened once and kept warm.
///
/// A handle: clones are cheap and share one pool. `Send`, `Sync`, and fit for a `static`. When
/// the last handle is dropped, every idle connection is closed at once and the others when their
/// exchange ends.
///
/// # The retry rule
///
/// A server may close an idle connection at the moment at which a request is sent on it. A
/// request that fails on a *reused* connection before a byte of the response came is sent again,
/// once, on a fresh connection, if nothing of it was written, or if its method is idempotent
/// (RFC 9110, section 9.2.2) or the caller said so
/// ([`idempotent`](RequestBuilder::idempotent)); and if its body is in memory, or a stream of
/// which nothing was taken yet. A 408 on a reused connection is such a failure for an idempotent
/// request in memory: a server may say by it that it gives an idle connection up (RFC 9110, section
/// 15.5.9). Nothing else is ever sent twice, and every error tells whether the request was
/// [sent](Error::sent).
#[derive(Clone)]
pub struct Agent(Arc<Handle>);

/// Closes the pool when the last [`Agent`] goes. Requests in progress hold the core and not this.
struct Handle {
    core: Arc<Core>,
}

impl Drop for Handle {
    fn drop(&mut self) {
        shut(&self.core);
    }
}

impl Agent {
    /// An agent with the defaults of [`AgentBuilder`].
    pub fn new() -> Agent {
        AgentBuilder::new().build().expect("the defaults are valid: a test builds them")
    }

    /// A builder for an agent with other settings.
    pub fn builder() -> AgentBuilder {
        AgentBuilder::new()
    }

    pub(crate) fn from_core(core: Arc<Core>) -> Agent {
        Agent(Arc::new(Handle { core }))
    }

    /// A request with this method.
    pub fn request(&self, method: Method, url: impl IntoUri) -> RequestBuilder {
        RequestBuilder::new(self, method, url.into_uri())
    }

    /// A GET request.
    pub fn get(&self, url: impl IntoUri) -> RequestBuilder {
        self.request(Method::GET, url)
    }

    /// A HEAD request.
    pub fn head(&self, url: impl IntoUri) -> RequestBuilder {
        self.request(Method::HEAD, url)
    }

    /// A POST request.
    pub fn post(&self, url: impl IntoUri) -> RequestBuilder {
        self.request(Method::POST, url)
    }

    /// A PUT request.
    pub fn put(&self, url: impl IntoUri) -> RequestBuilder {
        self.request(Method::PUT, url)
    }

    /// A PATCH request.
    pub fn patch(&self, url: impl IntoUri) -> RequestBuilder {
        self.request(Method::PATCH, url)
    }

    /// A DELETE request.
    pub fn delete(&self, url: impl IntoUri) -> RequestBuilder {
        self.request(Method::DELETE, url)
    }

    /// Sends a request of the `http` crate.
    ///
    /// # Errors
    ///
    /// As [`RequestBuilder::send`].
    ///
    /// # Cancel safety
    ///
    /// As [`RequestBuilder::send`].
    pub async fn execute<B>(&self, request: http::Request<B>) -> Result<Response, Error>
    where
        B: HttpBody + Send + 'static,
        B::Data: Buf,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let (parts, body) = request.into_parts();
        RequestBuilder::from_parts(self, parts, Body::new(body)).send().await
    }

    /// A handle for requests to one origin, whose URL is checked here once:
    /// `https://api.example.com`, or `unix:/run/docker.sock`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidRequest`] for what is no origin's URL, or one with a path.
    pub fn origin(&self, url: impl AsRef<str>) -> Result<Origin, Error> {
        Origin::new(self.clone(), url.as_ref())
    }

    /// Opens connections ahead until `connections` to the origin of `url` are open or being
    /// opened, and waits for them. Gives the number that it has opened: fewer than asked for
    /// where a limit is in the way, of connections or of idle ones.
    ///
    /// # Errors
    ///
    /// The first that occurs, of those that opening a connection can have; the other connections
    /// are opened all the same. At once while the origin is left in peace after failed dials
    /// ([`dial_backoff`](AgentBuilder::dial_backoff)).
    ///
    /// # Cancel safety
    ///
    /// When the future is dropped, what was begun goes on.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime.
    pub async fn warm(&self, url: impl IntoUri, connections: usize) -> Result<usize, Error> {
        let started = tokio::time::Instant::now();
        let uri = url.into_uri()?;
        let config = self.config();
        let address = Address::of(&uri, config.unix_socket.as_deref())?;
        let mut key = self.core().hooks.key(&address);
        let policy = key.policy().clone();
        let Policy { limits, timeouts, .. } = &*policy;
        let mut dials = Vec::new();
        // More than may be idle would be closed as soon as they are up.
        let target = connections.min(limits.max_idle);
        while let Some(permit) = self.room_to_warm(&mut key, target, dials.is_empty())? {
            let (done, end) = tokio::sync::oneshot::channel();
            let (timeout, phase) = (timeouts.connect, DialPhase::new());
            dial::spawn(self.core(), key.clone(), timeout, permit, phase, Some(done));
            dials.push(end);
        }
        let trace = Trace {
            timeouts: timeouts.clone(),
            key,
            started,
            acquired: started,
            timings: Default::default(),
            connection: None,
        };
        let mut opened = 0;
        let mut failure = None;
        for end in dials {
            match end.await {
                Ok(Ok(())) => opened += 1,
                Ok(Err(error)) => failure = failure.or(Some(error.into_error())),
                // The dial's task is gone without a word: the agent was closed.
                Err(_) => {
                    let closed =
                        Error::new(ErrorKind::Closed, Phase::Connect, "the agent is closed");
                    failure = failure.or(Some(closed));
                }
            }
        }
        failure.map_or(Ok(opened), |error| Err(trace.error(error)))
    }

    /// The numbers of this moment.
    pub fn stats(&self) -> Stats {
        Stats::of(self.core())
    }

    /// Closes every idle connection, and says how many. The agent goes on.
    pub fn close_idle(&self) -> usize {
        self.core().with(Pool::close_idle)
    }

    /// Closes every connection that `chosen` picks, and says how many: idle ones at once, those
    /// in use when their exchange ends. None of them is used for another request.
    ///
    /// `chosen` must not use the agent: it runs under the pool's lock.
    pub fn evict(&self, mut chosen: impl FnMut(&Candidate) -> bool) -> usize {
        self.core().with(|pool, now, actions| {
            pool.evict(CloseReason::Evicted, now, actions, |key, view| {
                chosen(&Candidate {
                    origin: OriginName::new(key),
                    id: view.id,
                    remote: view.connection.established.as_ref().and_then(|of| of.remote),
                    age: now.saturating_duration_since(view.opened_at),
                    idle: view.idle_since.map(|since| now.saturating_duration_since(since)),
                    requests: view.requests,
                })
            })
        })
    }

    /// Closes every connection to the origin of `url`, through whatever proxy it goes, and says how
    /// many: idle ones at once, those in use when their exchange ends. None of them is used for
    /// another request.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidRequest`] for what is no URL of an origin.
    pub fn evict_origin(&self, url: impl IntoUri) -> Result<usize, Error> {
        let uri = url.into_uri()?;
        let name = Address::of(&uri, self.config().unix_socket.as_deref())?.name();
        Ok(self.evict(|candidate| {
            // A name goes on after a space with what requests have of their own: a proxy, TLS.
            let rest = candidate.origin.as_str().strip_prefix(&*name);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
        }))
    }

    /// Refuses new requests, closes idle connections at once and the others when their exchange
    /// ends, and returns when all are closed.
    ///
    /// A response that is held unread holds its connection, and so this call.
    ///
    /// # Cancel safety
    ///
    /// The agent is closed as soon as the future was polled once; dropping it gives up the wait
    /// only.
    pub async fn close(&self) {
        shut(self.core());
        drained(self.core()).await;
    }

    pub(crate) fn core(&self) -> &Arc<Core> {
        &self.0.core
    }

    pub(crate) fn config(&self) -> &Config {
        &self.0.core.hooks.config
    }

    fn room_to_warm(
        &self,
        key: &mut Key,
        target: usize,
        is_first: bool,
    ) -> Result<Option<DialPermit>, Error> {
        let open = self.core().read(|pool| {
            let counters = pool.find(&*key).and_then(|origin| pool.counters(origin));
            counters.map_or(0, |counters| counters.open + counters.connecting)
        });
        if open >= target && !self.core().read(Pool::is_closed) {
            return Ok(None);
        }
        match self.core().open(|pool| origin_again(pool, key)) {
            Ok(permit) => Ok(Some(permit)),
            Err(RefuseReason::Closed) => {
                Err(Error::new(ErrorKind::Closed, Phase::Queue, "the agent is closed"))
            }
            Err(RefuseReason::BackingOff) if is_first => {
                let situation = stats::situation(self.core(), key);
                let text = format!("the last dials to {} failed: {situation}", key.name());
                Err(Error::new(ErrorKind::Connect, Phase::Queue, text))
            }
            Err(_) => Ok(None),
        }
    }
}

impl Default for Agent {
    fn default() -> Self {
        Agent::new()
    }
}

impl fmt::Debug for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let total = self.stats().total;
        f.debug_struct("Agent")
            .field("open", &total.open)
            .field("idle", &total.idle)
            .field("waiting", &total.waiting)
            .finish_non_exhaustive()
    }
}

/// A connection that [`Agent::evict`] asks about.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Candidate {
    /// Where it goes.
    pub origin: OriginName,
    /// Its number.
    pub id: ConnectionId,
    /// Its remote address; `None` for Unix sockets and a caller's own streams.
    pub remote: Option<std::net::SocketAddr>,
    /// Time since it was opened.
    pub age: std::time::Duration,
    /// Time since its last request ended; `None` while it carries one.
    pub idle: Option<std::time::Duration>,
    /// Requests that it has carried, one in progress included.
    pub requests: u64,
}

/// Requests to one origin, from [`Agent::origin`]: the URL is parsed and checked once, and each
/// request names only its path.
#[derive(Clone, Debug)]
pub struct Origin {
    agent: Agent,
    base: Arc<Base>,
}

impl Origin {
    fn new(agent: Agent, url: &str) -> Result<Origin, Error> {
        let (uri, unix) = url::origin(url)?;
        let base = Base::new(&agent, uri, unix.or(agent.config().unix_socket.as_deref()))?;
        Ok(Origin { agent, base: Arc::new(base) })
    }

    /// A request with this method to a path, `/v1/charges?limit=3`.
    pub fn request(&self, method: Method, path: impl AsRef<str>) -> RequestBuilder {
        RequestBuilder::to_origin(&self.agent, method, &self.base, self.path(path.as_ref()))
    }

    /// A GET request to a path.
    pub fn get(&self, path: impl AsRef<str>) -> RequestBuilder {
        self.request(Method::GET, path)
    }

    /// A HEAD request to a path.
    pub fn head(&self, path: impl AsRef<str>) -> RequestBuilder {
        self.request(Method::HEAD, path)
    }

    /// A POST request to a path.
    pub fn post(&self, path: impl AsRef<str>) -> RequestBuilder {
        self.request(Method::POST, path)
    }

    /// A PUT request to a path.
    pub fn put(&self, path: impl AsRef<str>) -> RequestBuilder {
        self.request(Method::PUT, path)
    }

    /// A PATCH request to a path.
    pub fn patch(&self, path: impl AsRef<str>) -> RequestBuilder {
        self.request(Method::PATCH, path)
    }

    /// A DELETE request to a path.
    pub fn delete(&self, path: impl AsRef<str>) -> RequestBuilder {
        self.request(Method::DELETE, path)
    }

    fn path(&self, path: &str) -> Result<Uri, Error> {
        if path == "/" {
            return Ok(Uri::from_static("/"));
        }
        let refuse = |why: &dyn fmt::Display| {
            let text = format!("{path:?} is not a path of {}: {why}", self.base.name());
            Error::request(ErrorKind::InvalidRequest, text)
        };
        if !path.starts_with('/') {
            return Err(refuse(&"it does not begin with a slash"));
        }
        let path: PathAndQuery = path.parse().map_err(|error| refuse(&error))?;
        Ok(path.into())
    }
}
