//! The agent below an AWS client. The clients of the SDK are large, so this one is made by hand of
//! the same parts: the SDK's orchestrator, with its retries and time-outs.
//!
//! `cargo run -p warmwire-examples --bin aws`

mod server;

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use aws_smithy_async::rt::sleep::TokioSleep;
use aws_smithy_async::time::SystemTimeSource;
use aws_smithy_runtime::client::orchestrator::operation::Operation;
use aws_smithy_runtime::client::retries::classifiers::HttpStatusCodeClassifier;
use aws_smithy_runtime_api::http::Request;
use aws_smithy_types::body::SdkBody;
use aws_smithy_types::retry::RetryConfig;
use aws_smithy_types::timeout::TimeoutConfig;
use warmwire::Agent;
use warmwire::plugs::aws::AwsHttpClient;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let attempts = Arc::new(AtomicU32::new(0));
    let counter = attempts.clone();
    let address = server::serve(move |request| {
        let first = counter.fetch_add(1, Ordering::Relaxed) == 0;
        async move {
            let text = format!("stored {} bytes", request.body().len());
            let status = if first { 503 } else { 200 };
            let response = http::Response::builder().status(status);
            response.body(text.into()).expect("a valid response")
        }
    })
    .await?;

    // With the SDK: `aws_config::defaults(version).http_client(client).load().await`.
    let agent = Agent::new();
    let client = AwsHttpClient::new(agent.clone());
    let retry = RetryConfig::standard().with_initial_backoff(Duration::from_millis(10));
    let put = Operation::builder()
        .service_name("example")
        .operation_name("PutThing")
        .http_client(client)
        .endpoint_url(&format!("http://{address}"))
        .no_auth()
        .sleep_impl(TokioSleep::new())
        .time_source(SystemTimeSource::new())
        .timeout_config(TimeoutConfig::builder().read_timeout(Duration::from_secs(5)).build())
        .retry_classifier(HttpStatusCodeClassifier::default())
        .standard_retry(&retry)
        .serializer(|text: &'static str| {
            let mut request = Request::new(SdkBody::from(text));
            request.set_method("PUT")?;
            request.set_uri("/thing")?;
            Ok(request)
        })
        .deserializer::<_, Infallible>(|response| {
            let body = response.body().bytes().unwrap_or_default();
            Ok(format!("{} {}", response.status(), String::from_utf8_lossy(body)))
        })
        .build();

    println!("answer: {}", put.invoke("hello").await?);
    println!("attempts: {}", attempts.load(Ordering::Relaxed));
    println!("connections: {}", agent.stats().total.opened);
    Ok(())
}
