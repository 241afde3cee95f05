//! What goes with every request, what a response may be, and who is told.

use std::fmt;
use std::time::Duration;

use http::header::{self, HeaderName, HeaderValue};

use super::AgentBuilder;
use crate::event::{Event, Observer};
use crate::redirect::RedirectPolicy;

impl AgentBuilder {
    /// A header of every request that does not set it itself.
    pub fn default_header<N, V>(mut self, name: N, value: V) -> Self
    where
        N: TryInto<HeaderName>,
        N::Error: fmt::Display,
        V: TryInto<HeaderValue>,
        V::Error: fmt::Display,
    {
        match (name.try_into(), value.try_into()) {
            (Ok(name), Ok(value)) => {
                self.headers.append(name, value);
            }
            (Err(error), _) => self.refuse(format!("default_header: its name: {error}")),
            (Ok(name), Err(error)) => self.refuse(format!("default_header {name}: {error}")),
        }
        self
    }

    /// The `User-Agent` of every request that does not set it itself. Default
    /// `warmwire/` and the version.
    pub fn user_agent<V>(mut self, value: V) -> Self
    where
        V: TryInto<HeaderValue>,
        V::Error: fmt::Display,
    {
        self.headers.remove(header::USER_AGENT);
        self.default_header(header::USER_AGENT, value)
    }

    /// How many bytes of a dropped response are read at most so that its connection can be kept;
    /// 0 closes it. Default 64 KiB: about what comes in the time of a handshake.
    pub fn drain_bytes(mut self, bytes: u64) -> Self {
        self.policy.drain.bytes = bytes;
        self
    }

    /// How long that may take. Default 50 ms.
    pub fn drain_time(mut self, time: Duration) -> Self {
        self.policy.drain.time = time;
        self
    }

    /// Which redirects are followed. Default [`RedirectPolicy::none`]: an agent calls services that
    /// its program knows, and there a redirect is a mistake in the URL more often than a place to go.
    /// Following it would hide one, cost an exchange more for each request, and send what was meant
    /// for one server to another.
    #[doc(alias = "maxRedirections")]
    pub fn redirects(mut self, policy: RedirectPolicy) -> Self {
        self.policy.redirects = policy;
        self
    }

    /// Changes the policy that is set so far.
    pub(crate) fn change_redirects(
        mut self,
        change: impl FnOnce(RedirectPolicy) -> RedirectPolicy,
    ) -> Self {
        self.policy.redirects = change(self.policy.redirects);
        self
    }

    /// Bytes of a response's head, at most. Default 64 KiB.
    pub fn max_response_head(mut self, bytes: usize) -> Self {
        self.policy.h1.max_head_bytes = bytes;
        self
    }

    /// Lines of a response's header, at most. Default 100.
    pub fn max_response_headers(mut self, lines: usize) -> Self {
        self.policy.h1.max_headers = lines;
        self
    }

    /// Calls `callback` at every step in a connection's life.
    ///
    /// It runs on the task that caused the event and outside every lock: a slow one delays that
    /// task and no other, and a panic in it is caught.
    pub fn on_event(mut self, callback: impl Fn(&Event) + Send + Sync + 'static) -> Self {
        self.observer = Observer::new(callback);
        self
    }
}
