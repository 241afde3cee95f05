//! The server that an example talks to: answers each request with what a function says.

use std::convert::Infallible;
use std::net::SocketAddr;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

/// Listens on a free port of this machine until the program ends.
pub async fn serve<F, R>(answer: F) -> std::io::Result<SocketAddr>
where
    F: Fn(http::Request<Bytes>) -> R + Clone + Send + 'static,
    R: Future<Output = http::Response<Bytes>> + Send + 'static,
{
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let answer = answer.clone();
            let service = service_fn(move |request: http::Request<Incoming>| {
                let answer = answer.clone();
                async move {
                    let (parts, body) = request.into_parts();
                    let body = body.collect().await.map(|body| body.to_bytes()).unwrap_or_default();
                    let response = answer(http::Request::from_parts(parts, body)).await;
                    Ok::<_, Infallible>(response.map(Full::new))
                }
            });
            // Its end is the client's business.
            tokio::spawn(
                hyper::server::conn::http1::Builder::new()
                    .serve_connection(TokioIo::new(stream), service),
            );
        }
    });
    Ok(address)
}
