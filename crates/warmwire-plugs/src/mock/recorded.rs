//! A request as the mock has received it.

use std::fmt;

use bytes::Bytes;
use http::{HeaderMap, Method};

/// A request as the mock has received it.
#[derive(Clone, Debug)]
pub struct Recorded {
    pub(super) method: Method,
    pub(super) target: String,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    pub(super) connection: usize,
}

impl Recorded {
    /// The method.
    pub fn method(&self) -> &Method {
        &self.method
    }

    /// Path and query as they were sent: `/v1/charges?limit=3`.
    pub fn path(&self) -> &str {
        &self.target
    }

    /// The headers, those that the agent adds included.
    pub fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// The first value of a header, if there is one that is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The body, without the framing of chunks.
    pub fn body(&self) -> &Bytes {
        &self.body
    }

    /// The body as text; what is not UTF-8 in it is replaced.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The number of the connection that it came over, from 1 on.
    pub fn connection(&self) -> usize {
        self.connection
    }
}

impl fmt::Display for Recorded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.method, self.target)
    }
}
