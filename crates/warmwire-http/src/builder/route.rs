//! By which way origins are reached, and whom to trust there.

use std::net::IpAddr;

use warmwire_net::{ProxyRules, Tls};

use super::{AgentBuilder, OriginPolicy};
use crate::config::files::TlsChange;

impl AgentBuilder {
    /// TLS settings. A request can have [its own](crate::RequestBuilder::tls).
    pub fn tls(mut self, tls: Tls) -> Self {
        self.policy.tls = tls;
        self
    }

    /// The proxies: a [`Proxy`](crate::Proxy) for all origins, or [`ProxyRules`].
    /// [`Proxy::from_env()`](crate::Proxy::from_env) reads `HTTPS_PROXY` and its relatives. Default
    /// none, since whoever can set a variable would else see where requests go. Limits stay per
    /// origin: connections to one of them through a proxy are in no other one's way. Unix sockets
    /// and, unless the rules say so, loopback hosts are reached without a proxy.
    ///
    /// ```
    /// use warmwire_http::{Agent, Proxy};
    ///
    /// # fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// let fixed = Agent::builder().proxy(Proxy::parse("http://proxy.example:3128")?).build()?;
    /// let as_curl_does = Agent::builder().proxy(Proxy::from_env()).build()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn proxy(mut self, rules: impl Into<ProxyRules>) -> Self {
        self.policy.proxies = rules.into();
        if let Err(error) = self.policy.proxies.check() {
            self.refuse(format!("proxy: {error}"));
        }
        self
    }

    /// The local address to connect from. Default: the system's choice. A request can have
    /// [its own](crate::RequestBuilder::local_address).
    pub fn local_address(mut self, address: impl Into<Option<IpAddr>>) -> Self {
        self.policy.local_address = address.into();
        self
    }

    /// Changes the TLS settings that are set so far.
    pub(crate) fn change_tls(mut self, change: TlsChange) -> Self {
        match change {
            Ok(change) => self.policy.tls = change(self.policy.tls),
            Err(why) => self.refuse(why),
        }
        self
    }

    /// Changes the proxies that are set so far.
    pub(crate) fn change_proxies(self, change: impl FnOnce(ProxyRules) -> ProxyRules) -> Self {
        let rules = self.policy.proxies.clone();
        self.proxy(change(rules))
    }
}

impl OriginPolicy {
    /// [`AgentBuilder::tls`] for this origin.
    pub fn tls(self, tls: Tls) -> Self {
        match tls.check() {
            Ok(()) => self.change(move |policy| policy.tls = tls),
            Err(error) => self.require(false, &format!("tls: {error}")),
        }
    }

    /// [`AgentBuilder::proxy`] for this origin; `None` reaches it directly.
    pub fn proxy(self, rules: impl Into<ProxyRules>) -> Self {
        let rules = rules.into();
        match rules.check() {
            Ok(()) => self.change(move |policy| policy.proxies = rules),
            Err(error) => self.require(false, &format!("proxy: {error}")),
        }
    }

    /// [`AgentBuilder::local_address`] for this origin.
    pub fn local_address(self, address: impl Into<Option<IpAddr>>) -> Self {
        let address = address.into();
        self.change(move |policy| policy.local_address = address)
    }

    /// Changes the TLS settings that the origin has so far.
    pub(crate) fn change_tls(self, change: TlsChange) -> Self {
        match change {
            Ok(change) => self.change(move |policy| policy.tls = change(policy.tls.clone())),
            Err(why) => self.require(false, &why),
        }
    }
}
