//! Which destinations are reached through which proxy.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use super::no_proxy::NoProxy;
use super::{Proxy, ProxyError};

/// Says which proxy a destination is reached through, if through any.
///
/// A handle: clones are cheap. An origin is asked for once, when it becomes known, so the same
/// destination must have the same proxy each time.
///
/// Loopback hosts (`localhost` and names below it, 127.0.0.0/8, `::1`) are reached without a
/// proxy, where they would be the proxy's own: see [`loopback`](Self::loopback).
#[derive(Clone, Default)]
pub struct ProxyRules(Arc<Rules>);

#[derive(Clone, Default)]
struct Rules {
    http: Option<Proxy>,
    https: Option<Proxy>,
    except: NoProxy,
    loopback: bool,
    by: Option<Arc<Choose>>,
    invalid: Option<ProxyError>,
}

type Choose = dyn Fn(&Destination<'_>) -> Option<Proxy> + Send + Sync;

/// What a connection is wanted to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Destination<'a> {
    /// Whether the URL is `https://`.
    pub tls: bool,
    /// The host: a name, or an IP literal without brackets.
    pub host: &'a str,
    /// The port.
    pub port: u16,
}

impl Destination<'_> {
    /// RFC 6761, 6.3: names below `localhost` are loopback too.
    fn is_loopback(&self) -> bool {
        let host = self.host.strip_suffix('.').unwrap_or(self.host);
        if let Ok(address) = host.parse::<IpAddr>() {
            return address.to_canonical().is_loopback();
        }
        let last = host.rsplit('.').next().unwrap_or_default();
        last.eq_ignore_ascii_case("localhost")
    }
}

impl ProxyRules {
    /// No proxy for anything.
    pub fn none() -> ProxyRules {
        ProxyRules::default()
    }

    /// One proxy for everything.
    pub fn all(proxy: Proxy) -> ProxyRules {
        ProxyRules::none().http(proxy.clone()).https(proxy)
    }

    /// What a closure says, for all destinations, loopback ones too.
    ///
    /// It runs where an origin is used for the first time, on that request's task.
    pub fn by(
        choose: impl Fn(&Destination<'_>) -> Option<Proxy> + Send + Sync + 'static,
    ) -> ProxyRules {
        ProxyRules(Arc::new(Rules { by: Some(Arc::new(choose)), ..Rules::default() }))
    }

    /// The proxies that the environment names now, as curl and most programs read it:
    ///
    /// - `http_proxy` for `http://` and `https_proxy` for `https://`, else `all_proxy`;
    /// - `no_proxy`: hosts that are reached without one, separated by commas: `example.com` and
    ///   `.example.com` (the name and all below it), `*.example.com` (those below it), addresses,
    ///   networks (`10.0.0.0/8`; names are not looked up for them), each with `:port` if only that
    ///   is meant, `*` for all.
    ///
    /// Each is looked for in lower case first and then in upper case. `HTTP_PROXY` in upper case is
    /// not read where `REQUEST_METHOD` is set: in a CGI program it is the request's `Proxy` header
    /// (CVE-2016-5385). An empty variable is as one that is not set.
    ///
    /// A variable that names no proxy is told when the agent is built.
    pub fn from_env() -> ProxyRules {
        // A value that is not Unicode cannot name a proxy.
        ProxyRules::from_lookup(|name| std::env::var_os(name)?.to_str().map(str::to_owned))
    }

    /// As [`from_env`](Self::from_env), with `lookup` in place of the environment.
    pub fn from_lookup(lookup: impl Fn(&str) -> Option<String>) -> ProxyRules {
        let lookup = |name: &str| lookup(name).filter(|value| !value.trim().is_empty());
        let is_cgi = lookup("REQUEST_METHOD").is_some();
        let either = |name: &str| {
            let upper = name.to_ascii_uppercase();
            let found = lookup(name).map(|value| (name.to_owned(), value));
            found.or_else(|| {
                let hostile = is_cgi && upper == "HTTP_PROXY";
                Some((upper.clone(), lookup(&upper).filter(|_| !hostile)?))
            })
        };
        let mut rules = Rules::default();
        let mut proxy = |name: &str| {
            let (name, value) = either(name).or_else(|| either("all_proxy"))?;
            match Proxy::parse(value) {
                Ok(proxy) => Some(proxy),
                Err(error) => {
                    rules.invalid.get_or_insert(ProxyError(format!("{name}: {error}")));
                    None
                }
            }
        };
        (rules.http, rules.https) = (proxy("http_proxy"), proxy("https_proxy"));
        rules.except =
            either("no_proxy").map_or_else(NoProxy::default, |(_, list)| NoProxy::parse(&list).0);
        ProxyRules(Arc::new(rules))
    }

    /// The proxy for `http://` URLs.
    #[must_use]
    pub fn http(self, proxy: impl Into<Option<Proxy>>) -> ProxyRules {
        let proxy = proxy.into();
        self.with(|rules| rules.http = proxy)
    }

    /// The proxy for `https://` URLs.
    #[must_use]
    pub fn https(self, proxy: impl Into<Option<Proxy>>) -> ProxyRules {
        let proxy = proxy.into();
        self.with(|rules| rules.https = proxy)
    }

    /// Hosts that are reached without a proxy, besides those that are already: a list as
    /// [`from_env`](Self::from_env) reads it in `no_proxy`. What is no host there is passed over, as
    /// all programs do that read that variable; here it is told when the agent is built.
    #[must_use]
    pub fn except(self, list: impl AsRef<str>) -> ProxyRules {
        let (hosts, invalid) = NoProxy::parse(list.as_ref());
        self.with(|rules| {
            rules.except.add(hosts);
            if let Some(entry) = invalid {
                let error = ProxyError(format!("{entry:?} is no host to reach without a proxy"));
                rules.invalid.get_or_insert(error);
            }
        })
    }

    /// Whether loopback hosts are reached through the proxy too. Default `false`.
    #[must_use]
    pub fn loopback(self, on: bool) -> ProxyRules {
        self.with(|rules| rules.loopback = on)
    }

    /// The proxy for a destination; `None` to reach it directly.
    pub fn find(&self, to: &Destination<'_>) -> Option<Proxy> {
        let Rules { http, https, except, loopback, by, .. } = &*self.0;
        if let Some(choose) = by {
            return choose(to).filter(|_| !except.contains(to.host, to.port));
        }
        let proxy = if to.tls { https } else { http };
        let direct = || (to.is_loopback() && !loopback) || except.contains(to.host, to.port);
        proxy.clone().filter(|_| !direct())
    }

    /// Checks what can be checked before a proxy is used.
    ///
    /// # Errors
    ///
    /// Names the variable whose value is no proxy, or the proxy whose TLS settings cannot be used.
    pub fn check(&self) -> Result<(), ProxyError> {
        let Rules { http, https, invalid, .. } = &*self.0;
        if let Some(error) = invalid {
            return Err(error.clone());
        }
        http.iter().chain(https).try_for_each(Proxy::check)
    }

    fn with(mut self, change: impl FnOnce(&mut Rules)) -> ProxyRules {
        change(Arc::make_mut(&mut self.0));
        self
    }
}

impl From<Proxy> for ProxyRules {
    fn from(proxy: Proxy) -> Self {
        ProxyRules::all(proxy)
    }
}

impl From<Option<Proxy>> for ProxyRules {
    fn from(proxy: Option<Proxy>) -> Self {
        proxy.map_or_else(ProxyRules::none, ProxyRules::all)
    }
}

impl fmt::Debug for ProxyRules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Rules { http, https, except, loopback, by, invalid } = &*self.0;
        f.debug_struct("ProxyRules")
            .field("http", http)
            .field("https", https)
            .field("except", except)
            .field("loopback", loopback)
            .field("by", &by.is_some())
            .field("invalid", invalid)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(variables: &[(&str, &str)]) -> ProxyRules {
        ProxyRules::from_lookup(|name| {
            let found = variables.iter().find(|(other, _)| *other == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    fn found(rules: &ProxyRules, tls: bool, host: &str) -> Option<String> {
        let to = Destination { tls, host, port: if tls { 443 } else { 80 } };
        rules.find(&to).map(|proxy| proxy.host().to_owned())
    }

    #[test]
    fn the_environments_variables_and_their_order() {
        let all = rules(&[
            ("http_proxy", "http://lower"),
            ("HTTP_PROXY", "http://upper"),
            ("HTTPS_PROXY", "socks5://secure"),
            ("all_proxy", "http://all"),
            ("NO_PROXY", "direct.example, 10.0.0.0/8"),
        ]);
        assert_eq!(found(&all, false, "a.example").as_deref(), Some("lower"));
        assert_eq!(found(&all, true, "a.example").as_deref(), Some("secure"));
        assert_eq!(found(&all, true, "b.direct.example"), None);
        assert_eq!(found(&all, false, "10.9.9.9"), None);
        let rest = rules(&[("ALL_PROXY", "http://all"), ("https_proxy", "")]);
        assert_eq!(found(&rest, true, "a.example").as_deref(), Some("all"));
        assert_eq!(found(&rules(&[]), true, "a.example"), None);
    }

    #[test]
    fn a_cgi_program_does_not_believe_the_requests_proxy_header() {
        let hostile = [("HTTP_PROXY", "http://evil"), ("REQUEST_METHOD", "GET")];
        assert_eq!(found(&rules(&hostile), false, "a.example"), None);
        let meant = [("http_proxy", "http://good"), hostile[0], hostile[1]];
        assert_eq!(found(&rules(&meant), false, "a.example").as_deref(), Some("good"));
        assert_eq!(found(&rules(&hostile[..1]), false, "a.example").as_deref(), Some("evil"));
    }

    #[test]
    fn loopback_is_direct_unless_it_is_named() {
        let proxy = Proxy::parse("http://p").expect("a proxy");
        let all = ProxyRules::all(proxy.clone());
        let named = all.clone().loopback(true);
        for host in ["localhost", "a.LocalHost", "localhost.", "127.1.2.3", "::1"] {
            assert_eq!(found(&all, false, host), None, "{host}");
            assert!(found(&named, false, host).is_some(), "{host}");
        }
        assert!(found(&all, false, "localhost.example").is_some());
        let by = ProxyRules::by(move |to| (to.port == 80).then(|| proxy.clone()));
        assert!(found(&by, false, "localhost").is_some(), "a closure names what it names");
        assert!(found(&by, true, "localhost").is_none());
        assert!(found(&by.except("localhost"), false, "localhost").is_none());
    }

    #[test]
    fn a_broken_variable_is_named_without_its_password() {
        let broken = rules(&[("https_proxy", "ftp://user:secret@a")]);
        let error = broken.check().expect_err("ftp").to_string();
        assert!(error.contains("https_proxy") && !error.contains("secret"), "{error}");
    }
}
