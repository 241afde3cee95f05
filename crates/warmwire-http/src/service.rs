//! The agent as a `tower` service over `http` types.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Buf;
use http_body::Body as HttpBody;
use tower_service::Service;

use crate::agent::Agent;
use crate::body::Body;
use crate::error::Error;

type ResponseFuture =
    Pin<Box<dyn Future<Output = Result<http::Response<Body>, Error>> + Send + 'static>>;

/// Always ready: a request waits for its connection inside the call, where the agent's limits and
/// timers hold. [`ConnectionInfo`](crate::ConnectionInfo) and [`Timings`](crate::Timings) are in
/// the response's extensions.
impl<B> Service<http::Request<B>> for Agent
where
    B: HttpBody + Send + 'static,
    B::Data: Buf,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    type Response = http::Response<Body>;
    type Error = Error;
    type Future = ResponseFuture;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<B>) -> ResponseFuture {
        (&*self).call(request)
    }
}

impl<B> Service<http::Request<B>> for &Agent
where
    B: HttpBody + Send + 'static,
    B::Data: Buf,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    type Response = http::Response<Body>;
    type Error = Error;
    type Future = ResponseFuture;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<B>) -> ResponseFuture {
        let agent = Agent::clone(self);
        let request = request.map(Body::new);
        Box::pin(async move { agent.execute(request).await.map(Into::into) })
    }
}
