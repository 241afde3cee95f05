//! A private HTTP cache (RFC 9111) above the agent.
//!
//! ```no_run
//! use tower_service::Service;
//! use warmwire_http::{Agent, Body};
//! use warmwire_plugs::cache::{Cache, CacheStatus, MemoryStore};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let mut agent = Cache::new(Agent::new(), MemoryStore::new(64 * 1024 * 1024));
//! let request = http::Request::get("https://api.example.com/prices").body(Body::empty())?;
//! let response = agent.call(request).await?;
//! println!("{:?}", response.extensions().get::<CacheStatus>());
//! # Ok(()) }
//! ```
//!
//! What may be kept, for how long, and what a `304 Not Modified` changes, is the business of the
//! crate `http-cache-semantics`; freshness goes by the clock of the system. A stale response that has
//! a validator is asked about with `If-None-Match` or `If-Modified-Since`. Responses are kept for each
//! combination of the headers that `Vary` names, eight for a URL. A successful request with an unsafe
//! method forgets what is kept of its URL, and of those of the same origin that its answer names in
//! `Location` and `Content-Location`.
//!
//! Only GET is answered from the cache. Requests with `Range` or with conditions of their own pass
//! as they are. `Cache-Control` in a request is obeyed, `only-if-cached` by a 504.
//!
//! A body passes to the caller as it comes and is kept when it has come to its end; one of more than
//! [`max_body`](Cache::max_body) is passed on and not kept, as is one with trailers. A cache is
//! private: a response to a request with `Authorization` is used for the same `Authorization` only,
//! but users who are told apart by other headers, which the server's `Vary` does not name, need
//! caches of their own.

mod entry;
mod memory;
mod record;

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::SystemTime;

use bytes::Buf;
use http::header::{self, HeaderMap, HeaderName};
use http::{Method, Request, Response, StatusCode, Uri};
use http_body::Body as HttpBody;
use http_cache_semantics::{AfterResponse, CachePolicy};
use tower_layer::Layer;
use tower_service::Service;
use warmwire_http::Body;

pub use entry::Entry;
pub use memory::MemoryStore;

use entry::Found;
use record::Recording;

type BoxError = Box<dyn std::error::Error + Send + Sync>;
type ResponseFuture<E> = Pin<Box<dyn Future<Output = Result<Response<Body>, E>> + Send>>;

/// Responses kept for one URL, at most.
const MAX_VARIANTS: usize = 8;

/// Headers by which a caller asks for something else than a whole, present response.
const OWN_CONDITIONS: [HeaderName; 6] = [
    header::RANGE,
    header::IF_MATCH,
    header::IF_NONE_MATCH,
    header::IF_MODIFIED_SINCE,
    header::IF_UNMODIFIED_SINCE,
    header::IF_RANGE,
];

/// Where responses are kept, by URL.
///
/// Called on the tasks of requests, so it should not block for long.
pub trait Store: Send + Sync + 'static {
    /// What is kept for this URL: one response for each combination of the headers it varies by.
    fn get(&self, url: &str) -> Vec<Arc<Entry>>;

    /// Keeps these in place of what was kept for this URL; none forgets it. A store may drop what
    /// it will.
    fn put(&self, url: &str, entries: Vec<Arc<Entry>>);
}

/// How a response came about: in the extensions of what [`Cache`] answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CacheStatus {
    /// Out of the cache, without a word to the server.
    Hit,
    /// Out of the cache, after the server said that it still holds.
    Revalidated,
    /// From the server.
    Miss,
    /// From the server, of a request that no cache may answer.
    Bypass,
}

/// Makes [`Cache`] services over one store in a `tower` stack.
#[derive(Clone)]
pub struct CacheLayer {
    store: Arc<dyn Store>,
    max_body: usize,
}

impl CacheLayer {
    /// Over this store.
    pub fn new(store: impl Store) -> CacheLayer {
        CacheLayer { store: Arc::new(store), max_body: DEFAULT_MAX_BODY }
    }

    /// See [`Cache::max_body`].
    pub fn max_body(mut self, bytes: usize) -> CacheLayer {
        self.max_body = bytes;
        self
    }
}

impl<S> Layer<S> for CacheLayer {
    type Service = Cache<S>;

    fn layer(&self, inner: S) -> Cache<S> {
        Cache { inner, store: self.store.clone(), max_body: self.max_body }
    }
}

const DEFAULT_MAX_BODY: usize = 1024 * 1024;

/// A service with a private cache; see the [module](self).
#[derive(Clone)]
pub struct Cache<S> {
    inner: S,
    store: Arc<dyn Store>,
    max_body: usize,
}

impl<S> Cache<S> {
    /// Around an [`Agent`](warmwire_http::Agent) or any other HTTP service.
    pub fn new(inner: S, store: impl Store) -> Cache<S> {
        CacheLayer::new(store).layer(inner)
    }

    /// The longest body that is kept, in bytes; default 1 MiB.
    pub fn max_body(mut self, bytes: usize) -> Cache<S> {
        self.max_body = bytes;
        self
    }

    /// The service inside.
    pub fn get_ref(&self) -> &S {
        &self.inner
    }
}

impl<S, B, R> Service<Request<B>> for Cache<S>
where
    S: Service<Request<B>, Response = Response<R>>,
    S::Future: Send + 'static,
    S::Error: Send + 'static,
    R: HttpBody + Send + 'static,
    R::Data: Buf,
    R::Error: Into<BoxError>,
{
    type Response = Response<Body>;
    type Error = S::Error;
    type Future = ResponseFuture<S::Error>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        let own_conditions =
            OWN_CONDITIONS.iter().any(|condition| request.headers().contains_key(condition));
        if request.method() != Method::GET || own_conditions {
            return self.pass(request);
        }
        let asked = head_of(&request);
        let keeper = Keeper {
            url: asked.uri().to_string(),
            store: self.store.clone(),
            max_body: self.max_body,
        };
        let stale = match entry::find(&self.store.get(&keeper.url), &asked) {
            Found::Fresh(response) => return Box::pin(std::future::ready(Ok(*response))),
            Found::Stale(entry, headers) => {
                *request.headers_mut() = headers;
                Some(entry)
            }
            Found::Nothing => None,
        };
        if only_if_cached(asked.headers()) {
            let mut response = with_status(Response::new(Body::empty()), CacheStatus::Miss);
            *response.status_mut() = StatusCode::GATEWAY_TIMEOUT;
            return Box::pin(std::future::ready(Ok(response)));
        }
        let response = self.inner.call(request);
        Box::pin(async move {
            let response = response.await?.map(Body::new);
            Ok(match stale {
                Some(entry) => keeper.answered(&asked, &entry, response),
                None => keeper.keep(asked, response),
            })
        })
    }
}

impl<S> Cache<S> {
    /// What is not for a cache to answer; it may be for it to forget.
    fn pass<B, R>(&mut self, request: Request<B>) -> ResponseFuture<S::Error>
    where
        S: Service<Request<B>, Response = Response<R>>,
        S::Future: Send + 'static,
        R: HttpBody + Send + 'static,
        R::Error: Into<BoxError>,
    {
        let (uri, safe) = (request.uri().clone(), request.method().is_safe());
        let store = self.store.clone();
        let response = self.inner.call(request);
        Box::pin(async move {
            let response = response.await?.map(Body::new);
            // RFC 9111, 4.4.
            if !safe && (response.status().is_success() || response.status().is_redirection()) {
                forget(&*store, &uri, response.headers());
            }
            Ok(with_status(response, CacheStatus::Bypass))
        })
    }
}

/// Who keeps the answer to one request.
struct Keeper {
    url: String,
    store: Arc<dyn Store>,
    max_body: usize,
}

impl Keeper {
    /// The answer to a request that asked whether `entry` still holds.
    fn answered(
        self,
        asked: &Request<()>,
        entry: &Entry,
        response: Response<Body>,
    ) -> Response<Body> {
        let (parts, body) = response.into_parts();
        let now = SystemTime::now();
        match entry.policy().after_response(asked, &parts, now) {
            AfterResponse::NotModified(policy, mut renewed) => {
                let entry = Arc::new(Entry::new(policy, entry.body().clone(), asked));
                self.put(entry.clone());
                renewed.extensions = parts.extensions;
                let response = Response::from_parts(renewed, entry.body().clone().into());
                with_status(response, CacheStatus::Revalidated)
            }
            AfterResponse::Modified(..) => {
                if parts.status == StatusCode::NOT_MODIFIED {
                    // It is not what is kept that was not modified: the next request starts anew.
                    self.store.put(&self.url, Vec::new());
                }
                self.keep(asked.clone(), Response::from_parts(parts, body))
            }
        }
    }

    /// Passes a response on and keeps it on the way, if it may be kept.
    fn keep(self, asked: Request<()>, response: Response<Body>) -> Response<Body> {
        let policy =
            CachePolicy::new_options(&asked, &response, SystemTime::now(), entry::options());
        let response = with_status(response, CacheStatus::Miss);
        let length = response.body().size_hint().lower();
        if !entry::is_worth_keeping(&policy, response.headers()) || length > self.max_body as u64 {
            return response;
        }
        let max_body = self.max_body;
        response.map(|body| {
            Body::new(Recording::new(body, max_body, move |body| {
                self.put(Arc::new(Entry::new(policy, body, &asked)));
            }))
        })
    }

    fn put(&self, entry: Arc<Entry>) {
        let mut entries = self.store.get(&self.url);
        entries.retain(|other| !entry.replaces(other));
        entries.insert(0, entry);
        entries.truncate(MAX_VARIANTS);
        self.store.put(&self.url, entries);
    }
}

fn head_of<B>(request: &Request<B>) -> Request<()> {
    let mut head = Request::new(());
    *head.method_mut() = request.method().clone();
    *head.uri_mut() = request.uri().clone();
    *head.headers_mut() = request.headers().clone();
    head
}

fn with_status(mut response: Response<Body>, status: CacheStatus) -> Response<Body> {
    response.extensions_mut().insert(status);
    response
}

fn only_if_cached(headers: &HeaderMap) -> bool {
    let values = headers.get_all(header::CACHE_CONTROL).iter();
    values.filter_map(|value| value.to_str().ok()).any(|value| {
        value.split(',').any(|directive| directive.trim().eq_ignore_ascii_case("only-if-cached"))
    })
}

fn forget(store: &dyn Store, uri: &Uri, headers: &HeaderMap) {
    store.put(&uri.to_string(), Vec::new());
    for name in [header::LOCATION, header::CONTENT_LOCATION] {
        let named = headers.get(name).and_then(|value| value.to_str().ok());
        if let Some(named) = named.and_then(|named| same_origin(uri, named)) {
            store.put(&named, Vec::new());
        }
    }
}

/// The URL that a header names, if it is of the same origin: a server must not be able to make a
/// cache forget what others have said.
fn same_origin(base: &Uri, named: &str) -> Option<String> {
    let named: Uri = named.parse().ok()?;
    if named.authority().is_none() && named.path().starts_with('/') {
        let mut parts = base.clone().into_parts();
        parts.path_and_query = named.into_parts().path_and_query;
        return Some(Uri::from_parts(parts).ok()?.to_string());
    }
    let same = named.scheme() == base.scheme() && named.authority() == base.authority();
    same.then(|| named.to_string())
}
