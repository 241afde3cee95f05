//! The two sides that are compared, and the agent of each.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use http::{Uri, Version};
use warmwire::http::{AgentBuilder, HttpVersion, RequestBuilder, Scheduling, Tls, TlsVersion};
use warmwire::{Agent, Error};

use super::plan::{Plan, RequestPlan, Target};
use super::record::Outcome;
use super::simulate::{DistantConnector, SlowResolver};
use crate::failure::Failure;
use crate::flags::{AgentFlags, Order};
use crate::server::{self, EmbeddedServer};
use crate::timer::PreciseTimer;
use crate::units::Span;

/// How long connections may take to be closed at the end.
const GOODBYE: Duration = Duration::from_secs(1);
/// The agent sets interval and count of TCP's probes together; these are its defaults.
const DEFAULT_PROBE_INTERVAL: Duration = Duration::from_secs(15);
const DEFAULT_PROBES: u32 = 3;

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

/// Sends the requests of one side.
#[derive(Clone)]
pub(crate) struct Client {
    agent: Agent,
    uri: Uri,
    request: RequestPlan,
    /// Of the first response.
    version: Arc<OnceLock<Version>>,
}

impl Client {
    /// # Errors
    /// When the agent does not take its options, or a file that they name cannot be read.
    pub(crate) fn new(
        side: Side,
        plan: &Plan,
        site: &Site,
        timer: &PreciseTimer,
    ) -> Result<Self, Failure> {
        let uri = site
            .url
            .parse()
            .map_err(|error| Failure::usage(format!("`{}` is not a URL: {error}", site.url)))?;
        let builder = with_options(Agent::builder(), &plan.agent).tls(tls(side, plan, site)?);
        let builder = with_simulation(builder, plan, timer).keep_alive(side == Side::With);
        let builder = match side {
            // One request on each connection, also where HTTP/2 lets it carry more at once.
            Side::Without => builder.http2_max_streams(1),
            Side::With => builder,
        };
        let builder = if plan.http2 { builder.http_version(HttpVersion::Http2) } else { builder };
        let agent = builder.build().map_err(|error| Failure::usage(error.to_string()))?;
        Ok(Self { agent, uri, request: plan.load.request.clone(), version: Arc::default() })
    }

    /// Sends one request and reads the response to its end.
    pub(crate) fn send(&self) -> impl Future<Output = Outcome> + Send + use<> {
        let mut request = self.agent.request(self.request.method.clone(), &self.uri);
        for (name, value) in &self.request.headers {
            request = request.header(name, value);
        }
        if let Some(body) = &self.request.body {
            request = request.body(body.clone());
        }
        let version = Arc::clone(&self.version);
        async move {
            match exchange(request, &version).await {
                Ok(outcome) => outcome,
                Err(error) => {
                    Outcome::Failed { kind: error.kind().as_str().into(), error: Some(error) }
                }
            }
        }
    }

    /// Connections that were opened until now.
    pub(crate) fn connections_opened(&self) -> u64 {
        self.agent.stats().total.opened
    }

    /// The version of HTTP that the server answered in, `1.0`, `1.1` or `2`; `None` when it never did.
    pub(crate) fn http_version(&self) -> Option<&'static str> {
        self.version.get().map(|version| match *version {
            Version::HTTP_2 => "2",
            Version::HTTP_10 => "1.0",
            _ => "1.1",
        })
    }

    /// Closes every connection, as far as that goes quickly.
    pub(crate) async fn close(self) {
        // A connect that is still under way, to a host that does not answer, is not waited for.
        let _ = tokio::time::timeout(GOODBYE, self.agent.close()).await;
    }
}

async fn exchange(request: RequestBuilder, version: &OnceLock<Version>) -> Result<Outcome, Error> {
    let mut response = request.send().await?;
    version.get_or_init(|| response.version());
    let (status, timings) = (response.status(), response.timings());
    while response.chunk().await?.is_some() {}
    if status.is_client_error() || status.is_server_error() {
        let kind = format!("status_{}", status.as_u16()).into();
        return Ok(Outcome::Failed { kind, error: None });
    }
    Ok(Outcome::Done { handshake: timings.dns + timings.connect + timings.tls })
}

fn with_options(builder: AgentBuilder, options: &AgentFlags) -> AgentBuilder {
    fn set<T>(
        builder: AgentBuilder,
        value: Option<T>,
        setter: fn(AgentBuilder, T) -> AgentBuilder,
    ) -> AgentBuilder {
        match value {
            Some(value) => setter(builder, value),
            None => builder,
        }
    }
    let time = |span: Option<Span>| span.map(|span| span.0);
    let scheduling = options.scheduling.map(|order| match order {
        Order::Lifo => Scheduling::Lifo,
        Order::Fifo => Scheduling::Fifo,
    });
    let builder = set(builder, options.max_connections, AgentBuilder::max_connections);
    let builder = set(builder, options.max_total_connections, AgentBuilder::max_total_connections);
    let builder = set(builder, options.max_idle, AgentBuilder::max_idle);
    let builder = set(builder, options.max_waiting, AgentBuilder::max_waiting);
    let builder = set(builder, time(options.acquire_timeout), AgentBuilder::acquire_timeout);
    let builder = set(builder, time(options.idle_timeout), AgentBuilder::idle_timeout);
    let builder = set(builder, time(options.max_idle_timeout), AgentBuilder::max_idle_timeout);
    let builder = set(builder, time(options.max_lifetime), AgentBuilder::max_lifetime);
    let builder = set(
        builder,
        options.max_requests_per_connection,
        AgentBuilder::max_requests_per_connection,
    );
    let builder = set(builder, time(options.connect_timeout), AgentBuilder::connect_timeout);
    let builder = set(builder, time(options.response_timeout), AgentBuilder::response_timeout);
    let builder = set(builder, time(options.read_timeout), AgentBuilder::read_timeout);
    let builder = set(builder, time(options.timeout), AgentBuilder::timeout);
    let builder = set(builder, time(options.tcp_keepalive), AgentBuilder::tcp_keepalive);
    let builder = match (time(options.tcp_keepalive_interval), options.tcp_keepalive_count) {
        (None, None) => builder,
        (interval, count) => builder.tcp_keepalive_probes(
            interval.unwrap_or(DEFAULT_PROBE_INTERVAL),
            count.unwrap_or(DEFAULT_PROBES),
        ),
    };
    let builder =
        set(builder, time(options.happy_eyeballs_delay), AgentBuilder::happy_eyeballs_delay);
    let builder =
        set(builder, time(options.expect_continue_timeout), AgentBuilder::expect_continue_timeout);
    let head = options.max_response_head.map(|size| size.0.try_into().unwrap_or(usize::MAX));
    let builder = set(builder, head, AgentBuilder::max_response_head);
    let builder = set(builder, options.max_response_headers, AgentBuilder::max_response_headers);
    let builder = set(builder, options.tcp_nodelay, AgentBuilder::tcp_nodelay);
    let builder = set(builder, scheduling, AgentBuilder::scheduling);
    let builder = set(builder, options.unix_socket.clone(), AgentBuilder::unix_socket);
    let builder = set(builder, options.local_address, AgentBuilder::local_address);
    set(builder, options.user_agent.clone(), AgentBuilder::user_agent)
}

fn with_simulation(builder: AgentBuilder, plan: &Plan, timer: &PreciseTimer) -> AgentBuilder {
    let Target::Embedded { server, dns } = &plan.target else { return builder };
    let builder = match dns {
        Some(duration) => {
            // Each new connection pays for its look-up, which is what is simulated.
            let builder = builder.dns_cache(Duration::ZERO);
            builder.resolver(SlowResolver { duration: *duration, timer: timer.clone() })
        }
        None => builder,
    };
    if server.rtt.is_zero() {
        return builder;
    }
    let nodelay = plan.agent.tcp_nodelay.unwrap_or(true);
    builder.connector(DistantConnector { rtt: server.rtt, nodelay, timer: timer.clone() })
}

fn tls(side: Side, plan: &Plan, site: &Site) -> Result<Tls, Failure> {
    let mut tls = Tls::new();
    if let Some(pem) = &site.roots_pem {
        tls = tls.roots_pem(pem.as_bytes());
    }
    if let Some(path) = &plan.agent.tls_roots {
        let pem = std::fs::read(path).map_err(|error| {
            Failure::usage(format!("cannot read --tls-roots {}: {error}", path.display()))
        })?;
        tls = tls.roots_pem(&pem);
    }
    if let Some(version) = plan.tls_version {
        let version = match version {
            server::TlsVersion::V12 => TlsVersion::Tls12,
            server::TlsVersion::V13 => TlsVersion::Tls13,
        };
        tls = tls.versions(version, version);
    }
    if side == Side::Without && !plan.resume {
        // A program that runs once per request has no session to resume.
        return Ok(tls.resumption(0));
    }
    Ok(match plan.agent.tls_sessions {
        Some(sessions) => tls.resumption(sessions),
        None => tls,
    })
}
