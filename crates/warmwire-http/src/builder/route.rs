//! By which way origins are reached, and whom to trust there.

use std::net::IpAddr;

use warmwire_net::Tls;

use super::{AgentBuilder, OriginPolicy};

impl AgentBuilder {
    /// TLS settings. A request can have [its own](crate::RequestBuilder::tls).
    pub fn tls(mut self, tls: Tls) -> Self {
        self.policy.tls = tls;
        self
    }

    /// The local address to connect from. Default: the system's choice. A request can have
    /// [its own](crate::RequestBuilder::local_address).
    pub fn local_address(mut self, address: impl Into<Option<IpAddr>>) -> Self {
        self.policy.local_address = address.into();
        self
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

    /// [`AgentBuilder::local_address`] for this origin.
    pub fn local_address(self, address: impl Into<Option<IpAddr>>) -> Self {
        let address = address.into();
        self.change(move |policy| policy.local_address = address)
    }
}
