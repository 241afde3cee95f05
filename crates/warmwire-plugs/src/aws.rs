//! The agent as the HTTP client of the AWS SDK for Rust, and of every other Smithy client.
//!
//! ```
//! use warmwire_http::Agent;
//! use warmwire_plugs::aws::AwsHttpClient;
//!
//! let client = AwsHttpClient::new(Agent::new());
//! // aws_config::defaults(BehaviorVersion::latest()).http_client(client).load().await
//! # let _ = client;
//! ```
//!
//! One agent can serve all clients of a program: limits are per origin, and each bucket's or
//! service's host is one. The SDK's own time-outs hold: its connect timeout takes the place of the
//! agent's, its read timeout that of the agent's response timeout. Its retries sit above the agent,
//! which itself sends again only what failed on a stale connection; when the SDK poisons a connection
//! after a transient error, the agent evicts it.

use std::time::Duration;

use aws_smithy_runtime_api::client::connection::{CaptureSmithyConnection, ConnectionMetadata};
use aws_smithy_runtime_api::client::connector_metadata::ConnectorMetadata;
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::body::SdkBody;
use aws_smithy_types::retry::ErrorKind as RetryKind;
use bytes::Bytes;
use warmwire_http::{Agent, Body, ConnectionInfo, Error, ErrorKind};

/// An [`Agent`] as the HTTP client of Smithy clients.
#[derive(Clone, Debug)]
pub struct AwsHttpClient {
    agent: Agent,
}

impl AwsHttpClient {
    /// Over this agent.
    pub fn new(agent: Agent) -> AwsHttpClient {
        AwsHttpClient { agent }
    }
}

impl HttpClient for AwsHttpClient {
    fn http_connector(
        &self,
        settings: &HttpConnectorSettings,
        _: &RuntimeComponents,
    ) -> SharedHttpConnector {
        SharedHttpConnector::new(Connector {
            agent: self.agent.clone(),
            connect_timeout: settings.connect_timeout(),
            read_timeout: settings.read_timeout(),
        })
    }

    fn connector_metadata(&self) -> Option<ConnectorMetadata> {
        Some(ConnectorMetadata::new("warmwire", Some(env!("CARGO_PKG_VERSION").into())))
    }
}

/// The agent with the time-outs of one client or operation.
#[derive(Debug)]
struct Connector {
    agent: Agent,
    connect_timeout: Option<Duration>,
    read_timeout: Option<Duration>,
}

impl HttpConnector for Connector {
    fn call(&self, mut request: HttpRequest) -> HttpConnectorFuture {
        let capture = request.extension::<CaptureSmithyConnection>().cloned();
        let body = body(request.take_body());
        let request = match request.try_into_http1x() {
            Ok(request) => request,
            Err(error) => {
                return HttpConnectorFuture::ready(Err(ConnectorError::user(error.into())));
            }
        };
        let (parts, _) = request.into_parts();
        let mut builder =
            self.agent.request(parts.method, parts.uri).headers(parts.headers).body(body);
        if let Some(timeout) = self.connect_timeout {
            builder = builder.connect_timeout(timeout);
        }
        if let Some(timeout) = self.read_timeout {
            builder = builder.response_timeout(timeout);
        }
        let agent = self.agent.clone();
        HttpConnectorFuture::new(async move {
            let response = builder.send().await.map_err(|error| classify(error, &agent))?;
            if let Some(capture) = capture {
                let metadata = metadata(response.connection(), &agent);
                capture.set_connection_retriever(move || Some(metadata.clone()));
            }
            let response = http::Response::from(response).map(SdkBody::from_body_1_x);
            HttpResponse::try_from(response)
                .map_err(|error| ConnectorError::other(error.into(), None))
        })
    }
}

/// A body in memory stays one, so that the agent can send it again after a stale connection.
fn body(body: SdkBody) -> Body {
    match body.bytes() {
        Some(bytes) => Bytes::copy_from_slice(bytes).into(),
        None => Body::new(body),
    }
}

/// What the SDK knows of the connection, and how it has the connection taken out of use.
fn metadata(connection: &ConnectionInfo, agent: &Agent) -> ConnectionMetadata {
    let (id, agent) = (connection.id(), agent.clone());
    let proxied = connection.proxy().is_some();
    let mut metadata = ConnectionMetadata::builder().proxied(proxied).poison_fn(move || {
        agent.evict(|candidate| candidate.id == id);
    });
    metadata.set_remote_addr(connection.remote_address());
    metadata.set_local_addr(connection.local_address());
    metadata.build()
}

/// Which of the SDK's kinds an error is: by that it decides what to send again.
fn classify(error: Error, agent: &Agent) -> ConnectorError {
    let connection = error.connection().map(|connection| metadata(connection, agent));
    let kind = error.kind();
    let timeout = error.is_timeout();
    let error = Box::new(error);
    let classified = match kind {
        _ if timeout => ConnectorError::timeout(error),
        ErrorKind::InvalidRequest | ErrorKind::RequestBody => ConnectorError::user(error),
        ErrorKind::Dns
        | ErrorKind::Connect
        | ErrorKind::ConnectionRefused
        | ErrorKind::ConnectionClosed
        | ErrorKind::ResponseCut => ConnectorError::io(error),
        ErrorKind::QueueFull => ConnectorError::other(error, Some(RetryKind::TransientError)),
        _ => ConnectorError::other(error, None),
    };
    match connection {
        Some(connection) => classified.with_connection(connection),
        None => classified.never_connected(),
    }
}
