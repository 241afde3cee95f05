//! The agent at the bottom of a tower stack: limits, time-outs, retries and headers are layers.
//!
//! `cargo run -p warmwire-examples --bin tower`

mod server;

use std::future::Ready;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::header::{HeaderValue, USER_AGENT};
use http::{Request, Response};
use http_body_util::{BodyExt, Full, Limited};
use tower::retry::Policy;
use tower::{BoxError, Service, ServiceBuilder, ServiceExt};
use tower_http::map_response_body::MapResponseBodyLayer;
use tower_http::set_header::SetRequestHeaderLayer;
use warmwire::Agent;
use warmwire::http::Body;

/// Asks again as long as the server says 503. The stale connections of a pool are no business of
/// it: the agent answers those itself.
#[derive(Clone)]
struct WhileUnavailable {
    left: u32,
}

impl<B> Policy<Request<Full<Bytes>>, Response<B>, BoxError> for WhileUnavailable {
    type Future = Ready<()>;

    fn retry(
        &mut self,
        _: &mut Request<Full<Bytes>>,
        result: &mut Result<Response<B>, BoxError>,
    ) -> Option<Ready<()>> {
        let unavailable = result.as_ref().is_ok_and(|response| response.status() == 503);
        self.left = self.left.checked_sub(1)?;
        unavailable.then(|| std::future::ready(()))
    }

    fn clone_request(&mut self, request: &Request<Full<Bytes>>) -> Option<Request<Full<Bytes>>> {
        Some(request.clone())
    }
}

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    let attempts = Arc::new(AtomicU32::new(0));
    let counter = attempts.clone();
    let address = server::serve(move |request| {
        let attempt = counter.fetch_add(1, Ordering::Relaxed) + 1;
        async move {
            assert_eq!(request.headers()[USER_AGENT], "tower-example");
            let mut response = Response::new("third time lucky".into());
            if attempt < 3 {
                *response.status_mut() = http::StatusCode::SERVICE_UNAVAILABLE;
            }
            response
        }
    })
    .await?;

    let agent = Agent::new();
    let mut service = ServiceBuilder::new()
        .layer(MapResponseBodyLayer::new(|body: Body| Limited::new(body, 1024 * 1024)))
        .layer(SetRequestHeaderLayer::overriding(
            USER_AGENT,
            HeaderValue::from_static("tower-example"),
        ))
        .concurrency_limit(8)
        .retry(WhileUnavailable { left: 5 })
        .timeout(Duration::from_secs(5))
        .service(agent.clone());

    let request = Request::post(format!("http://{address}/")).body(Full::from("hello"))?;
    let response = service.ready().await?.call(request).await?;
    let body = response.into_body().collect().await?.to_bytes();
    println!("answer: {}", String::from_utf8_lossy(&body));
    println!("attempts: {}", attempts.load(Ordering::Relaxed));
    println!("connections: {}", agent.stats().total.opened);
    Ok(())
}
