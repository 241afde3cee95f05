//! The request head: what the caller gives, and how it is written.

use bytes::BytesMut;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri};

use crate::fields::{content_length, value_has_token};
use crate::number::Decimal;
use crate::request_error::{RequestError, RequestErrorKind};

/// What a request head is made of. All of it is borrowed: nothing is cloned to
/// send a request.
#[derive(Clone, Copy, Debug)]
pub struct RequestHead<'a> {
    /// The method; it also decides which responses have a body.
    pub method: &'a Method,
    /// The request target, in the form that the recipient needs.
    pub target: Target<'a>,
    /// The `Host` that is written when `headers` has none: host, and port if it
    /// is not the scheme's own. It is always the first header line.
    pub host: &'a str,
    /// The headers of this request.
    pub headers: &'a HeaderMap,
    /// Headers that are written only when `headers` lacks their name.
    pub defaults: &'a HeaderMap,
}

/// The form of a request target (RFC 9112, 3.2).
#[derive(Clone, Copy, Debug)]
pub enum Target<'a> {
    /// Path and query, for the origin itself. An empty path is written as `/`;
    /// scheme and authority of the `Uri` are left out. The path `*` belongs to
    /// `OPTIONS`.
    Origin(&'a Uri),
    /// The whole URI without user information, for a proxy that is asked in
    /// plain HTTP. The `Uri` needs a scheme and an authority.
    Absolute(&'a Uri),
    /// `host:port`, for `CONNECT` and nothing else.
    Authority(&'a str),
    /// `*`, for `OPTIONS` about the server as a whole.
    Asterisk,
}

/// What the caller knows about the request body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyLength {
    /// There is no body. `POST`, `PUT` and `PATCH`, which define a meaning for
    /// one, say `content-length: 0` (RFC 9110, 8.6); other methods say nothing.
    None,
    /// A body of this many bytes.
    Known(u64),
    /// A body of unknown length, sent in chunks.
    Chunked,
}

/// What the rest of the exchange must know about the head that was written.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct HeadFacts {
    pub(crate) head: bool,
    pub(crate) connect: bool,
    pub(crate) upgrade: bool,
    pub(crate) close: bool,
    pub(crate) expect_continue: bool,
}

/// Appends the head to `out`, which is left as it was when the head is refused.
pub(crate) fn encode(
    head: &RequestHead<'_>,
    length: BodyLength,
    out: &mut BytesMut,
) -> Result<HeadFacts, RequestError> {
    let start = out.len();
    let mut encoder = Encoder { out, length, seen: Seen::default() };
    let facts = encoder.head(head);
    if facts.is_err() {
        out.truncate(start);
    }
    facts
}

struct Encoder<'a> {
    out: &'a mut BytesMut,
    length: BodyLength,
    seen: Seen,
}

/// What the header lines said that bears on framing, reuse or upgrade.
#[derive(Default)]
struct Seen {
    connection_close: bool,
    connection_upgrade: bool,
    upgrade: bool,
    expect_continue: bool,
}

impl Encoder<'_> {
    fn head(&mut self, head: &RequestHead<'_>) -> Result<HeadFacts, RequestError> {
        // A guess that spares most heads a second allocation when `out` is new.
        self.out.reserve(128 + 48 * (head.headers.len() + head.defaults.len()));
        self.out.extend_from_slice(head.method.as_str().as_bytes());
        self.out.extend_from_slice(b" ");
        self.target(head)?;
        self.out.extend_from_slice(b" HTTP/1.1\r\n");
        self.host(head)?;
        for (name, value) in head.headers {
            self.line(name, value)?;
        }
        for (name, value) in head.defaults {
            if !head.headers.contains_key(name) {
                self.line(name, value)?;
            }
        }
        self.framing(head.method)?;
        self.out.extend_from_slice(b"\r\n");
        self.facts(head.method)
    }

    fn target(&mut self, head: &RequestHead<'_>) -> Result<(), RequestError> {
        let is_connect = head.method == Method::CONNECT;
        let start = self.out.len();
        match head.target {
            Target::Origin(uri) | Target::Absolute(uri)
                if uri.path() == "*" && head.method != Method::OPTIONS =>
            {
                return Err(RequestErrorKind::TargetForm.into());
            }
            Target::Origin(uri) if !is_connect => self.path_and_query(uri),
            Target::Absolute(uri) if !is_connect => self.absolute(uri)?,
            Target::Authority(authority) if is_connect => {
                self.out.extend_from_slice(authority.as_bytes());
            }
            Target::Asterisk if head.method == Method::OPTIONS => {
                self.out.extend_from_slice(b"*");
            }
            _ => return Err(RequestErrorKind::TargetForm.into()),
        }
        let written = &self.out[start..];
        if written.is_empty() || !written.iter().all(u8::is_ascii_graphic) {
            return Err(RequestError::quoting(RequestErrorKind::InvalidTarget, written));
        }
        Ok(())
    }

    fn path_and_query(&mut self, uri: &Uri) {
        let path = uri.path();
        self.out.extend_from_slice(if path.is_empty() { b"/" } else { path.as_bytes() });
        if let Some(query) = uri.query() {
            self.out.extend_from_slice(b"?");
            self.out.extend_from_slice(query.as_bytes());
        }
    }

    fn absolute(&mut self, uri: &Uri) -> Result<(), RequestError> {
        let (Some(scheme), Some(authority)) = (uri.scheme_str(), uri.authority()) else {
            return Err(RequestErrorKind::TargetForm.into());
        };
        // RFC 9110, 4.2.4: user information is never sent in a target.
        let authority = authority.as_str();
        let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
        self.out.extend_from_slice(scheme.as_bytes());
        self.out.extend_from_slice(b"://");
        self.out.extend_from_slice(host.as_bytes());
        // RFC 9112, 3.2.4: of `*` a proxy is told by the lack of a path.
        if uri.path() != "*" {
            self.path_and_query(uri);
        }
        Ok(())
    }

    /// RFC 9112, 3.2: exactly one `Host`, and it should be the first line.
    fn host(&mut self, head: &RequestHead<'_>) -> Result<(), RequestError> {
        let mut given = head.headers.get_all(http::header::HOST).iter();
        let host = given.next().map_or(head.host.as_bytes(), HeaderValue::as_bytes);
        if given.next().is_some() {
            return Err(RequestErrorKind::DuplicateHost.into());
        }
        if !host.iter().all(u8::is_ascii_graphic) {
            return Err(RequestError::quoting(RequestErrorKind::InvalidHost, host));
        }
        self.write_line(b"host", host);
        Ok(())
    }

    fn line(&mut self, name: &HeaderName, value: &HeaderValue) -> Result<(), RequestError> {
        let bytes = value.as_bytes();
        match name.as_str() {
            "host" => return Ok(()),
            "content-length" => return self.check_content_length(bytes),
            "transfer-encoding" => return self.check_transfer_encoding(bytes),
            "connection" => {
                self.seen.connection_close |= value_has_token(bytes, "close");
                self.seen.connection_upgrade |= value_has_token(bytes, "upgrade");
            }
            "upgrade" => self.seen.upgrade = true,
            "expect" => self.seen.expect_continue |= value_has_token(bytes, "100-continue"),
            _ => {}
        }
        self.write_line(name.as_str().as_bytes(), bytes);
        Ok(())
    }

    /// The framing headers are the encoder's own. A caller's length is only
    /// held against the body's: two that differ desynchronise the connection.
    fn check_content_length(&self, value: &[u8]) -> Result<(), RequestError> {
        let Some(header) = content_length(value) else {
            return Err(RequestError::quoting(RequestErrorKind::InvalidContentLength, value));
        };
        let body = match self.length {
            BodyLength::Chunked => return Err(RequestErrorKind::ContentLengthWithChunks.into()),
            BodyLength::None => 0,
            BodyLength::Known(length) => length,
        };
        if header != body {
            return Err(RequestErrorKind::ContentLengthMismatch { header, body }.into());
        }
        Ok(())
    }

    fn check_transfer_encoding(&self, value: &[u8]) -> Result<(), RequestError> {
        if !value.trim_ascii().eq_ignore_ascii_case(b"chunked") {
            return Err(RequestError::quoting(
                RequestErrorKind::UnsupportedTransferEncoding,
                value,
            ));
        }
        match self.length {
            BodyLength::Chunked => Ok(()),
            _ => Err(RequestErrorKind::TransferEncodingWithoutChunks.into()),
        }
    }

    fn framing(&mut self, method: &Method) -> Result<(), RequestError> {
        if method == Method::CONNECT {
            return match self.length {
                BodyLength::None => Ok(()),
                _ => Err(RequestErrorKind::ConnectWithBody.into()),
            };
        }
        match self.length {
            BodyLength::Known(length) => {
                self.write_line(b"content-length", Decimal::new(length).as_bytes());
            }
            BodyLength::Chunked => self.write_line(b"transfer-encoding", b"chunked"),
            BodyLength::None if [Method::POST, Method::PUT, Method::PATCH].contains(method) => {
                self.write_line(b"content-length", b"0");
            }
            BodyLength::None => {}
        }
        Ok(())
    }

    fn facts(&self, method: &Method) -> Result<HeadFacts, RequestError> {
        let seen = &self.seen;
        if seen.upgrade && !seen.connection_upgrade {
            return Err(RequestErrorKind::UpgradeWithoutConnection.into());
        }
        if seen.expect_continue && matches!(self.length, BodyLength::None | BodyLength::Known(0)) {
            return Err(RequestErrorKind::ExpectWithoutBody.into());
        }
        Ok(HeadFacts {
            head: method == Method::HEAD,
            connect: method == Method::CONNECT,
            upgrade: seen.upgrade,
            close: seen.connection_close,
            expect_continue: seen.expect_continue,
        })
    }

    fn write_line(&mut self, name: &[u8], value: &[u8]) {
        self.out.extend_from_slice(name);
        self.out.extend_from_slice(b": ");
        self.out.extend_from_slice(value);
        self.out.extend_from_slice(b"\r\n");
    }
}
