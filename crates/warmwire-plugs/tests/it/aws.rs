//! The SDK's own orchestrator, with its retries and time-outs, over the agent.

use std::convert::Infallible;
use std::time::Duration;

use aws_smithy_async::rt::sleep::TokioSleep;
use aws_smithy_async::time::SystemTimeSource;
use aws_smithy_runtime::client::orchestrator::operation::Operation;
use aws_smithy_runtime::client::retries::classifiers::TransientErrorClassifier;
use aws_smithy_runtime_api::client::http::HttpClient;
use aws_smithy_runtime_api::client::result::{ConnectorError, SdkError};
use aws_smithy_runtime_api::http::Request;
use aws_smithy_types::body::SdkBody;
use aws_smithy_types::retry::RetryConfig;
use aws_smithy_types::timeout::TimeoutConfig;
use tokio::time::Instant;
use warmwire_http::{Agent, Error, ErrorKind};
use warmwire_plugs::aws::AwsHttpClient;
use warmwire_plugs::mock::{Mock, Reply};

fn agent(mock: &Mock) -> Agent {
    mock.install(Agent::builder()).build().unwrap()
}

/// An operation that puts a text and reads one.
fn operation(
    agent: &Agent,
    timeouts: TimeoutConfig,
    attempts: u32,
) -> Operation<&'static str, (u16, String), Infallible> {
    let retry = RetryConfig::standard().with_max_attempts(attempts);
    Operation::builder()
        .service_name("test")
        .operation_name("put")
        .http_client(AwsHttpClient::new(agent.clone()))
        .endpoint_url("http://service.test")
        .no_auth()
        .sleep_impl(TokioSleep::new())
        .time_source(SystemTimeSource::new())
        .timeout_config(timeouts)
        .retry_classifier(TransientErrorClassifier::<Infallible>::new())
        .standard_retry(&retry.with_initial_backoff(Duration::from_millis(1)))
        .with_connection_poisoning()
        .serializer(|text: &'static str| {
            let mut request = Request::new(SdkBody::from(text));
            request.set_method("PUT")?;
            request.set_uri("/thing?x=1")?;
            request.headers_mut().insert("x-from", "sdk");
            Ok(request)
        })
        .deserializer(|response| {
            let body = response.body().bytes().unwrap_or_default();
            Ok((response.status().as_u16(), String::from_utf8_lossy(body).into_owned()))
        })
        .build()
}

fn connector_error<E, R>(error: &SdkError<E, R>) -> &ConnectorError {
    match error {
        SdkError::DispatchFailure(failure) => failure.as_connector_error().unwrap(),
        _ => panic!("no dispatch failure"),
    }
}

fn source(error: &ConnectorError) -> ErrorKind {
    std::error::Error::source(error).unwrap().downcast_ref::<Error>().unwrap().kind()
}

#[tokio::test]
async fn requests_and_answers_pass_whole_over_one_connection() {
    let mock = Mock::new().reply("stored").reply(Reply::from("again").chunked());
    let agent = agent(&mock);
    let operation = operation(&agent, TimeoutConfig::disabled(), 1);
    assert_eq!(operation.invoke("hello").await.unwrap(), (200, "stored".to_owned()));
    assert_eq!(operation.invoke("hello").await.unwrap(), (200, "again".to_owned()));
    let request = &mock.requests()[0];
    assert_eq!(
        (request.to_string().as_str(), request.text().as_str()),
        ("PUT /thing?x=1", "hello")
    );
    assert_eq!(request.header("x-from"), Some("sdk"));
    assert_eq!(mock.connections(), 1);
}

#[tokio::test]
async fn the_sdk_sends_again_what_failed_on_the_way() {
    let mock = Mock::new().close().refuse().reply("third");
    // The first connect is the one that is refused.
    let agent = agent(&mock);
    let operation = operation(&agent, TimeoutConfig::disabled(), 3);
    assert_eq!(operation.invoke("hello").await.unwrap(), (200, "third".to_owned()));
    assert_eq!(mock.requests().len(), 2);
    mock.assert_all_used();
}

#[tokio::test(start_paused = true)]
async fn the_sdks_read_timeout_holds_and_is_a_timeout_to_it() {
    let mock = Mock::new().stall();
    let timeouts = TimeoutConfig::builder().read_timeout(Duration::from_secs(7)).build();
    let began = Instant::now();
    let error = operation(&agent(&mock), timeouts, 1).invoke("hello").await.unwrap_err();
    let error = connector_error(&error);
    assert!(error.is_timeout(), "{error:?}");
    assert_eq!(source(error), ErrorKind::ResponseTimeout);
    assert!((7..8).contains(&began.elapsed().as_secs()));
}

#[tokio::test]
async fn errors_are_of_the_sdks_kinds() {
    let mock = Mock::new().refuse().close();
    let agent = agent(&mock);
    let operation = operation(&agent, TimeoutConfig::disabled(), 1);
    for kind in [ErrorKind::ConnectionRefused, ErrorKind::ConnectionClosed] {
        let error = operation.invoke("hello").await.unwrap_err();
        let error = connector_error(&error);
        assert!(error.is_io(), "{error:?}");
        assert_eq!(source(error), kind);
        let known = kind == ErrorKind::ConnectionClosed;
        assert_eq!(error.connection_metadata().is_some(), known, "{error:?}");
    }
    let metadata = AwsHttpClient::new(agent).connector_metadata().unwrap();
    assert_eq!(metadata.name(), "warmwire");
}
