//! A kept response.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::header::{self, HeaderMap};
use http::{Request, Response};
use http_cache_semantics::{BeforeRequest, CacheOptions, CachePolicy};
use warmwire_http::Body;

use super::{CacheStatus, with_status};

/// What a kept response takes beside its body, roughly: the headers of request and response.
const OVERHEAD: usize = 4 * 1024;

/// A kept response: opaque to a [`Store`](super::Store) but for its size.
#[derive(Clone, Debug)]
pub struct Entry {
    policy: CachePolicy,
    body: Bytes,
    /// The request that it answered.
    asked: Request<()>,
}

impl Entry {
    pub(super) fn new(policy: CachePolicy, body: Bytes, asked: &Request<()>) -> Entry {
        Entry { policy, body, asked: asked.clone() }
    }

    /// What it takes in memory, in bytes, roughly.
    pub fn size(&self) -> usize {
        OVERHEAD + self.body.len()
    }

    pub(super) fn policy(&self) -> &CachePolicy {
        &self.policy
    }

    pub(super) fn body(&self) -> &Bytes {
        &self.body
    }

    /// Whether the requests that this one answers include the one that `other` answered.
    pub(super) fn replaces(&self, other: &Entry) -> bool {
        !matches!(self.look(&other.asked), Look::Other)
    }

    fn look(&self, asked: &Request<()>) -> Look {
        let authorization =
            |request: &Request<()>| request.headers().get(header::AUTHORIZATION).cloned();
        if authorization(asked) != authorization(&self.asked) {
            return Look::Other;
        }
        match self.policy.before_request(asked, SystemTime::now()) {
            BeforeRequest::Fresh(parts) => {
                let response = Response::from_parts(parts, self.body.clone().into());
                Look::Fresh(Box::new(with_status(response, CacheStatus::Hit)))
            }
            BeforeRequest::Stale { request, matches: true } => Look::Stale(request.headers),
            BeforeRequest::Stale { .. } => Look::Other,
        }
    }
}

/// What a kept response is to a request.
enum Look {
    /// Its answer.
    Fresh(Box<Response<Body>>),
    /// Its answer if the server says so, who is to be asked with these headers.
    Stale(HeaderMap),
    /// The answer to something else.
    Other,
}

/// What a cache has for a request.
pub(super) enum Found {
    Fresh(Box<Response<Body>>),
    Stale(Arc<Entry>, HeaderMap),
    Nothing,
}

pub(super) fn find(entries: &[Arc<Entry>], asked: &Request<()>) -> Found {
    let mut found = Found::Nothing;
    for entry in entries {
        match entry.look(asked) {
            Look::Fresh(response) => return Found::Fresh(response),
            Look::Stale(headers) => found = Found::Stale(entry.clone(), headers),
            Look::Other => {}
        }
    }
    found
}

/// The cache of one user, not of many.
pub(super) fn options() -> CacheOptions {
    CacheOptions { shared: false, ..CacheOptions::default() }
}

/// Whether a response may be kept, and could ever be of use: one that is stale at once and has no
/// validator, or that varies by everything, could not.
pub(super) fn is_worth_keeping(policy: &CachePolicy, headers: &HeaderMap) -> bool {
    let validator =
        headers.contains_key(header::ETAG) || headers.contains_key(header::LAST_MODIFIED);
    let varies = headers.get_all(header::VARY).iter().any(|value| value.as_bytes() == b"*");
    let fresh = policy.time_to_live(SystemTime::now()) > Duration::ZERO;
    policy.is_storable() && (validator || fresh) && !varies
}
