//! Transparent decompression of responses: gzip, br, zstd and deflate.
//!
//! ```no_run
//! use tower_service::Service;
//! use warmwire_http::{Agent, Body, Error};
//! use warmwire_plugs::compression::Decompress;
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let mut agent = Decompress::new(Agent::new());
//! let request = http::Request::get("https://api.example.com/large").body(Body::empty())?;
//! let response: http::Response<Body> = agent.call(request).await?;
//! # Ok(()) }
//! ```
//!
//! # What is decoded
//!
//! A request that says nothing about `Accept-Encoding` asks for `gzip, br, zstd, deflate`, and its
//! answer is decoded: `Content-Encoding` and `Content-Length` are taken away, since they are not
//! true of what the caller reads. Several codings one after the other are undone, four at most.
//!
//! Nothing is touched where it would be wrong: a request that sets `Accept-Encoding` itself gets
//! what the server sends, as does one with `Range` (a part of a coded body cannot be decoded); the
//! same holds for answers without a body (HEAD, 204, 304), for 206, and for codings that are not
//! known here.
//!
//! # What can go wrong
//!
//! Data that is not what `Content-Encoding` says, that is cut short, or that is followed by
//! anything else, ends the body with [`ErrorKind::Decode`](warmwire_http::ErrorKind::Decode). A gzip
//! body may have several members and a zstd body several frames.
//!
//! A few kilobytes can decode to gigabytes. The memory that decoding needs is bounded (a zstd
//! window may have 8 MB, RFC 9659), and the body comes in pieces of 16 KiB as it is read, but how
//! much of it is read into memory is the caller's decision: a server that is not trusted wants a
//! limit, such as `http_body_util::Limited`.

mod coding;
mod decoded;

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Buf;
use http::header::{self, HeaderValue};
use http::{Method, StatusCode};
use http_body::Body as HttpBody;
use tower_layer::Layer;
use tower_service::Service;
use warmwire_http::Body;

use coding::Coding;
use decoded::Decoded;

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Makes [`Decompress`] services in a `tower` stack.
#[derive(Clone, Copy, Debug, Default)]
pub struct DecompressLayer;

impl<S> Layer<S> for DecompressLayer {
    type Service = Decompress<S>;

    fn layer(&self, inner: S) -> Decompress<S> {
        Decompress::new(inner)
    }
}

/// A service whose responses are decoded; see the [module](self).
#[derive(Clone, Debug)]
pub struct Decompress<S> {
    inner: S,
}

impl<S> Decompress<S> {
    /// Around an [`Agent`](warmwire_http::Agent) or any other HTTP service.
    pub fn new(inner: S) -> Decompress<S> {
        Decompress { inner }
    }

    /// The service inside.
    pub fn get_ref(&self) -> &S {
        &self.inner
    }
}

impl<S, B, R> Service<http::Request<B>> for Decompress<S>
where
    S: Service<http::Request<B>, Response = http::Response<R>>,
    S::Future: Send + 'static,
    R: HttpBody + Send + 'static,
    R::Data: Buf,
    R::Error: Into<BoxError>,
{
    type Response = http::Response<Body>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<http::Response<Body>, S::Error>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: http::Request<B>) -> Self::Future {
        let asked = ask(request.headers_mut());
        let decodes = asked && request.method() != Method::HEAD;
        let response = self.inner.call(request);
        Box::pin(async move {
            let response = response.await?.map(Body::new);
            Ok(if decodes { decode(response) } else { response })
        })
    }
}

/// Asks for codings, unless the caller or a `Range` speaks against it.
fn ask(headers: &mut http::HeaderMap) -> bool {
    if headers.contains_key(header::ACCEPT_ENCODING) || headers.contains_key(header::RANGE) {
        return false;
    }
    headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static(coding::ACCEPTED));
    true
}

fn decode(mut response: http::Response<Body>) -> http::Response<Body> {
    let bodiless = [StatusCode::NO_CONTENT, StatusCode::NOT_MODIFIED];
    if bodiless.contains(&response.status()) || response.status() == StatusCode::PARTIAL_CONTENT {
        return response;
    }
    let Some(codings) = Coding::of(response.headers()) else { return response };
    response.headers_mut().remove(header::CONTENT_ENCODING);
    response.headers_mut().remove(header::CONTENT_LENGTH);
    let (parts, mut body) = response.into_parts();
    // The last coding that was applied is the first to be undone.
    for coding in codings.into_iter().rev() {
        body = Body::new(Decoded::new(body, coding, &parts.extensions));
    }
    http::Response::from_parts(parts, body)
}
