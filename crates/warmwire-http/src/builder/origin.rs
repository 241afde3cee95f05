//! Settings of one origin.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use http::Uri;
use warmwire_pool::Scheduling;

use super::{AgentBuilder, pool};
use crate::error::{Error, ErrorKind};
use crate::key::Address;
use crate::policy::{LONGEST_IDLE, Policies, Policy};
use crate::redirect::RedirectPolicy;
use crate::url;

/// The settings of one origin, in [`AgentBuilder::for_origin`]. Each is named as the option of
/// [`AgentBuilder`] whose place it takes, and has its bounds.
#[must_use = "a policy is for `for_origin` to take"]
#[derive(Default)]
pub struct OriginPolicy {
    changes: Vec<Change>,
    invalid: Option<String>,
}

/// Made when the agent is built: only then is it known what an origin has that sets nothing.
type Change = Box<dyn FnOnce(&mut Policy) + Send + Sync>;

/// What `for_origin` was given.
pub(super) struct NamedPolicy {
    name: String,
    uri: Uri,
    unix: Option<PathBuf>,
    policy: OriginPolicy,
}

impl AgentBuilder {
    /// Other settings for one origin: `https://api.example.com`, or `unix:/run/docker.sock`. What
    /// `settings` does not set is as for all origins, whether the agent's own option is called
    /// before or after this. With [`unix_socket`](Self::unix_socket), a URL means the origin that
    /// requests to it reach over that socket.
    ///
    /// ```
    /// use std::time::Duration;
    /// use warmwire_http::Agent;
    ///
    /// let agent = Agent::builder()
    ///     .max_connections(50)
    ///     .for_origin("https://api.example.com", |origin| {
    ///         origin.max_connections(10).idle_timeout(Duration::from_secs(55))
    ///     })
    ///     .build();
    /// # assert!(agent.is_ok());
    /// ```
    ///
    /// The settings hold whenever the origin is used, also after all its connections were closed.
    /// What a single request sets goes before them. A second call for an origin adds to the first.
    pub fn for_origin(
        mut self,
        url: impl AsRef<str>,
        settings: impl FnOnce(OriginPolicy) -> OriginPolicy,
    ) -> Self {
        match url::origin(url.as_ref()) {
            Ok((uri, unix)) => self.origins.push(NamedPolicy {
                name: url.as_ref().to_owned(),
                unix: unix.map(Into::into),
                uri,
                policy: settings(OriginPolicy::default()),
            }),
            Err(error) => self.refuse(format!("for_origin: {error}")),
        }
        self
    }
}

impl NamedPolicy {
    /// Enters the settings into `policies`.
    pub(super) fn apply(
        self,
        policies: &mut Policies,
        agent_socket: Option<&std::path::Path>,
        max_total: usize,
    ) -> Result<(), Error> {
        let refuse = |why: &dyn fmt::Display| {
            let text = format!("for_origin({:?}): {why}", self.name);
            Error::request(ErrorKind::InvalidConfig, text)
        };
        if let Some(why) = self.policy.invalid {
            return Err(refuse(&why));
        }
        let unix = self.unix.as_deref().or(agent_socket);
        let address = Address::of(&self.uri, unix).map_err(|error| refuse(&error))?;
        let contradiction = policies.change(&address, |policy| {
            for change in self.policy.changes {
                change(policy);
            }
            pool::contradiction(&policy.limits, max_total)
        });
        contradiction.map_or(Ok(()), |why| Err(refuse(&why)))
    }
}

impl OriginPolicy {
    /// [`AgentBuilder::max_connections`] for this origin.
    pub fn max_connections(self, connections: usize) -> Self {
        self.require(connections > 0, "max_connections is 0: no request could ever be sent")
            .change(move |policy| policy.limits.max_connections = connections)
    }

    /// [`AgentBuilder::max_idle`] for this origin.
    pub fn max_idle(self, connections: usize) -> Self {
        self.change(move |policy| policy.limits.max_idle = connections)
    }

    /// [`AgentBuilder::surplus_grace`] for this origin.
    pub fn surplus_grace(self, time: Duration) -> Self {
        self.change(move |policy| policy.limits.surplus_grace = time)
    }

    /// [`AgentBuilder::max_waiting`] for this origin.
    pub fn max_waiting(self, requests: usize) -> Self {
        self.change(move |policy| policy.limits.max_waiting = requests)
    }

    /// [`AgentBuilder::idle_timeout`] for this origin.
    pub fn idle_timeout(self, timeout: Duration) -> Self {
        self.change(move |policy| policy.limits.idle_timeout = Some(timeout.min(LONGEST_IDLE)))
    }

    /// [`AgentBuilder::max_idle_timeout`] for this origin.
    pub fn max_idle_timeout(self, timeout: Duration) -> Self {
        self.change(move |policy| policy.max_idle_timeout = timeout.min(LONGEST_IDLE))
    }

    /// [`AgentBuilder::max_lifetime`] for this origin.
    pub fn max_lifetime(self, lifetime: impl Into<Option<Duration>>) -> Self {
        let lifetime = lifetime.into();
        self.change(move |policy| policy.limits.max_lifetime = lifetime)
    }

    /// [`AgentBuilder::max_requests_per_connection`] for this origin.
    pub fn max_requests_per_connection(self, requests: u64) -> Self {
        self.require(requests > 0, "max_requests_per_connection is 0: no request could be sent")
            .change(move |policy| policy.limits.max_requests_per_connection = Some(requests))
    }

    /// [`AgentBuilder::scheduling`] for this origin.
    pub fn scheduling(self, scheduling: Scheduling) -> Self {
        self.change(move |policy| policy.limits.scheduling = scheduling)
    }

    /// [`AgentBuilder::acquire_timeout`] for this origin.
    pub fn acquire_timeout(self, timeout: impl Into<Option<Duration>>) -> Self {
        let timeout = timeout.into();
        self.change(move |policy| policy.timeouts_mut().acquire = timeout)
    }

    /// [`AgentBuilder::connect_timeout`] for this origin.
    pub fn connect_timeout(self, timeout: impl Into<Option<Duration>>) -> Self {
        let timeout = timeout.into();
        self.change(move |policy| policy.timeouts_mut().connect = timeout)
    }

    /// [`AgentBuilder::response_timeout`] for this origin.
    pub fn response_timeout(self, timeout: impl Into<Option<Duration>>) -> Self {
        let timeout = timeout.into();
        self.change(move |policy| policy.timeouts_mut().response = timeout)
    }

    /// [`AgentBuilder::read_timeout`] for this origin.
    pub fn read_timeout(self, timeout: impl Into<Option<Duration>>) -> Self {
        let timeout = timeout.into();
        self.change(move |policy| policy.timeouts_mut().read = timeout)
    }

    /// [`AgentBuilder::timeout`] for this origin.
    pub fn timeout(self, timeout: impl Into<Option<Duration>>) -> Self {
        let timeout = timeout.into();
        self.change(move |policy| policy.timeouts_mut().total = timeout)
    }

    /// [`AgentBuilder::expect_continue_timeout`] for this origin.
    pub fn expect_continue_timeout(self, timeout: Duration) -> Self {
        self.change(move |policy| policy.timeouts_mut().expect_continue = timeout)
    }

    /// [`AgentBuilder::drain_bytes`] for this origin.
    pub fn drain_bytes(self, bytes: u64) -> Self {
        self.change(move |policy| policy.drain.bytes = bytes)
    }

    /// [`AgentBuilder::drain_time`] for this origin.
    pub fn drain_time(self, time: Duration) -> Self {
        self.change(move |policy| policy.drain.time = time)
    }

    /// [`AgentBuilder::redirects`] for requests that begin at this origin.
    pub fn redirects(self, policy: RedirectPolicy) -> Self {
        self.change(move |origin| origin.redirects = policy)
    }

    /// Changes the redirects' policy that the origin has so far.
    pub(crate) fn change_redirects(
        self,
        change: impl FnOnce(RedirectPolicy) -> RedirectPolicy + Send + Sync + 'static,
    ) -> Self {
        self.change(move |origin| origin.redirects = change(origin.redirects.clone()))
    }

    /// [`AgentBuilder::max_response_head`] for this origin.
    pub fn max_response_head(self, bytes: usize) -> Self {
        self.change(move |policy| policy.h1.max_head_bytes = bytes)
    }

    /// [`AgentBuilder::max_response_headers`] for this origin.
    pub fn max_response_headers(self, lines: usize) -> Self {
        self.change(move |policy| policy.h1.max_headers = lines)
    }

    pub(crate) fn change(
        mut self,
        change: impl FnOnce(&mut Policy) + Send + Sync + 'static,
    ) -> Self {
        self.changes.push(Box::new(change));
        self
    }

    pub(crate) fn require(mut self, holds: bool, otherwise: &str) -> Self {
        if !holds {
            self.invalid.get_or_insert_with(|| otherwise.to_owned());
        }
        self
    }
}

impl fmt::Debug for OriginPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OriginPolicy")
            .field("settings", &self.changes.len())
            .field("invalid", &self.invalid)
            .finish()
    }
}
