//! Asks for compressed answers and reads them as if they were not.
//!
//! `cargo run -p warmwire-examples --bin compression`

mod server;

use async_compression::tokio::write::GzipEncoder;
use http_body_util::{BodyExt, Limited};
use tokio::io::AsyncWriteExt;
use tower::Service;
use warmwire::Agent;
use warmwire::http::Body;
use warmwire::plugs::compression::Decompress;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let mut encoder = GzipEncoder::new(Vec::new());
    encoder.write_all("say it again, ".repeat(2_000).as_bytes()[..22_000].as_ref()).await?;
    encoder.shutdown().await?;
    let compressed = encoder.into_inner();
    let on_the_wire = compressed.len();

    let address = server::serve(move |request| {
        let compressed = compressed.clone();
        async move {
            assert_eq!(request.headers()["accept-encoding"], "gzip, br, zstd, deflate");
            let response = http::Response::builder().header("content-encoding", "gzip");
            response.body(compressed.into()).expect("a valid response")
        }
    })
    .await?;

    let mut agent = Decompress::new(Agent::new());
    let request = http::Request::get(format!("http://{address}/")).body(Body::empty())?;
    let response = agent.call(request).await?;
    println!("content-encoding: {:?}", response.headers().get("content-encoding"));

    // A few kilobytes can decode to gigabytes: the reader says what is too much.
    let body = Limited::new(response.into_body(), 1024 * 1024).collect().await?.to_bytes();
    println!("read: {} bytes", body.len());
    println!("on the wire: {}", if on_the_wire < body.len() { "less" } else { "not less" });
    Ok(())
}
