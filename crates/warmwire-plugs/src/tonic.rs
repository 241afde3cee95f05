//! The agent as a gRPC channel of `tonic`.
//!
//! ```no_run
//! use warmwire_http::{Agent, HttpVersion};
//! use warmwire_plugs::tonic::GrpcChannel;
//!
//! # fn example() -> Result<(), warmwire_http::Error> {
//! let agent = Agent::builder().http_version(HttpVersion::Http2).build()?;
//! let channel = GrpcChannel::new(&agent, "http://localhost:50051")?;
//! // GreeterClient::new(channel).say_hello(request).await
//! # let _ = channel;
//! # Ok(()) }
//! ```
//!
//! A channel is an agent and an origin: all channels of an agent to one origin share its connections,
//! and the agent's limits, timers and statistics hold. gRPC needs HTTP/2: over `https://` servers
//! choose it by themselves, over `http://` and Unix sockets the agent has to be told, as above.
//!
//! A deadline that a call has (`grpc-timeout`, by `Request::set_timeout`) bounds the whole call here
//! as well. The agent's own time-outs stand beside it: a stream that may be silent for long wants an
//! agent with a longer [`read_timeout`](warmwire_http::AgentBuilder::read_timeout) than 5 minutes.
//!
//! Failures are a [`Status`] with the code that says what a caller can do: `Unavailable` for what may
//! work the next time, `DeadlineExceeded` for a timer, `ResourceExhausted` for a full queue; the
//! agent's [`Error`] is its source, and says whether the call was sent.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::{HeaderMap, Request, Response, Version};
use http_body_util::BodyExt;
use tonic::body::Body;
use tonic::{Code, Status};
use tower_service::Service;
use warmwire_http::{Agent, Error, ErrorKind, Origin};

/// An [`Agent`] and an origin, as a channel that `tonic`'s clients are made with.
#[derive(Clone, Debug)]
pub struct GrpcChannel {
    origin: Origin,
}

impl GrpcChannel {
    /// To the server at `origin`: `https://api.example.com`, or `unix:/path` for a Unix socket.
    ///
    /// # Errors
    ///
    /// As [`Agent::origin`].
    pub fn new(agent: &Agent, origin: impl AsRef<str>) -> Result<GrpcChannel, Error> {
        Ok(GrpcChannel { origin: agent.origin(origin)? })
    }
}

impl Service<Request<Body>> for GrpcChannel {
    type Response = Response<Body>;
    type Error = Status;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Status>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Status>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let (parts, body) = request.into_parts();
        let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
        let mut builder = self.origin.request(parts.method, path);
        if let Some(timeout) = timeout(&parts.headers) {
            builder = builder.timeout(timeout);
        }
        let body = warmwire_http::Body::new(body);
        let response = builder.headers(parts.headers).body(body).send();
        Box::pin(async move {
            let response = Response::from(response.await.map_err(status)?);
            match response.version() {
                Version::HTTP_2 => Ok(response.map(|body| Body::new(body.map_err(status)))),
                other => Err(Status::internal(format!(
                    "gRPC needs HTTP/2, and the server speaks {other:?}: \
                     build the agent with http_version(HttpVersion::Http2)"
                ))),
            }
        })
    }
}

/// The deadline of a call: at most eight digits and a unit.
fn timeout(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get("grpc-timeout")?.to_str().ok()?;
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let number: u64 = digits.parse().ok().filter(|_| digits.len() <= 8)?;
    match unit {
        "H" => Some(Duration::from_secs(number * 3600)),
        "M" => Some(Duration::from_secs(number * 60)),
        "S" => Some(Duration::from_secs(number)),
        "m" => Some(Duration::from_millis(number)),
        "u" => Some(Duration::from_micros(number)),
        "n" => Some(Duration::from_nanos(number)),
        _ => None,
    }
}

fn status(error: Error) -> Status {
    let code = match error.kind() {
        ErrorKind::QueueFull => Code::ResourceExhausted,
        _ if error.is_timeout() => Code::DeadlineExceeded,
        ErrorKind::InvalidRequest
        | ErrorKind::InvalidConfig
        | ErrorKind::InvalidResponse
        | ErrorKind::RequestBody => Code::Internal,
        ErrorKind::Closed => Code::Cancelled,
        _ => Code::Unavailable,
    };
    let mut status = Status::new(code, error.to_string());
    status.set_source(Arc::new(error));
    status
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_is_digits_and_a_unit() {
        let read = |text: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert("grpc-timeout", text.parse().unwrap());
            timeout(&headers)
        };
        assert_eq!(read("2H"), Some(Duration::from_secs(7200)));
        assert_eq!(read("3M"), Some(Duration::from_secs(180)));
        assert_eq!(read("99999999S"), Some(Duration::from_secs(99_999_999)));
        assert_eq!(read("250m"), Some(Duration::from_millis(250)));
        assert_eq!(read("7u"), Some(Duration::from_micros(7)));
        assert_eq!(read("0n"), Some(Duration::ZERO));
        for wrong in ["", "S", "5", "123456789S", "-1S", "5x", "5 S"] {
            assert_eq!(read(wrong), None, "{wrong:?}");
        }
    }
}
