//! Stale connections: what is learned of servers, what is sent again, and what is told of responses
//! that nobody reads.

use std::time::Duration;

use super::AgentBuilder;
use super::origin::OriginPolicy;
#[cfg(doc)]
use crate::event::Event;

impl AgentBuilder {
    /// Whether the agent learns from when a server closes idle connections after how long it does
    /// that, and closes earlier. It takes two closes at about the same idle age, and lowers
    /// [`idle_timeout`](Self::idle_timeout) and what the server's `Keep-Alive` header asks for. What
    /// was learned is tried again after ten minutes, and each time it proves right after twice as
    /// long, up to a day. Where connections end right after their only response, three times in a
    /// row, none is kept. [`OriginStats::learned_idle_limit`](crate::OriginStats::learned_idle_limit)
    /// shows it. Default `true`.
    pub fn learn_idle_limit(mut self, learn: bool) -> Self {
        self.policy.learn_idle_limit = learn;
        self
    }

    /// How many requests may be sent again because their connection was lost, as a share of the
    /// requests **per origin**: 0 to 1. Ten repeats are free at the beginning and come back, one
    /// each second, so that a quiet agent can repeat; at most 1,000 are saved up. 0 sends nothing
    /// again, 1 everything that may be. Default 0.2: a server that loses every connection is not
    /// asked twice for everything. While the budget is spent, requests get fresh connections in
    /// place of idle ones, where there is room: they cannot be stale.
    pub fn retry_budget(mut self, ratio: f64) -> Self {
        self.require(
            (0.0..=1.0).contains(&ratio),
            "retry_budget: it is a share of the requests, from 0 to 1",
        );
        self.policy.retry_budget = ratio;
        self
    }

    /// Whether a request with an `Idempotency-Key` header counts as one that may be sent again; see
    /// [`RequestBuilder::idempotent`](crate::RequestBuilder::idempotent). Default `false`: the
    /// header is a promise of the server, and some servers ignore it.
    pub fn idempotency_key(mut self, counts: bool) -> Self {
        self.policy.idempotency_key = counts;
        self
    }

    /// After how long a response whose body nobody reads is reported by [`Event::Held`] and counted
    /// in [`OriginStats::held`](crate::OriginStats::held). Such a response keeps its connection from
    /// everybody else. Default 30 s, as [`acquire_timeout`](Self::acquire_timeout): what is held for
    /// so long can fail another request. At least 10 ms.
    pub fn held_after(mut self, time: impl Into<Option<Duration>>) -> Self {
        self.policy.held_after = time.into().map(|time| time.max(SHORTEST_HELD));
        self
    }

    /// Interim responses (1xx) before the final one, at most. Default 16: a server that reports
    /// progress (102) or hints (103) sends a few.
    pub fn max_interim_responses(mut self, responses: usize) -> Self {
        self.policy.h1.max_informational = responses;
        self
    }
}

/// The task that looks for held responses must not do so all the time.
const SHORTEST_HELD: Duration = Duration::from_millis(10);

impl OriginPolicy {
    /// [`AgentBuilder::learn_idle_limit`] for this origin.
    pub fn learn_idle_limit(self, learn: bool) -> Self {
        self.change(move |policy| policy.learn_idle_limit = learn)
    }

    /// [`AgentBuilder::retry_budget`] for this origin.
    pub fn retry_budget(self, ratio: f64) -> Self {
        let this = self.require((0.0..=1.0).contains(&ratio), "retry_budget is not from 0 to 1");
        this.change(move |policy| policy.retry_budget = ratio)
    }

    /// [`AgentBuilder::idempotency_key`] for this origin.
    pub fn idempotency_key(self, counts: bool) -> Self {
        self.change(move |policy| policy.idempotency_key = counts)
    }

    /// [`AgentBuilder::held_after`] for this origin.
    pub fn held_after(self, time: impl Into<Option<Duration>>) -> Self {
        let time = time.into().map(|time| time.max(SHORTEST_HELD));
        self.change(move |policy| policy.held_after = time)
    }

    /// [`AgentBuilder::max_interim_responses`] for this origin.
    pub fn max_interim_responses(self, responses: usize) -> Self {
        self.change(move |policy| policy.h1.max_informational = responses)
    }
}
