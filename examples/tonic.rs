//! gRPC over the agent: a client that tonic has generated, here that of the health service.
//!
//! `cargo run -p warmwire-examples --bin tonic`

use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpListener;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;
use tower::ServiceExt;
use warmwire::Agent;
use warmwire::http::HttpVersion;
use warmwire::plugs::tonic::GrpcChannel;

/// A gRPC server on a free port of this machine.
async fn serve() -> std::io::Result<std::net::SocketAddr> {
    let (_reporter, service) = tonic_health::server::health_reporter();
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let service = service.clone();
            let answer = service_fn(move |request| service.clone().oneshot(request));
            // Its end is the client's business.
            tokio::spawn(
                http2::Builder::new(TokioExecutor::new())
                    .serve_connection(TokioIo::new(stream), answer),
            );
        }
    });
    Ok(address)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let address = serve().await?;
    // Over https:// the server chooses HTTP/2 by itself.
    let agent = Agent::builder().http_version(HttpVersion::Http2).build()?;
    let channel = GrpcChannel::new(&agent, format!("http://{address}"))?;
    let mut client = HealthClient::new(channel);

    for _ in 0..3 {
        let answer = client.check(HealthCheckRequest::default()).await?;
        println!("serving: {}", answer.into_inner().status().as_str_name());
    }
    let unknown = HealthCheckRequest { service: "nothing".to_owned() };
    if let Err(status) = client.check(unknown).await {
        println!("unknown: {:?}", status.code());
    }
    println!("connections: {}", agent.stats().total.opened);
    Ok(())
}
