//! From names to addresses.

use std::sync::Arc;
use std::time::Duration;

use warmwire_net::{Resolve, Spread};

use super::AgentBuilder;

impl AgentBuilder {
    /// Looks names up in place of the system's resolver.
    pub fn resolver(mut self, resolver: impl Resolve) -> Self {
        self.resolver = Arc::new(resolver);
        self
    }

    /// How connections are spread over the addresses of a name. Default
    /// [`Spread::LeastConnections`]. An address that has failed is tried last for a while in any
    /// case.
    pub fn spread(mut self, spread: Spread) -> Self {
        self.names.spread = spread;
        self
    }

    /// How long the addresses of a name hold if the resolver tells no TTL, as the system's does
    /// not; counted from the look-up. Default 5 s, at most a day.
    pub fn dns_cache(mut self, time: Duration) -> Self {
        self.names.cache = time;
        self
    }

    /// How often a name in use is looked up again, beside a request and without delaying it, if
    /// the resolver tells no TTL. Connections to addresses that it has lost are used no more.
    /// Default 30 s, at least 1 s, at most a day.
    pub fn dns_refresh(mut self, interval: Duration) -> Self {
        self.names.refresh = interval;
        self
    }

    /// How long an address of a name is tried last after a connection to it failed, in TCP or in the
    /// handshake with TLS or with a proxy; twice as long after each further time, up to thirty times
    /// this, and less by a random share of up to a half. Default 1 s, at most a day; zero tries all
    /// alike at once.
    /// Set back is not excluded: where every address has failed, all are tried.
    pub fn address_set_back(mut self, time: Duration) -> Self {
        self.names.set_back = time.min(MOST_SET_BACK);
        self
    }
}

/// With thirty times as much a clock can still do sums.
const MOST_SET_BACK: Duration = Duration::from_secs(24 * 3600);
