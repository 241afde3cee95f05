//! A client and a server that tonic has generated, over the agent.

use std::time::Duration;

use ::tonic::{Code, Request, Status};
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpListener;
use tonic_health::ServingStatus;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;
use tonic_health::server::HealthReporter;
use tower::ServiceExt;
use warmwire_http::{Agent, Error, ErrorKind, HttpVersion};
use warmwire_plugs::mock::{Mock, Reply};
use warmwire_plugs::tonic::GrpcChannel;

/// A gRPC server at a port of this machine, and what it reports.
async fn serve() -> (String, HealthReporter) {
    let (reporter, service) = tonic_health::server::health_reporter();
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let service = service.clone();
            let answer = service_fn(move |request| service.clone().oneshot(request));
            let connection = http2::Builder::new(TokioExecutor::new())
                .serve_connection(TokioIo::new(stream), answer);
            tokio::spawn(connection);
        }
    });
    (origin, reporter)
}

fn agent() -> Agent {
    Agent::builder().http_version(HttpVersion::Http2).build().unwrap()
}

fn service(name: &str) -> Request<HealthCheckRequest> {
    Request::new(HealthCheckRequest { service: name.to_owned() })
}

fn source(status: &Status) -> ErrorKind {
    let source = std::error::Error::source(status).unwrap();
    source.downcast_ref::<Error>().unwrap().kind()
}

#[tokio::test]
async fn calls_share_one_connection_and_the_status_in_trailers_passes() {
    let (origin, reporter) = serve().await;
    reporter.set_service_status("db", ServingStatus::NotServing).await;
    let agent = agent();
    let client = HealthClient::new(GrpcChannel::new(&agent, &origin).unwrap());
    let calls = (0..20).map(|_| {
        let mut client = client.clone();
        async move { client.check(service("")).await }
    });
    for answer in futures_util::future::join_all(calls).await {
        assert_eq!(answer.unwrap().into_inner().status, ServingStatus::Serving as i32);
    }
    let answer = client.clone().check(service("db")).await.unwrap();
    assert_eq!(answer.into_inner().status, ServingStatus::NotServing as i32);
    let unknown = client.clone().check(service("nothing")).await.unwrap_err();
    assert_eq!(unknown.code(), Code::NotFound);
    assert_eq!(agent.stats().total.opened, 1);
}

#[tokio::test]
async fn a_stream_tells_each_change_as_it_happens() {
    let (origin, reporter) = serve().await;
    let agent = agent();
    let mut client = HealthClient::new(GrpcChannel::new(&agent, &origin).unwrap());
    let mut changes = client.watch(service("")).await.unwrap().into_inner();
    for status in [ServingStatus::Serving, ServingStatus::NotServing, ServingStatus::Serving] {
        reporter.set_service_status("", status).await;
        let change = changes.message().await.unwrap().unwrap();
        assert_eq!(change.status, status as i32);
    }
}

#[tokio::test(start_paused = true)]
async fn failures_have_the_code_that_says_what_to_do() {
    let mock = Mock::new().stall().refuse();
    let agent = mock.install(Agent::builder()).build().unwrap();
    let mut client = HealthClient::new(GrpcChannel::new(&agent, "http://grpc.test").unwrap());
    let refused = client.check(service("")).await.unwrap_err();
    assert_eq!(
        (refused.code(), source(&refused)),
        (Code::Unavailable, ErrorKind::ConnectionRefused)
    );
    let mut call = service("");
    call.set_timeout(Duration::from_secs(9));
    let late = client.check(call).await.unwrap_err();
    assert_eq!((late.code(), source(&late)), (Code::DeadlineExceeded, ErrorKind::Timeout));
    assert_eq!(mock.requests()[0].path(), "/grpc.health.v1.Health/Check");
}

#[tokio::test]
async fn a_server_without_http2_is_told_of() {
    let mock = Mock::new().reply(Reply::from("not gRPC"));
    let agent = mock.install(Agent::builder()).build().unwrap();
    let mut client = HealthClient::new(GrpcChannel::new(&agent, "http://grpc.test").unwrap());
    let status = client.check(service("")).await.unwrap_err();
    assert_eq!(status.code(), Code::Internal);
    assert!(status.message().contains("gRPC needs HTTP/2"), "{status}");
    GrpcChannel::new(&agent, "not an origin").unwrap_err();
}
