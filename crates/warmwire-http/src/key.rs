//! What connections may be shared by: the pool's key.

use std::borrow::Cow;
use std::fmt;
use std::hash::{BuildHasher, Hash, Hasher};
use std::net::Ipv6Addr;
use std::path::Path;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, LazyLock};

use hashbrown::{DefaultHashBuilder, Equivalent};
use http::Uri;
use warmwire_net::{Destination, Proxy, Target};
use warmwire_pool::Limits;

use crate::error::{Error, ErrorKind};
use crate::forward::Forward;
use crate::h2::HttpVersion;
use crate::memory::Memory;
use crate::policy::Policy;
use crate::route::OwnRoute;

/// Whether TLS is spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Scheme {
    Http,
    Https,
}

impl Scheme {
    pub(crate) fn default_port(self) -> u16 {
        match self {
            Scheme::Http => 80,
            Scheme::Https => 443,
        }
    }

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Scheme::Http => "http",
            Scheme::Https => "https",
        }
    }
}

/// Where a request goes: all that decides which connections it may use, borrowed from the request
/// so that finding a connection allocates nothing.
///
/// The resolver and the rest that also affects trust or route are one for all requests of an agent,
/// and no two agents share a pool.
#[derive(Clone, Debug)]
pub(crate) struct Address<'a> {
    pub(crate) scheme: Scheme,
    /// Without brackets, an IPv6 address in its shortest form (RFC 5952), a name as the URL has it;
    /// empty where it does not affect the route.
    pub(crate) host: Cow<'a, str>,
    pub(crate) port: u16,
    pub(crate) unix: Option<&'a Path>,
    /// What the request says of its route; `None` goes the origin's way.
    route: Option<&'a OwnRoute>,
    hash: u64,
}

/// Seeded at random once per process, since in a proxy clients choose the hosts.
pub(crate) static HASHER: LazyLock<DefaultHashBuilder> = LazyLock::new(DefaultHashBuilder::default);

impl<'a> Address<'a> {
    /// The address that `uri` names; over the Unix socket `unix` if there is one.
    pub(crate) fn of(uri: &'a Uri, unix: Option<&'a Path>) -> Result<Self, Error> {
        let scheme = match uri.scheme() {
            Some(scheme) if *scheme == http::uri::Scheme::HTTP => Scheme::Http,
            Some(scheme) if *scheme == http::uri::Scheme::HTTPS => Scheme::Https,
            Some(other) => {
                return Err(invalid(
                    uri,
                    format!("the scheme {other:?} is neither http nor https"),
                ));
            }
            None => {
                return Err(invalid(uri, "it has no scheme: begin it with http:// or https://"));
            }
        };
        let host = uri.host().unwrap_or_default();
        if host.is_empty() {
            return Err(invalid(uri, "it has no host"));
        }
        let port = port(uri, host, scheme)?;
        let host = match host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
            None => host.into(),
            Some(literal) => shortest(literal),
        };
        Ok(match unix {
            // The host goes into the Host field only: one socket is one server.
            Some(_) if scheme == Scheme::Http => Address::new(scheme, "".into(), 0, unix),
            // With TLS the certificate must be for the host.
            Some(_) => Address::new(scheme, host, 0, unix),
            None => Address::new(scheme, host, port, unix),
        })
    }

    fn new(scheme: Scheme, host: Cow<'a, str>, port: u16, unix: Option<&'a Path>) -> Self {
        let hash = HASHER.hash_one((scheme, port, lower_case(&host), unix));
        Address { scheme, host, port, unix, route: None, hash }
    }

    /// The same address by a route of its own.
    pub(crate) fn by(self, route: Option<&'a OwnRoute>) -> Self {
        let hash = route.map_or(self.hash, |route| self.hash ^ HASHER.hash_one(route));
        Address { route, hash, ..self }
    }

    /// As rules for proxies are asked about it.
    pub(crate) fn destination(&self) -> Destination<'_> {
        Destination { tls: self.scheme == Scheme::Https, host: &self.host, port: self.port }
    }

    /// As [`OriginName`] shows it.
    pub(crate) fn name(&self) -> String {
        let &Address { scheme, port, unix, .. } = self;
        let host = lower_case(&self.host);
        let bracketed = if host.contains(':') { format!("[{host}]").into() } else { host };
        let mut name = match unix {
            Some(path) if scheme == Scheme::Http => format!("unix:{}", path.display()),
            Some(path) => format!("https://{bracketed} over unix:{}", path.display()),
            None if port == scheme.default_port() => format!("{}://{bracketed}", scheme.as_str()),
            None => format!("{}://{bracketed}:{port}", scheme.as_str()),
        };
        if let Some(route) = self.route {
            name.push_str(&route.to_string());
        }
        name
    }
}

/// `Uri::port` gives nothing for a port above 65535, which must not become the default one.
fn port(uri: &Uri, host: &str, scheme: Scheme) -> Result<u16, Error> {
    let authority = uri.authority().map_or("", |authority| authority.as_str());
    let after = authority.strip_prefix(host).unwrap_or_default();
    match after.strip_prefix(':') {
        // RFC 3986, 3.2.3: an empty port is the default one.
        None | Some("") => Ok(scheme.default_port()),
        Some(digits) => match digits.parse() {
            Ok(0) | Err(_) => Err(invalid(uri, format!("port {digits} is not one of 1 to 65535"))),
            Ok(port) => Ok(port),
        },
    }
}

/// One address has many spellings, and all are one server.
fn shortest(literal: &str) -> Cow<'_, str> {
    match literal.parse::<Ipv6Addr>() {
        Ok(address) => address.to_string().into(),
        Err(_) => literal.into(),
    }
}

pub(crate) fn lower_case(host: &str) -> Cow<'_, str> {
    match host.bytes().any(|byte| byte.is_ascii_uppercase()) {
        true => host.to_ascii_lowercase().into(),
        false => host.into(),
    }
}

fn invalid(uri: &Uri, why: impl fmt::Display) -> Error {
    Error::request(ErrorKind::InvalidRequest, format!("the URL {uri:?} cannot be used: {why}"))
}

impl Hash for Address<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

impl Equivalent<Key> for Address<'_> {
    fn equivalent(&self, key: &Key) -> bool {
        let own = &key.0;
        own.scheme == self.scheme
            && own.port == self.port
            && own.host.eq_ignore_ascii_case(&self.host)
            && own.unix.as_deref() == self.unix
            && own.route.as_deref() == self.route
    }
}

/// The pool's key, and what is counted for an origin beside the pool's own counters.
#[derive(Clone)]
pub(crate) struct Key(Arc<Inner>);

struct Inner {
    scheme: Scheme,
    host: Box<str>,
    port: u16,
    unix: Option<Box<Path>>,
    route: Option<Box<OwnRoute>>,
    /// The one that the origin's rules or the request name.
    proxy: Option<Proxy>,
    forward: Option<Box<Forward>>,
    name: Box<str>,
    /// Of the address; see [`Address`].
    hash: u64,
    memory: Arc<Memory>,
    policy: Arc<Policy>,
    counters: HttpCounters,
    #[cfg(feature = "metrics")]
    meters: crate::observe::Meters,
}

/// Counted per origin, written and read under the pool's lock so that a snapshot is of one moment.
#[derive(Debug, Default)]
pub(crate) struct HttpCounters {
    pub(crate) acquire_timeouts: AtomicU64,
    pub(crate) connect_timeouts: AtomicU64,
    pub(crate) response_timeouts: AtomicU64,
    pub(crate) read_timeouts: AtomicU64,
    pub(crate) total_timeouts: AtomicU64,
    pub(crate) retries: AtomicU64,
    pub(crate) retries_succeeded: AtomicU64,
    pub(crate) retries_failed: AtomicU64,
    pub(crate) lost_over_budget: AtomicU64,
    pub(crate) lost_not_idempotent: AtomicU64,
    pub(crate) lost_body_taken: AtomicU64,
    pub(crate) lost_fresh: AtomicU64,
    /// Held unread now.
    pub(crate) held: AtomicU64,
}

impl Key {
    /// Asks the origin's rules for its proxy, and so must not be called under a lock.
    pub(crate) fn new(address: &Address<'_>, policy: Arc<Policy>, memory: Arc<Memory>) -> Key {
        let own = address.route.and_then(|route| route.proxy.clone());
        let proxy = own.unwrap_or_else(|| policy.proxies.find(&address.destination()));
        Key::through(address, policy, memory, proxy.filter(|_| address.unix.is_none()))
    }

    fn through(
        address: &Address<'_>,
        policy: Arc<Policy>,
        memory: Arc<Memory>,
        proxy: Option<Proxy>,
    ) -> Key {
        let host = lower_case(&address.host);
        let name = address.name();
        let forwarded = |proxy: &&Proxy| address.scheme == Scheme::Http && proxy.forwards_http();
        let forward = proxy.as_ref().filter(forwarded).map(|proxy| Box::new(Forward::new(proxy)));
        Key(Arc::new(Inner {
            scheme: address.scheme,
            host: host.into(),
            port: address.port,
            unix: address.unix.map(Box::from),
            route: address.route.cloned().map(Box::new),
            proxy,
            forward,
            name: name.into(),
            hash: address.hash,
            policy,
            memory,
            counters: HttpCounters::default(),
            #[cfg(feature = "metrics")]
            meters: Default::default(),
        }))
    }

    pub(crate) fn address(&self) -> Address<'_> {
        let Inner { scheme, host, port, unix, route, hash, .. } = &*self.0;
        Address {
            scheme: *scheme,
            host: Cow::Borrowed(host),
            port: *port,
            unix: unix.as_deref(),
            route: route.as_deref(),
            hash: *hash,
        }
    }

    /// The same key with counters of its own, for an origin that is known anew.
    pub(crate) fn renew(&self) -> Key {
        let Inner { policy, memory, proxy, .. } = &*self.0;
        Key::through(&self.address(), policy.clone(), memory.clone(), proxy.clone())
    }

    pub(crate) fn target(&self) -> Target {
        let Inner { scheme, host, port, unix, route, proxy, policy, .. } = &*self.0;
        let route = route.as_deref();
        let tls = route.and_then(|route| route.tls.as_ref()).unwrap_or(&policy.tls);
        let local_address = route.and_then(|route| route.local_address);
        Target {
            host: host.to_string(),
            port: *port,
            unix: unix.as_deref().map(Path::to_path_buf),
            proxy: proxy.clone(),
            tls: (*scheme == Scheme::Https).then(|| tls.clone()),
            local_address: local_address.unwrap_or(policy.local_address),
            alpn: policy.version.alpn(),
        }
    }

    /// Which versions of HTTP are spoken. A proxy that forwards requests speaks HTTP/1.1.
    pub(crate) fn version(&self) -> HttpVersion {
        match self.0.forward {
            None => self.0.policy.version,
            Some(_) => HttpVersion::Http1,
        }
    }

    /// The limits of the origin in the pool.
    pub(crate) fn limits(&self) -> Limits {
        let Inner { scheme, policy, .. } = &*self.0;
        let mut limits = policy.limits;
        if self.version().may_share(*scheme) {
            limits.expected_slots = policy.h2.max_streams;
        }
        limits
    }

    /// The settings of the origin, which do not tell keys apart.
    pub(crate) fn policy(&self) -> &Arc<Policy> {
        &self.0.policy
    }

    /// What is remembered of the origin for longer than this key lives.
    pub(crate) fn memory(&self) -> &Arc<Memory> {
        &self.0.memory
    }

    pub(crate) fn proxy(&self) -> Option<&Proxy> {
        self.0.proxy.as_ref()
    }

    /// `Some` if requests go to a proxy as they are.
    pub(crate) fn forward(&self) -> Option<&Forward> {
        self.0.forward.as_deref()
    }

    pub(crate) fn counters(&self) -> &HttpCounters {
        &self.0.counters
    }

    pub(crate) fn name(&self) -> &str {
        &self.0.name
    }

    /// What the recorder of metrics knows of the origin; asks it at the first call.
    #[cfg(feature = "metrics")]
    pub(crate) fn meters(&self) -> &crate::observe::Registered {
        self.0.meters.of(&self.address())
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.address().equivalent(other)
    }
}

impl Eq for Key {}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.0.hash);
    }
}

/// The name of an origin as events, errors and statistics show it: `https://api.example.com`,
/// `http://[::1]:8080`, `unix:/run/docker.sock`.
///
/// An origin is everything that connections may be shared by: scheme, host, port and Unix socket,
/// and what a request says of its route. That stands behind the URL: `https://api.example.com via
/// http://proxy:3128 from 10.0.0.2 (tls 1)` is reached through a proxy, from an address and with TLS
/// settings of the request's own. What belongs to the origin or the agent does not show.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct OriginName(Key);

impl OriginName {
    pub(crate) fn new(key: &Key) -> Self {
        OriginName(key.clone())
    }

    pub(crate) fn proxy(&self) -> Option<&Proxy> {
        self.0.proxy()
    }

    pub(crate) fn is_forwarded(&self) -> bool {
        self.0.forward().is_some()
    }

    pub(crate) fn policy(&self) -> &Policy {
        self.0.policy()
    }

    pub(crate) fn key(&self) -> &Key {
        &self.0
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        self.0.name()
    }
}

impl fmt::Display for OriginName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Debug for OriginName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

impl AsRef<str> for OriginName {
    fn as_ref(&self) -> &str {
        self.as_str()
    }
}

impl serde::Serialize for OriginName {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use std::hash::{BuildHasher, RandomState};

    use super::*;

    fn key(url: &str) -> Key {
        let uri: Uri = url.parse().expect("a URI");
        Key::new(&Address::of(&uri, None).expect("an address"), Arc::default(), Arc::default())
    }

    #[test]
    fn host_is_compared_without_case_and_default_ports_are_the_same() {
        let random = RandomState::new();
        for (one, other, same) in [
            ("http://A.example/x", "http://a.example:80/y", true),
            ("https://a.example", "https://a.example:443/", true),
            ("http://a.example", "https://a.example", false),
            ("http://a.example", "http://a.example:8080", false),
            ("http://a.example", "http://b.example", false),
            ("http://[::1]:8080", "http://[::1]:8080/", true),
            ("http://[::1]", "http://[0:0:0:0:0:0:0:1]:80/", true),
            ("http://a.example:", "http://a.example", true),
        ] {
            assert_eq!(key(one) == key(other), same, "{one} and {other}");
            if same {
                assert_eq!(random.hash_one(key(one)), random.hash_one(key(other)));
                let uri: Uri = one.parse().expect("a URI");
                let address = Address::of(&uri, None).expect("an address");
                assert_eq!(random.hash_one(&address), random.hash_one(key(other)));
                assert!(address.equivalent(&key(other)));
            }
        }
    }

    #[test]
    fn a_port_that_cannot_be_is_never_the_default_one() {
        for port in ["0", "65536", "99999", "80808080"] {
            let uri: Uri = format!("http://a.example:{port}/").parse().expect("a URI");
            let error = Address::of(&uri, None).expect_err(port);
            assert_eq!(error.kind(), ErrorKind::InvalidRequest);
            assert!(error.to_string().contains(port), "{error}");
        }
    }

    #[test]
    fn names_are_urls() {
        assert_eq!(key("HTTP://Example.com:80/a?b").name(), "http://example.com");
        assert_eq!(key("https://example.com:8443").name(), "https://example.com:8443");
        assert_eq!(key("http://[::1]:8080/").name(), "http://[::1]:8080");
        let uri = Uri::from_static("http://ignored/x");
        let address = Address::of(&uri, Some(Path::new("/run/a.sock"))).expect("an address");
        assert_eq!(Key::new(&address, Arc::default(), Arc::default()).name(), "unix:/run/a.sock");
    }
}
