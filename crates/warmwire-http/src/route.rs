//! What a request says of its route in place of its origin's settings.

use std::fmt;
use std::hash::BuildHasher as _;
use std::net::IpAddr;

use warmwire_net::{Proxy, Tls};

use crate::key::{Address, HASHER, Scheme};
use crate::policy::Policy;

/// A part of the pool's key: requests share connections only if all of it is equal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct OwnRoute {
    /// `Some(None)`: no proxy, whatever the origin has.
    pub(crate) proxy: Option<Option<Proxy>>,
    pub(crate) tls: Option<Tls>,
    /// `Some(None)`: the system's choice, whatever the origin has.
    pub(crate) local_address: Option<Option<IpAddr>>,
}

impl OwnRoute {
    /// What of it tells the request's connections from those of the origin's other requests.
    pub(crate) fn apart(&self, address: &Address<'_>, policy: &Policy) -> Option<OwnRoute> {
        let tls = self.tls.as_ref().filter(|_| address.scheme == Scheme::Https);
        let proxy = self.proxy.as_ref().filter(|_| address.unix.is_none());
        let local_address = self.local_address.filter(|_| address.unix.is_none());
        let apart = OwnRoute {
            proxy: proxy
                .filter(|proxy| **proxy != policy.proxies.find(&address.destination()))
                .cloned(),
            tls: tls.filter(|tls| **tls != policy.tls).cloned(),
            local_address: local_address.filter(|address| *address != policy.local_address),
        };
        (apart != OwnRoute::default()).then_some(apart)
    }
}

/// As it stands behind the URL in an origin's name.
impl fmt::Display for OwnRoute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.proxy {
            Some(Some(proxy)) => {
                write!(f, " via {proxy}")?;
                if proxy.has_more_than_a_url() {
                    // Keyed at random, so that it tells nothing of what it stands for.
                    write!(f, "#{:08x}", HASHER.hash_one(proxy) as u32)?;
                }
            }
            Some(None) => f.write_str(" without a proxy")?,
            None => {}
        }
        match &self.local_address {
            Some(Some(address)) => write!(f, " from {address}")?,
            Some(None) => f.write_str(" from any address")?,
            None => {}
        }
        match &self.tls {
            Some(tls) => write!(f, " (tls {})", tls.number()),
            None => Ok(()),
        }
    }
}
