//! Spans to a subscriber, metrics to a recorder, and the caller's trace to the server.
//!
//! `cargo run -p warmwire-examples --bin observability`

mod server;

use http::HeaderValue;
use http_body_util::BodyExt;
use metrics_util::debugging::DebuggingRecorder;
use tower::{Service, ServiceBuilder};
use tracing::Level;
use warmwire::Agent;
use warmwire::http::Body;

/// What an OpenTelemetry library says of the current span: trace, span, sampled.
const TRACE: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

/// W3C Trace Context: the layer above the agent that tells the server which trace it is part of.
fn with_trace(mut request: http::Request<Body>) -> http::Request<Body> {
    request.headers_mut().insert("traceparent", HeaderValue::from_static(TRACE));
    request
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    tracing_subscriber::fmt()
        .with_max_level(Level::DEBUG)
        .with_span_events(tracing_subscriber::fmt::format::FmtSpan::CLOSE)
        .with_ansi(false)
        .without_time()
        .init();
    // In place of an exporter, which would be told of `warmwire::http::metrics::DURATION_BUCKETS`.
    let recorder = DebuggingRecorder::new();
    let metrics = recorder.snapshotter();
    metrics::set_global_recorder(recorder)?;

    let address = server::serve(async |request: http::Request<bytes::Bytes>| {
        let trace = request.headers()["traceparent"].clone();
        http::Response::new(bytes::Bytes::copy_from_slice(trace.as_bytes()))
    })
    .await?;
    let mut service = ServiceBuilder::new().map_request(with_trace).service(Agent::new());
    let url = format!("http://{address}/charges?token=secret");
    let response = service.call(http::Request::get(url).body(Body::empty())?).await?;
    let trace = response.into_body().collect().await?.to_bytes();

    let mut lines: Vec<String> = metrics.snapshot().into_vec().into_iter().map(line).collect();
    lines.sort();
    println!("{}", lines.join("\n"));
    println!("traceparent: {}", String::from_utf8_lossy(&trace));
    Ok(())
}

type Metric = (
    metrics_util::CompositeKey,
    Option<metrics::Unit>,
    Option<metrics::SharedString>,
    metrics_util::debugging::DebugValue,
);

fn line((key, _, _, value): Metric) -> String {
    let labels = key.key().labels().map(|label| format!("{}={}", label.key(), label.value()));
    let labels: Vec<String> = labels.collect();
    format!("{} {{{}}} {value:?}", key.key().name(), labels.join(", "))
}
