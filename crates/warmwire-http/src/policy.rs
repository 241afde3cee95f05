//! What may differ from origin to origin: limits, timers and the route.
//!
//! A policy is looked up once, when an origin's key is made, and lives in the key. So it costs
//! requests nothing, and an origin that was forgotten and comes back has it again.

use std::collections::HashMap;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use http::HeaderMap;
use tokio::time::Instant;
use warmwire_net::{ProxyRules, Tls};
use warmwire_pool::Limits;

use crate::h2;
use crate::h2::HttpVersion;
use crate::key::{Address, Scheme, lower_case};
use crate::redirect::RedirectPolicy;

/// A year. The task that notices when peers close idle connections runs while one has a deadline, so
/// every idle connection must have one that the clock can hold.
pub(crate) const LONGEST_IDLE: Duration = Duration::from_secs(365 * 24 * 3600);

/// The settings of one origin. Options of the agent are the policy of every origin that has none of
/// its own.
#[derive(Clone, Debug)]
pub(crate) struct Policy {
    pub(crate) limits: Limits,
    /// Shared, since a request takes them along.
    pub(crate) timeouts: Arc<Timeouts>,
    pub(crate) max_idle_timeout: Duration,
    pub(crate) learn_idle_limit: bool,
    /// Repeats for each request.
    pub(crate) retry_budget: f64,
    /// Whether an `Idempotency-Key` header marks a request as idempotent.
    pub(crate) idempotency_key: bool,
    pub(crate) held_after: Option<Duration>,
    pub(crate) drain: Drain,
    pub(crate) redirects: RedirectPolicy,
    pub(crate) h1: warmwire_h1::Limits,
    pub(crate) version: HttpVersion,
    pub(crate) h2: h2::Settings,
    pub(crate) tls: Tls,
    pub(crate) proxies: ProxyRules,
    pub(crate) local_address: Option<IpAddr>,
}

/// The timers of one request; `None` for one that is off.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timeouts {
    pub(crate) acquire: Option<Duration>,
    pub(crate) connect: Option<Duration>,
    pub(crate) response: Option<Duration>,
    pub(crate) read: Option<Duration>,
    pub(crate) total: Option<Duration>,
    /// From when on `total` counts, if that is not the request's start: it is a later one on a way
    /// of redirects.
    pub(crate) total_from: Option<Instant>,
    /// How long a body waits for `100 Continue`.
    pub(crate) expect_continue: Duration,
}

/// How much of a dropped response is read so that its connection can be kept.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Drain {
    pub(crate) bytes: u64,
    pub(crate) time: Duration,
}

impl Default for Policy {
    fn default() -> Self {
        let minutes = |minutes: u64| Duration::from_secs(60 * minutes);
        Policy {
            limits: Limits::default(),
            timeouts: Arc::new(Timeouts {
                acquire: Some(Duration::from_secs(30)),
                connect: Some(Duration::from_secs(10)),
                response: Some(minutes(5)),
                read: Some(minutes(5)),
                total: None,
                total_from: None,
                expect_continue: Duration::from_secs(1),
            }),
            max_idle_timeout: minutes(10),
            learn_idle_limit: true,
            retry_budget: 0.2,
            idempotency_key: false,
            held_after: Some(Duration::from_secs(30)),
            drain: Drain { bytes: 64 * 1024, time: Duration::from_millis(50) },
            redirects: RedirectPolicy::none(),
            h1: warmwire_h1::Limits::default(),
            version: HttpVersion::default(),
            h2: h2::Settings::default(),
            tls: Tls::new(),
            proxies: ProxyRules::none(),
            local_address: None,
        }
    }
}

impl Policy {
    pub(crate) fn timeouts_mut(&mut self) -> &mut Timeouts {
        Arc::make_mut(&mut self.timeouts)
    }
}

/// What one request sets for itself.
#[derive(Clone, Debug, Default)]
pub(crate) struct Own {
    pub(crate) timeouts: OwnTimeouts,
    pub(crate) redirects: Option<RedirectPolicy>,
    pub(crate) early_data: Option<bool>,
    /// In place of the agent's default headers, after a redirect to another origin.
    pub(crate) defaults: Option<HeaderMap>,
}

/// Timers that one request sets; the others are those of its origin.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OwnTimeouts {
    pub(crate) acquire: Option<Option<Duration>>,
    pub(crate) connect: Option<Option<Duration>>,
    pub(crate) response: Option<Option<Duration>>,
    pub(crate) read: Option<Option<Duration>>,
    pub(crate) total: Option<Option<Duration>>,
    pub(crate) total_from: Option<Instant>,
    pub(crate) expect_continue: Option<Duration>,
}

impl OwnTimeouts {
    pub(crate) fn over(&self, origin: &Timeouts) -> Timeouts {
        Timeouts {
            acquire: self.acquire.unwrap_or(origin.acquire),
            connect: self.connect.unwrap_or(origin.connect),
            response: self.response.unwrap_or(origin.response),
            read: self.read.unwrap_or(origin.read),
            total: self.total.unwrap_or(origin.total),
            total_from: self.total_from,
            expect_continue: self.expect_continue.unwrap_or(origin.expect_continue),
        }
    }
}

/// The policies of an agent.
#[derive(Debug, Default)]
pub(crate) struct Policies {
    common: Arc<Policy>,
    own: HashMap<Site, Arc<Policy>>,
}

/// An origin as `for_origin` names it: what else keys may tell apart has the same policy.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Site {
    scheme: Scheme,
    host: String,
    port: u16,
    unix: Option<PathBuf>,
}

impl Site {
    fn of(address: &Address<'_>) -> Site {
        Site {
            scheme: address.scheme,
            host: lower_case(&address.host).into_owned(),
            port: address.port,
            unix: address.unix.map(Into::into),
        }
    }
}

impl Policies {
    pub(crate) fn new(common: Policy) -> Policies {
        Policies { common: Arc::new(common), own: HashMap::new() }
    }

    /// Changes the policy of one origin; what it does not change is as for all origins.
    pub(crate) fn change<R>(
        &mut self,
        address: &Address<'_>,
        change: impl FnOnce(&mut Policy) -> R,
    ) -> R {
        let own = self.own.entry(Site::of(address)).or_insert_with(|| self.common.clone());
        change(Arc::make_mut(own))
    }

    pub(crate) fn of(&self, address: &Address<'_>) -> Arc<Policy> {
        if self.own.is_empty() {
            return self.common.clone();
        }
        self.own.get(&Site::of(address)).unwrap_or(&self.common).clone()
    }
}
