//! Asks the server only for what is not known or no longer fresh.
//!
//! `cargo run -p warmwire-examples --bin cache`

mod server;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use http_body_util::BodyExt;
use tower::Service;
use warmwire::Agent;
use warmwire::http::Body;
use warmwire::plugs::cache::{Cache, CacheStatus, MemoryStore};

async fn answer(request: http::Request<bytes::Bytes>) -> http::Response<bytes::Bytes> {
    let response = http::Response::builder();
    let response = match request.uri().path() {
        "/hourly" => response.header("cache-control", "max-age=3600").body("42 €".into()),
        // Must be asked about each time, and is mostly what it was.
        _ if request.headers().contains_key("if-none-match") => {
            response.status(304).header("etag", "\"1\"").body("".into())
        }
        _ => {
            response.header("cache-control", "no-cache").header("etag", "\"1\"").body("7 €".into())
        }
    };
    response.expect("a valid response")
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let asked = Arc::new(AtomicU32::new(0));
    let counter = asked.clone();
    let address = server::serve(move |request| {
        counter.fetch_add(1, Ordering::Relaxed);
        answer(request)
    })
    .await?;

    let mut agent = Cache::new(Agent::new(), MemoryStore::new(16 * 1024 * 1024));
    for path in ["/hourly", "/hourly", "/current", "/current"] {
        let request = http::Request::get(format!("http://{address}{path}")).body(Body::empty())?;
        let response = agent.call(request).await?;
        let status = response.extensions().get::<CacheStatus>().copied();
        let body = response.into_body().collect().await?.to_bytes();
        println!("{path} {status:?}: {}", String::from_utf8_lossy(&body));
    }
    println!("asked: {}", asked.load(Ordering::Relaxed));
    Ok(())
}
