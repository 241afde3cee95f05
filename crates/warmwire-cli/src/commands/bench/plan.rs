//! The flags of `bench`, checked and completed.

use std::time::Duration;

use bytes::Bytes;
use http::header::{self, HeaderName, HeaderValue};
use http::{Method, Uri};
use warmwire::Agent;

use super::side::Side;
use crate::failure::Failure;
use crate::flags::{AgentFlags, BenchFlags, LoadFlags, ServerFlags, SideChoice};
use crate::server::{ServerConfig, TlsVersion};
use crate::units::{Size, Span};

/// The longest round trip and look-up that are simulated.
const LONGEST_SIMULATED: Duration = Duration::from_secs(10);
/// The longest body that the embedded server answers with.
const LONGEST_BODY: Size = Size(1 << 30);
const MOST_CONCURRENT: usize = 100_000;
const DEFAULT_CONCURRENCY: usize = 60;
const DEFAULT_IN_FLIGHT: usize = 10_000;
/// Little's law: at the usual 80 requests a second it allows more than half a second for each.
const DEFAULT_CONNECTIONS_OPEN_LOOP: usize = 50;
const DEFAULT_DURATION: Duration = Duration::from_secs(10);
/// RFC 9113, 8.2.2; the others that it names are set by the bench itself.
const NOT_IN_HTTP2: [HeaderName; 3] = [
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    header::UPGRADE,
];
/// Longer than a part of a round takes, so that the pause in which the other side sends does not
/// cost the agent its idle connections.
const DEFAULT_IDLE_TIMEOUT: Duration = Duration::from_secs(300);

/// What is to be done, free of contradictions.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) target: Target,
    pub(crate) load: Load,
    pub(crate) sides: Vec<Side>,
    /// Whether the side without keep-alive resumes TLS sessions.
    pub(crate) resume: bool,
    /// The agent's options, with the bench's own defaults filled in.
    pub(crate) agent: AgentFlags,
    /// The only TLS version to offer.
    pub(crate) tls_version: Option<TlsVersion>,
    /// Whether HTTP/2 is the only version of HTTP to speak.
    pub(crate) http2: bool,
}

/// Where the requests go.
#[derive(Clone, Debug)]
pub(crate) enum Target {
    /// To a server that is there already.
    Url(String),
    /// To the embedded server.
    Embedded { server: ServerConfig, dns: Option<Duration> },
}

/// What is sent, how fast and how often.
#[derive(Debug)]
pub(crate) struct Load {
    pub(crate) requests: Option<u64>,
    pub(crate) duration: Option<Duration>,
    pub(crate) pace: Pace,
    pub(crate) warmup: u64,
    pub(crate) rounds: u32,
    pub(crate) request: RequestPlan,
}

/// When the next request is sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Pace {
    /// When one before it is done.
    Closed { concurrency: usize },
    /// When it is due, unless too many are under way.
    Open { per_second: f64, max_in_flight: usize },
}

/// The request, the same every time.
#[derive(Clone, Debug)]
pub(crate) struct RequestPlan {
    pub(crate) method: Method,
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    pub(crate) body: Option<Bytes>,
}

impl Plan {
    /// # Errors
    /// A sentence for every contradiction and every value out of its bounds.
    pub(crate) fn new(flags: &BenchFlags) -> Result<Self, Failure> {
        let target = target(flags)?;
        let pace = pace(&flags.load)?;
        let sides = sides(flags, target.speaks_tls())?;
        let agent = agent(flags, &target, pace)?;
        Ok(Self {
            load: load(flags, pace)?,
            sides,
            resume: flags.load.resume,
            agent,
            tls_version: match &target {
                Target::Url(_) => flags.server.tls_version,
                Target::Embedded { server, .. } => server.tls,
            },
            http2: flags.server.http2,
            target,
        })
    }
}

impl Target {
    pub(crate) fn speaks_tls(&self) -> bool {
        match self {
            Self::Url(url) => url.starts_with("https:"),
            Self::Embedded { server, .. } => server.tls.is_some(),
        }
    }

    /// The simulated round trip; zero when none is.
    pub(crate) fn rtt(&self) -> Duration {
        match self {
            Self::Url(_) => Duration::ZERO,
            Self::Embedded { server, .. } => server.rtt,
        }
    }
}

fn target(flags: &BenchFlags) -> Result<Target, Failure> {
    match &flags.url {
        Some(url) => given_target(url, &flags.server),
        None => embedded_target(&flags.server),
    }
}

fn given_target(url: &str, flags: &ServerFlags) -> Result<Target, Failure> {
    let of_server = [
        ("--delay", flags.delay.is_some()),
        ("--body", flags.body.is_some()),
        ("--tls", flags.tls),
        ("--rtt", flags.rtt.is_some()),
        ("--dns", flags.dns.is_some()),
    ];
    if let Some((flag, _)) = of_server.iter().find(|(_, is_given)| *is_given) {
        return Err(Failure::usage(format!(
            "{flag} describes the embedded server, which is not started when a URL is given ({url})"
        )));
    }
    let uri: Uri =
        url.parse().map_err(|error| Failure::usage(format!("`{url}` is not a URL: {error}")))?;
    if !matches!(uri.scheme_str(), Some("http" | "https")) || uri.host().is_none_or(str::is_empty) {
        return Err(Failure::usage(format!(
            "`{url}` is not a URL that can be measured: write http://HOST/… or https://HOST/…"
        )));
    }
    // The agent's own checks, such as that of the port.
    let authority = uri.authority().map_or("", |authority| authority.as_str());
    let origin = format!("{}://{authority}", uri.scheme_str().unwrap_or("http"));
    Agent::new().origin(origin).map_err(|error| Failure::usage(error.to_string()))?;
    let target = Target::Url(url.to_owned());
    if flags.tls_version.is_some() && !target.speaks_tls() {
        return Err(Failure::usage(format!(
            "--tls-version needs an https URL, and {url} is not one"
        )));
    }
    Ok(target)
}

fn embedded_target(flags: &ServerFlags) -> Result<Target, Failure> {
    let short = |flag: &str, span: Option<Span>| match span {
        Some(span) if span.0 > LONGEST_SIMULATED => Err(Failure::usage(format!(
            "{flag} {span} is too long: at most {} is accepted",
            Span(LONGEST_SIMULATED)
        ))),
        span => Ok(span.map(|span| span.0)),
    };
    let body = flags.body.unwrap_or(Size(256));
    if body > LONGEST_BODY {
        return Err(Failure::usage(format!(
            "--body {body} is too long: at most {LONGEST_BODY} is accepted"
        )));
    }
    let is_secure = flags.tls || flags.tls_version.is_some();
    let server = ServerConfig {
        delay: flags.delay.map_or(Duration::ZERO, |span| span.0),
        body: body.0,
        tls: is_secure.then(|| flags.tls_version.unwrap_or(TlsVersion::V13)),
        http2: flags.http2,
        rtt: short("--rtt", flags.rtt)?.unwrap_or_default(),
    };
    Ok(Target::Embedded { server, dns: short("--dns", flags.dns)? })
}

fn pace(flags: &LoadFlags) -> Result<Pace, Failure> {
    match (flags.rate, flags.concurrency, flags.max_in_flight) {
        (Some(_), Some(_), _) => Err(Failure::usage(
            "--rate and --concurrency contradict each other: with --rate a request is \
             sent when it is due, however many are under way (up to --max-in-flight)",
        )),
        (None, _, Some(_)) => {
            Err(Failure::usage("--max-in-flight bounds an open loop: it needs --rate"))
        }
        (Some(rate), None, in_flight) => {
            if !(rate > 0.0 && rate <= 1e6) {
                return Err(Failure::usage(format!(
                    "--rate {rate} is not a number of requests per second: \
                     more than 0 and at most 1000000 is accepted"
                )));
            }
            let max_in_flight = in_flight.unwrap_or(DEFAULT_IN_FLIGHT);
            bounded("--max-in-flight", max_in_flight, MOST_CONCURRENT)?;
            Ok(Pace::Open { per_second: rate, max_in_flight })
        }
        (None, concurrency, None) => {
            let concurrency = concurrency.unwrap_or(DEFAULT_CONCURRENCY);
            bounded("--concurrency", concurrency, MOST_CONCURRENT)?;
            Ok(Pace::Closed { concurrency })
        }
    }
}

fn bounded(flag: &str, value: usize, most: usize) -> Result<(), Failure> {
    if (1..=most).contains(&value) {
        Ok(())
    } else {
        Err(Failure::usage(format!("{flag} {value} is out of bounds: 1 to {most} is accepted")))
    }
}

fn load(flags: &BenchFlags, pace: Pace) -> Result<Load, Failure> {
    let BenchFlags { server, load: flags, .. } = flags;
    if flags.requests == Some(0) {
        return Err(Failure::usage("--requests 0 would measure nothing: 1 or more is accepted"));
    }
    if flags.duration.is_some_and(|span| span.0.is_zero()) {
        return Err(Failure::usage(
            "--duration 0s would measure nothing: more than 0s is accepted",
        ));
    }
    bounded("--rounds", flags.rounds as usize, 1000)?;
    let duration = match (flags.duration, flags.requests) {
        (Some(span), _) => Some(span.0),
        (None, Some(_)) => None,
        (None, None) => Some(DEFAULT_DURATION),
    };
    // Every round must have a request to send.
    let rounds = flags
        .requests
        .map_or(flags.rounds, |requests| flags.rounds.min(requests.try_into().unwrap_or(u32::MAX)));
    Ok(Load {
        requests: flags.requests,
        duration,
        pace,
        warmup: flags.warmup,
        rounds,
        request: request(flags, server.http2)?,
    })
}

fn request(flags: &LoadFlags, http2: bool) -> Result<RequestPlan, Failure> {
    let method = Method::from_bytes(flags.method.as_bytes()).map_err(|_| {
        Failure::usage(format!(
            "--method {} is not an HTTP method, such as GET or POST",
            flags.method
        ))
    })?;
    let headers: Vec<_> =
        flags.header.iter().map(|text| header_field(text)).collect::<Result<_, _>>()?;
    if let Some((name, _)) = headers.iter().find(|(name, _)| NOT_IN_HTTP2.contains(name))
        && http2
    {
        return Err(Failure::usage(format!(
            "--header `{name}` is about an HTTP/1.1 connection: with --http2 it cannot be sent"
        )));
    }
    let body = match &flags.body_file {
        None => None,
        Some(path) => Some(Bytes::from(std::fs::read(path).map_err(|error| {
            Failure::usage(format!("cannot read --body-file {}: {error}", path.display()))
        })?)),
    };
    Ok(RequestPlan { method, headers, body })
}

fn header_field(text: &str) -> Result<(HeaderName, HeaderValue), Failure> {
    let wrong =
        || Failure::usage(format!("--header `{text}` is not a header: write `Name: value`"));
    let (name, value) = text.split_once(':').ok_or_else(wrong)?;
    let name: HeaderName = name.trim().parse().map_err(|_| wrong())?;
    if [header::CONNECTION, header::CONTENT_LENGTH, header::TRANSFER_ENCODING].contains(&name) {
        return Err(Failure::usage(format!(
            "--header `{text}`: `{name}` is set by the bench itself"
        )));
    }
    Ok((name, value.trim().parse().map_err(|_| wrong())?))
}

fn sides(flags: &BenchFlags, speaks_tls: bool) -> Result<Vec<Side>, Failure> {
    let sides = match flags.load.side {
        SideChoice::Without => vec![Side::Without],
        SideChoice::With => vec![Side::With],
        SideChoice::Both => vec![Side::Without, Side::With],
    };
    if flags.output.check.is_some() && sides.len() < 2 {
        return Err(Failure::usage("--check compares both sides, and --side asks for one"));
    }
    if flags.load.resume && !speaks_tls {
        return Err(Failure::usage(
            "--resume is about TLS sessions: it needs --tls or an https URL",
        ));
    }
    if flags.load.resume && !sides.contains(&Side::Without) {
        return Err(Failure::usage(
            "--resume is about the side without keep-alive, which --side with leaves out",
        ));
    }
    Ok(sides)
}

fn agent(flags: &BenchFlags, target: &Target, pace: Pace) -> Result<AgentFlags, Failure> {
    let mut agent = flags.agent.clone();
    match target {
        Target::Url(url) if agent.tls_roots.is_some() && !target.speaks_tls() => {
            return Err(Failure::usage(format!(
                "--tls-roots needs an https URL, and {url} is not one"
            )));
        }
        Target::Url(_) => {}
        Target::Embedded { .. } => {
            let of_url = [
                ("--unix-socket", agent.unix_socket.is_some()),
                ("--tls-roots", agent.tls_roots.is_some()),
            ];
            if let Some((flag, _)) = of_url.iter().find(|(_, is_given)| *is_given) {
                return Err(Failure::usage(format!(
                    "{flag} needs a URL: the embedded server listens on a TCP port \
                     and makes its own certificate"
                )));
            }
        }
    }
    let of_sockets = [
        ("--local-address", agent.local_address.is_some()),
        ("--tcp-keepalive", agent.tcp_keepalive.is_some()),
        ("--tcp-keepalive-interval", agent.tcp_keepalive_interval.is_some()),
        ("--tcp-keepalive-count", agent.tcp_keepalive_count.is_some()),
        ("--happy-eyeballs-delay", agent.happy_eyeballs_delay.is_some()),
    ];
    if !target.rtt().is_zero()
        && let Some((flag, _)) = of_sockets.iter().find(|(_, is_given)| *is_given)
    {
        return Err(Failure::usage(format!(
            "{flag} does not work with --rtt, whose connections are made by the simulation"
        )));
    }
    let connections = match pace {
        Pace::Closed { concurrency } => concurrency,
        Pace::Open { .. } => DEFAULT_CONNECTIONS_OPEN_LOOP,
    };
    let connections = *agent.max_connections.get_or_insert(connections);
    agent.max_idle.get_or_insert(connections);
    agent.idle_timeout.get_or_insert(Span(DEFAULT_IDLE_TIMEOUT));
    Ok(agent)
}
