//! Runs the users' programs against a server and wants exit code 0; their asserts are the point.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::process::Command;

const PROGRAMS: [&str; 6] = [
    "agent_events",
    "agent_limits",
    "agent_quickstart",
    "agent_tower",
    "rpc_quickstart",
    "rpc_values",
];

#[tokio::test]
async fn agent_quickstart() {
    run(env!("CARGO_BIN_EXE_agent_quickstart"), Duration::ZERO).await;
}

#[tokio::test]
async fn agent_limits() {
    run(env!("CARGO_BIN_EXE_agent_limits"), Duration::from_millis(200)).await;
}

#[tokio::test]
async fn agent_events() {
    run(env!("CARGO_BIN_EXE_agent_events"), Duration::ZERO).await;
}

#[tokio::test]
async fn agent_tower() {
    run(env!("CARGO_BIN_EXE_agent_tower"), Duration::ZERO).await;
}

#[tokio::test]
async fn rpc_quickstart() {
    run(env!("CARGO_BIN_EXE_rpc_quickstart"), Duration::ZERO).await;
}

#[tokio::test]
async fn rpc_values() {
    run(env!("CARGO_BIN_EXE_rpc_values"), Duration::ZERO).await;
}

/// The programs are specified outside this repository; where the specification is at hand, the
/// copies must be the same to the byte.
#[test]
fn the_copies_are_the_specification() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let specification = here.join("../../../shared/users");
    if !specification.exists() {
        return;
    }
    for name in PROGRAMS {
        let read =
            |folder: &Path| std::fs::read_to_string(folder.join(format!("{name}.rs"))).unwrap();
        assert!(read(here) == read(&specification), "{name}.rs differs from the specification");
    }
}

async fn run(program: &str, delay: Duration) {
    let address = serve(delay).await;
    let output = Command::new(program).arg(format!("http://{address}/")).output().await.unwrap();
    assert!(
        output.status.success(),
        "{program}: {}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
}

/// A server that echoes each body after `delay`.
async fn serve(delay: Duration) -> SocketAddr {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let echo = service_fn(move |request| echo(request, delay));
            let connection = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), echo);
            // Its end is the client's business: programs may leave connections open.
            tokio::spawn(connection);
        }
    });
    address
}

async fn echo(
    request: Request<Incoming>,
    delay: Duration,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let body = request.into_body().collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    tokio::time::sleep(delay).await;
    Ok(Response::new(Full::new(body)))
}
