//! The agent below the `object_store` crate: S3, Azure, Google Cloud and WebDAV stores over its
//! connections.
//!
//! ```
//! use warmwire_http::Agent;
//! use warmwire_plugs::object_store::AgentConnector;
//!
//! let connector = AgentConnector::new(Agent::new());
//! // AmazonS3Builder::from_env().with_http_connector(connector).build()
//! # let _ = connector;
//! ```
//!
//! Of a store's `ClientOptions` these hold, over the agent's own: the time-outs (`timeout`,
//! `connect_timeout`, `read_timeout`), the default headers, the user agent, and that `http://` is
//! refused unless `allow_http` is set. What concerns connections (proxy, pool, TLS, HTTP/2) is the
//! agent's to say, and options for it have no effect.

use std::time::Duration;

use async_trait::async_trait;
use http::{HeaderMap, HeaderValue, header};
use http_body_util::BodyExt;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpRequestBody,
    HttpResponse, HttpResponseBody, HttpService,
};
use object_store::{ClientConfigKey, ClientOptions};
use warmwire_http::{Agent, Body, Error, ErrorKind, Sent};

/// Makes clients over one [`Agent`] for object stores.
#[derive(Clone, Debug)]
pub struct AgentConnector {
    agent: Agent,
}

impl AgentConnector {
    /// Over this agent.
    pub fn new(agent: Agent) -> AgentConnector {
        AgentConnector { agent }
    }
}

impl HttpConnector for AgentConnector {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let allows = options.get_config_value(&ClientConfigKey::AllowHttp);
        let user_agent = options.get_config_value(&ClientConfigKey::UserAgent);
        Ok(HttpClient::new(Service {
            agent: self.agent.clone(),
            timeout: duration(options, ClientConfigKey::Timeout)?,
            connect_timeout: duration(options, ClientConfigKey::ConnectTimeout)?,
            read_timeout: duration(options, ClientConfigKey::ReadTimeout)?,
            allows_http: allows.is_some_and(|allows| allows.eq_ignore_ascii_case("true")),
            user_agent: user_agent.and_then(|value| value.parse().ok()),
            headers: options.get_default_headers().cloned().unwrap_or_default(),
        }))
    }
}

fn duration(
    options: &ClientOptions,
    key: ClientConfigKey,
) -> object_store::Result<Option<Duration>> {
    let text = options.get_config_value(&key);
    let parsed = text.map(|text| {
        humantime::parse_duration(&text).map_err(|error| object_store::Error::Generic {
            store: "HTTP client",
            source: format!("{text:?} is not a time for {}: {error}", key.as_ref()).into(),
        })
    });
    parsed.transpose()
}

/// An agent with the options of one store.
#[derive(Debug)]
struct Service {
    agent: Agent,
    timeout: Option<Duration>,
    connect_timeout: Option<Duration>,
    read_timeout: Option<Duration>,
    allows_http: bool,
    user_agent: Option<HeaderValue>,
    headers: HeaderMap,
}

#[async_trait]
impl HttpService for Service {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let (parts, body) = request.into_parts();
        if !self.allows_http && parts.uri.scheme_str() == Some("http") {
            let text = "http:// is refused: the store's options do not allow it";
            return Err(HttpError::new(HttpErrorKind::Unknown, std::io::Error::other(text)));
        }
        let mut headers = self.headers.clone();
        if let Some(user_agent) = &self.user_agent {
            headers.entry(header::USER_AGENT).or_insert_with(|| user_agent.clone());
        }
        let mut builder = self
            .agent
            .request(parts.method, parts.uri)
            .headers(headers)
            .headers(parts.headers)
            .body(self::body(body));
        if let Some(timeout) = self.timeout {
            builder = builder.timeout(timeout);
        }
        if let Some(timeout) = self.connect_timeout {
            builder = builder.connect_timeout(timeout);
        }
        if let Some(timeout) = self.read_timeout {
            builder = builder.response_timeout(timeout).read_timeout(timeout);
        }
        let response = builder.send().await.map_err(classify)?;
        let response = http::Response::from(response);
        Ok(response.map(|body| HttpResponseBody::new(body.map_err(classify))))
    }
}

/// A body of one piece stays in memory, so that the agent can send it again after a stale connection.
fn body(body: HttpRequestBody) -> Body {
    match body.as_bytes() {
        Some(bytes) => bytes.clone().into(),
        None => Body::new(body),
    }
}

/// Which of the store's kinds an error is: by that it decides what to send again.
fn classify(error: Error) -> HttpError {
    let kind = match error.kind() {
        ErrorKind::Dns
        | ErrorKind::Connect
        | ErrorKind::ConnectionRefused
        | ErrorKind::ConnectTimeout
        | ErrorKind::QueueFull
        | ErrorKind::AcquireTimeout => HttpErrorKind::Connect,
        _ if error.is_timeout() => HttpErrorKind::Timeout,
        // "Will be automatically retried": only what the server cannot have seen.
        ErrorKind::ConnectionClosed if error.sent() == Sent::No => HttpErrorKind::Request,
        ErrorKind::ConnectionClosed | ErrorKind::ResponseCut => HttpErrorKind::Interrupted,
        ErrorKind::InvalidResponse | ErrorKind::Decode => HttpErrorKind::Decode,
        _ => HttpErrorKind::Unknown,
    };
    HttpError::new(kind, error)
}
