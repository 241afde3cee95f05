//! A cookie jar: keeps what servers set and sends it back where it belongs.
//!
//! ```no_run
//! use tower_service::Service;
//! use warmwire_http::{Agent, Body};
//! use warmwire_plugs::cookies::{CookieJar, Cookies};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let jar = CookieJar::new();
//! let mut agent = Cookies::new(Agent::new(), jar.clone());
//! let login = http::Request::post("https://example.com/login").body(Body::from("…"))?;
//! agent.call(login).await?;
//! println!("{:?}", jar.get("https://example.com/", "session"));
//! # Ok(()) }
//! ```
//!
//! Domains, paths, `Secure`, `HttpOnly`, `Max-Age` and `Expires` are the business of the
//! [`cookie_store`] crate (RFC 6265). It has no list of public suffixes unless one is given to a
//! [`CookieStore`] of the caller's, so that a server at `a.co.uk` may set cookies for all of
//! `co.uk`: a program that talks to servers that do not trust one another gives it one, or each
//! server its own jar.
//!
//! Redirects that the agent follows by itself are below the jar: it sees the last answer only. A
//! program that logs in by way of redirects follows them above the jar, for instance with
//! `tower-http`'s `FollowRedirect`.
//!
//! A jar belongs to one user. Agents and connections know nothing of cookies: one agent can carry
//! the requests of many jars.

use std::cmp::Reverse;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, PoisonError, RwLock};
use std::task::{Context, Poll};

use cookie_store::{CookieStore, RawCookie};
use http::Uri;
use http::header::{self, HeaderMap, HeaderValue};
use tower_layer::Layer;
use tower_service::Service;
use url::Url;

/// Bytes of one `Set-Cookie` value, at most: RFC 6265bis bounds name and value to 4,096, and each
/// attribute to 1,024.
const MAX_SET_COOKIE: usize = 8 * 1024;

/// Cookies in a jar, at most; RFC 6265, 6.1 asks for 3,000 at least.
const MAX_COOKIES: usize = 3_000;

/// The cookies of one user.
///
/// A handle: clones share the cookies. A jar holds 3,000 cookies that have not expired; when it is
/// full, new ones are not taken, nor is a `Set-Cookie` of more than 8 KiB.
#[derive(Clone, Default)]
pub struct CookieJar(Arc<RwLock<CookieStore>>);

impl CookieJar {
    /// An empty jar.
    pub fn new() -> CookieJar {
        CookieJar::default()
    }

    /// Takes a cookie as a `Set-Cookie` header of an answer from `url` has it:
    /// `session=1; Path=/; Secure`. Says whether it was taken.
    pub fn set(&self, url: &str, cookie: &str) -> bool {
        Url::parse(url).is_ok_and(|url| self.store(&url, [cookie].into_iter()) == 1)
    }

    /// The value of the cookie of this name that a request for `url` would carry.
    pub fn get(&self, url: &str, name: &str) -> Option<String> {
        let url = Url::parse(url).ok()?;
        self.read(|store| {
            let found = store.get_request_values(&url).find(|(other, _)| *other == name);
            found.map(|(_, value)| value.to_owned())
        })
    }

    /// Forgets all cookies.
    pub fn clear(&self) {
        self.edit(CookieStore::clear);
    }

    /// Reads the store below, to save it for instance.
    pub fn read<T>(&self, read: impl FnOnce(&CookieStore) -> T) -> T {
        read(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Changes the store below.
    pub fn edit<T>(&self, edit: impl FnOnce(&mut CookieStore) -> T) -> T {
        edit(&mut self.0.write().unwrap_or_else(PoisonError::into_inner))
    }

    /// The `Cookie` header of a request for `url`.
    fn header(&self, url: &Url) -> Option<HeaderValue> {
        let pairs = self.read(|store| {
            let mut cookies = store.matches(url);
            // RFC 6265, 5.4: longer paths first. By name within one path: the store has no order.
            cookies.sort_by_key(|cookie| {
                (Reverse(cookie.path.as_ref().len()), cookie.name().to_owned())
            });
            let pairs = cookies.iter().map(|cookie| cookie.stripped().to_string());
            pairs.collect::<Vec<_>>().join("; ")
        });
        if pairs.is_empty() {
            return None;
        }
        let mut value = HeaderValue::from_str(&pairs).ok()?;
        value.set_sensitive(true);
        Some(value)
    }

    /// How many of them were taken.
    fn store<'a>(&self, url: &Url, cookies: impl Iterator<Item = &'a str>) -> usize {
        let fit = cookies.filter(|cookie| cookie.len() <= MAX_SET_COOKIE);
        let parsed = fit.filter_map(|cookie| RawCookie::parse(cookie.to_owned()).ok());
        self.edit(|store| {
            let mut room = MAX_COOKIES.saturating_sub(store.iter_unexpired().count());
            let mut taken = 0;
            for cookie in parsed {
                // What is sent back already is being changed or taken back: it needs no room.
                let known = store.get_request_values(url).any(|(name, _)| name == cookie.name());
                if (known || room > 0) && store.insert_raw(&cookie, url).is_ok() {
                    room -= usize::from(!known);
                    taken += 1;
                }
            }
            taken
        })
    }
}

impl From<CookieStore> for CookieJar {
    /// A jar over a store that was loaded, or that has a list of public suffixes.
    fn from(store: CookieStore) -> CookieJar {
        CookieJar(Arc::new(RwLock::new(store)))
    }
}

impl fmt::Debug for CookieJar {
    /// The number of cookies: their values are secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cookies = self.read(|store| store.iter_unexpired().count());
        f.debug_struct("CookieJar").field("cookies", &cookies).finish()
    }
}

/// Makes [`Cookies`] services with one jar in a `tower` stack.
#[derive(Clone, Debug)]
pub struct CookiesLayer {
    jar: CookieJar,
}

impl CookiesLayer {
    /// With this jar.
    pub fn new(jar: CookieJar) -> CookiesLayer {
        CookiesLayer { jar }
    }
}

impl<S> Layer<S> for CookiesLayer {
    type Service = Cookies<S>;

    fn layer(&self, inner: S) -> Cookies<S> {
        Cookies::new(inner, self.jar.clone())
    }
}

/// A service that sends a jar's cookies along and keeps those that come back.
///
/// A request that has a `Cookie` header of its own is sent as it is; what its answer sets is kept
/// all the same. `Cookie` values are marked as sensitive so that they are not logged.
#[derive(Clone, Debug)]
pub struct Cookies<S> {
    inner: S,
    jar: CookieJar,
}

impl<S> Cookies<S> {
    /// Around an [`Agent`](warmwire_http::Agent) or any other HTTP service.
    pub fn new(inner: S, jar: CookieJar) -> Cookies<S> {
        Cookies { inner, jar }
    }

    /// The service inside.
    pub fn get_ref(&self) -> &S {
        &self.inner
    }
}

impl<S, B, R> Service<http::Request<B>> for Cookies<S>
where
    S: Service<http::Request<B>, Response = http::Response<R>>,
    S::Future: Send + 'static,
{
    type Response = http::Response<R>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<http::Response<R>, S::Error>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: http::Request<B>) -> Self::Future {
        let url = url_of(request.uri());
        if let Some(url) = &url
            && !request.headers().contains_key(header::COOKIE)
            && let Some(cookies) = self.jar.header(url)
        {
            request.headers_mut().insert(header::COOKIE, cookies);
        }
        let jar = self.jar.clone();
        let response = self.inner.call(request);
        Box::pin(async move {
            let response = response.await?;
            if let Some(url) = &url {
                keep(&jar, url, response.headers());
            }
            Ok(response)
        })
    }
}

fn keep(jar: &CookieJar, url: &Url, headers: &HeaderMap) {
    if headers.contains_key(header::SET_COOKIE) {
        let cookies = headers.get_all(header::SET_COOKIE).iter();
        jar.store(url, cookies.filter_map(|value| value.to_str().ok()));
    }
}

/// `None` for what has no host, and so no cookies.
fn url_of(uri: &Uri) -> Option<Url> {
    uri.authority()?;
    Url::parse(&uri.to_string()).ok()
}
