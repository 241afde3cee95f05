//! The two sides that are compared, and the agent of each.

use super::plan::{Plan, RequestPlan, Target};
use super::record::Outcome;
use crate::failure::Failure;
use crate::server::EmbeddedServer;
use crate::timer::PreciseTimer;
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::SendRequest;
use hyper_util::rt::TokioIo;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::Semaphore;

/// Which way of sending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// One connection per request.
    Without,
    /// The agent with keep-alive.
    With,
}

impl Side {
    /// The word for it: `without` or `with` keep-alive.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Without => "without",
            Self::With => "with",
        }
    }
}

/// Where the requests go.
#[derive(Clone, Debug)]
pub(crate) struct Site {
    pub(crate) url: String,
    /// The only certificate to trust, of the embedded server.
    pub(crate) roots_pem: Option<String>,
}

impl Site {
    pub(crate) fn new(target: &Target, server: Option<&EmbeddedServer>) -> Self {
        match (target, server) {
            (Target::Embedded { server, dns }, Some(running)) => {
                let scheme = if server.tls.is_some() { "https" } else { "http" };
                // Only a name is looked up.
                let host = if dns.is_some() { "localhost" } else { "127.0.0.1" };
                Self {
                    url: format!("{scheme}://{host}:{}/", running.port()),
                    roots_pem: running.certificate_pem().map(str::to_owned),
                }
            }
            (Target::Url(url), _) => Self { url: url.clone(), roots_pem: None },
            (Target::Embedded { .. }, None) => Self { url: String::new(), roots_pem: None },
        }
    }
}

/// Sends the requests of one side. Stand-in until the Agent is there.
#[derive(Clone)]
pub(crate) struct Client {
    shared: Arc<Shared>,
}

struct Shared {
    keep: bool,
    address: String,
    request: RequestPlan,
    permits: Semaphore,
    idle: Mutex<Vec<SendRequest<Full<Bytes>>>>,
    opened: AtomicU64,
    timer: PreciseTimer,
    rtt: Duration,
}

impl Client {
    pub(crate) fn new(
        side: Side,
        plan: &Plan,
        site: &Site,
        timer: &PreciseTimer,
    ) -> Result<Self, Failure> {
        let uri: http::Uri = site.url.parse().map_err(|_| Failure::usage("bad URL"))?;
        Ok(Self {
            shared: Arc::new(Shared {
                keep: side == Side::With,
                address: uri.authority().map(ToString::to_string).unwrap_or_default(),
                request: plan.load.request.clone(),
                permits: Semaphore::new(plan.agent.max_connections.unwrap_or(1)),
                idle: Mutex::default(),
                opened: AtomicU64::new(0),
                timer: timer.clone(),
                rtt: plan.target.rtt(),
            }),
        })
    }

    pub(crate) fn send(&self) -> impl Future<Output = Outcome> + Send + use<> {
        let this = Arc::clone(&self.shared);
        async move {
            match this.exchange().await {
                Ok(handshake) => Outcome::Done { handshake },
                Err(_) => Outcome::Failed("connect".into()),
            }
        }
    }

    pub(crate) fn connections_opened(&self) -> u64 {
        self.shared.opened.load(Ordering::Relaxed)
    }

    pub(crate) async fn close(self) {}
}

impl Shared {
    async fn exchange(&self) -> anyhow::Result<Duration> {
        let _permit = self.permits.acquire().await?;
        let idle = self.idle.lock().unwrap().pop();
        let mut handshake = Duration::ZERO;
        let mut sender = match idle {
            Some(sender) => sender,
            None => {
                let start = std::time::Instant::now();
                self.timer.sleep(self.rtt).await;
                let stream = tokio::net::TcpStream::connect(&self.address).await?;
                stream.set_nodelay(true)?;
                self.opened.fetch_add(1, Ordering::Relaxed);
                let (sender, connection) =
                    hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
                tokio::spawn(connection);
                handshake = start.elapsed();
                sender
            }
        };
        sender.ready().await?;
        let mut request =
            http::Request::new(Full::new(self.request.body.clone().unwrap_or_default()));
        *request.method_mut() = self.request.method.clone();
        request.headers_mut().insert("host", self.address.parse()?);
        if !self.keep {
            request.headers_mut().insert("connection", "close".parse()?);
        }
        let response = sender.send_request(request).await?;
        response.into_body().collect().await?;
        if self.keep {
            self.idle.lock().unwrap().push(sender);
        }
        Ok(handshake)
    }
}
