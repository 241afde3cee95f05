//! What the mock answers.

use std::fmt::Display;
use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use http::header::{self, HeaderName, HeaderValue};
use http::{HeaderMap, Method, StatusCode};

/// What the mock answers: by default a 200 without a body, at once, and the connection is kept.
#[derive(Clone, Debug)]
pub struct Reply {
    status: StatusCode,
    headers: HeaderMap,
    body: Bytes,
    raw: Option<Bytes>,
    chunked: bool,
    pub(super) delay: Duration,
    pub(super) cut_after: Option<usize>,
}

impl Reply {
    /// An answer with this status and no body.
    ///
    /// # Panics
    ///
    /// For a number that is no status: below 100 or above 999.
    #[track_caller]
    pub fn status(status: u16) -> Reply {
        StatusCode::from_u16(status).expect("a status is a number from 100 to 999").into()
    }

    /// These bytes in place of head and body, valid HTTP or not. The connection is closed after
    /// them.
    pub fn raw(bytes: impl Into<Bytes>) -> Reply {
        Reply { raw: Some(bytes.into()), ..Reply::from(StatusCode::OK) }
    }

    /// Adds a header. `Content-Length` is added by itself, unless the reply is
    /// [`chunked`](Self::chunked); a `Connection: close` among the headers closes the connection.
    ///
    /// # Panics
    ///
    /// For a name or a value that no header can have.
    #[track_caller]
    pub fn header<N, V>(mut self, name: N, value: V) -> Reply
    where
        N: TryInto<HeaderName>,
        N::Error: Display,
        V: TryInto<HeaderValue>,
        V::Error: Display,
    {
        let name = name.try_into().unwrap_or_else(|error| panic!("a mock's header: {error}"));
        let value = value.try_into().unwrap_or_else(|error| panic!("a mock's header: {error}"));
        self.headers.append(name, value);
        self
    }

    /// Sets the body.
    pub fn body(mut self, body: impl Into<Bytes>) -> Reply {
        self.body = body.into();
        self
    }

    /// Sends the body as one chunk in place of declaring its length.
    pub fn chunked(mut self) -> Reply {
        self.chunked = true;
        self
    }

    /// Waits for so long between the request and the answer.
    pub fn delay(mut self, delay: Duration) -> Reply {
        self.delay = delay;
        self
    }

    /// Closes the connection after so many bytes of the body, or of the bytes of
    /// [`raw`](Self::raw).
    pub fn cut_after(mut self, bytes: usize) -> Reply {
        self.cut_after = Some(bytes);
        self
    }

    pub(super) fn status_code(&self) -> StatusCode {
        self.status
    }

    /// Whether the connection is closed after it.
    pub(super) fn closes(&self) -> bool {
        let asks = |value: &HeaderValue| value.as_bytes().eq_ignore_ascii_case(b"close");
        self.raw.is_some()
            || self.cut_after.is_some()
            || self.headers.get(header::CONNECTION).is_some_and(asks)
    }

    /// What goes over the wire in answer to a request with this method.
    pub(super) fn encode(&self, method: &Method) -> Bytes {
        let cut =
            |bytes: &Bytes| bytes.slice(..self.cut_after.unwrap_or(usize::MAX).min(bytes.len()));
        if let Some(raw) = &self.raw {
            return cut(raw);
        }
        let mut out = BytesMut::new();
        let reason = self.status.canonical_reason().unwrap_or("");
        out.put_slice(format!("HTTP/1.1 {} {reason}\r\n", self.status.as_str()).as_bytes());
        for (name, value) in &self.headers {
            field(&mut out, name.as_str(), value.as_bytes());
        }
        // RFC 9110, 8.6: these have no length, and a HEAD's is that of the body that it has not.
        let bodiless = matches!(self.status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED)
            || self.status.is_informational();
        if self.chunked {
            field(&mut out, "transfer-encoding", b"chunked");
        } else if !bodiless && !self.headers.contains_key(header::CONTENT_LENGTH) {
            field(&mut out, "content-length", self.body.len().to_string().as_bytes());
        }
        out.put_slice(b"\r\n");
        if bodiless || method == Method::HEAD {
            return out.freeze();
        }
        if self.chunked && !self.body.is_empty() {
            out.put_slice(format!("{:x}\r\n", self.body.len()).as_bytes());
        }
        out.put_slice(&cut(&self.body));
        if self.chunked && self.cut_after.is_none() {
            out.put_slice(if self.body.is_empty() { b"0\r\n\r\n" } else { b"\r\n0\r\n\r\n" });
        }
        out.freeze()
    }
}

fn field(out: &mut BytesMut, name: &str, value: &[u8]) {
    out.put_slice(name.as_bytes());
    out.put_slice(b": ");
    out.put_slice(value);
    out.put_slice(b"\r\n");
}

impl From<StatusCode> for Reply {
    fn from(status: StatusCode) -> Reply {
        Reply {
            status,
            headers: HeaderMap::new(),
            body: Bytes::new(),
            raw: None,
            chunked: false,
            delay: Duration::ZERO,
            cut_after: None,
        }
    }
}

impl From<Bytes> for Reply {
    fn from(body: Bytes) -> Reply {
        Reply::from(StatusCode::OK).body(body)
    }
}

impl From<Vec<u8>> for Reply {
    fn from(body: Vec<u8>) -> Reply {
        Bytes::from(body).into()
    }
}

impl From<String> for Reply {
    fn from(body: String) -> Reply {
        Bytes::from(body).into()
    }
}

impl From<&'static str> for Reply {
    fn from(body: &'static str) -> Reply {
        Bytes::from_static(body.as_bytes()).into()
    }
}

impl<B: Into<Bytes>> From<http::Response<B>> for Reply {
    /// Status, headers and body; the rest does not count.
    fn from(response: http::Response<B>) -> Reply {
        let (parts, body) = response.into_parts();
        Reply { headers: parts.headers, ..Reply::from(parts.status).body(body) }
    }
}
