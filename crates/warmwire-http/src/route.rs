//! What a request says of its route in place of its origin's settings.

use std::fmt;
use std::net::IpAddr;

use warmwire_net::Tls;

use crate::key::{Address, Scheme};
use crate::policy::Policy;

/// A part of the pool's key: requests share connections only if all of it is equal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct OwnRoute {
    pub(crate) tls: Option<Tls>,
    /// `Some(None)`: the system's choice, whatever the origin has.
    pub(crate) local_address: Option<Option<IpAddr>>,
}

impl OwnRoute {
    /// What of it tells the request's connections from those of the origin's other requests.
    pub(crate) fn apart(&self, address: &Address<'_>, policy: &Policy) -> Option<OwnRoute> {
        let tls = self.tls.as_ref().filter(|_| address.scheme == Scheme::Https);
        let local_address = self.local_address.filter(|_| address.unix.is_none());
        let apart = OwnRoute {
            tls: tls.filter(|tls| **tls != policy.tls).cloned(),
            local_address: local_address.filter(|address| *address != policy.local_address),
        };
        (apart != OwnRoute::default()).then_some(apart)
    }
}

/// As it stands behind the URL in an origin's name.
impl fmt::Display for OwnRoute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
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
