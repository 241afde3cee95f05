//! Proxies: what one is, and how the way through it is opened.

mod http_tunnel;
mod no_proxy;
mod rules;
mod socks;
mod url;

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, LazyLock};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::{ProxyFault, Tls};

pub use self::http_tunnel::ProxyAnswer;
pub use self::rules::{Destination, ProxyRules};

/// A proxy: its address, its protocol and what it wants to be shown.
///
/// A handle: clones are cheap. Two are equal if all of their settings are, so that connections are
/// shared among requests that name the same proxy.
///
/// ```
/// use warmwire_net::Proxy;
///
/// let proxy = Proxy::parse("http://user:secret@proxy.example:3128")?;
/// assert_eq!(proxy.to_string(), "http://proxy.example:3128");
/// # Ok::<(), warmwire_net::ProxyError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Proxy(Arc<Settings>);

#[derive(Clone, PartialEq, Eq, Hash)]
struct Settings {
    protocol: Protocol,
    host: Box<str>,
    port: u16,
    credentials: Option<(Box<str>, Box<str>)>,
    authorization: Option<Box<str>>,
    tunnel_http: bool,
    tls: Option<Tls>,
}

/// What is spoken with a proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Protocol {
    Http,
    Https,
    Socks4,
    Socks4a,
    Socks5,
    Socks5h,
}

impl Protocol {
    const ALL: [Protocol; 6] = [
        Protocol::Http,
        Protocol::Https,
        Protocol::Socks4,
        Protocol::Socks4a,
        Protocol::Socks5,
        Protocol::Socks5h,
    ];

    fn scheme(self) -> &'static str {
        match self {
            Protocol::Http => "http",
            Protocol::Https => "https",
            Protocol::Socks4 => "socks4",
            Protocol::Socks4a => "socks4a",
            Protocol::Socks5 => "socks5",
            Protocol::Socks5h => "socks5h",
        }
    }

    fn default_port(self) -> u16 {
        match self {
            Protocol::Http => 80,
            Protocol::Https => 443,
            _ => 1080,
        }
    }

    fn is_http(self) -> bool {
        matches!(self, Protocol::Http | Protocol::Https)
    }
}

/// A proxy that cannot be used as it was described.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProxyError(String);

impl fmt::Display for ProxyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ProxyError {}

/// Whom a proxy's own certificate has to be signed by if nothing else is said: the platform's
/// roots. Never the settings of a target, whose client certificate is not for proxies to see.
static PLATFORM: LazyLock<Tls> = LazyLock::new(Tls::new);

impl Proxy {
    /// The proxy of a URL: `http://host:3128`, `https://` (TLS with the proxy itself), `socks5://`
    /// and `socks4://` (names are looked up here), `socks5h://` and `socks4a://` (the proxy looks
    /// them up), each with `user:password@` if the proxy wants that. Without a scheme it is an HTTP
    /// proxy, without a port that is 80, 443 or 1080.
    ///
    /// # Errors
    ///
    /// Says what is wrong with the text, without repeating a password that it may hold.
    pub fn parse(url: impl AsRef<str>) -> Result<Proxy, ProxyError> {
        let parsed = url::parse(url.as_ref())?;
        let proxy = Proxy(Arc::new(Settings {
            protocol: parsed.protocol,
            host: parsed.host.into(),
            port: parsed.port,
            credentials: None,
            authorization: None,
            tunnel_http: false,
            tls: None,
        }));
        match parsed.credentials {
            None => Ok(proxy),
            Some((user, password)) => proxy.credentials(user, password),
        }
    }

    /// The proxies of the environment; see [`ProxyRules::from_env`].
    pub fn from_env() -> ProxyRules {
        ProxyRules::from_env()
    }

    /// Shows this user and password to the proxy: `Basic` to an HTTP proxy (RFC 7617), RFC 1929 to
    /// SOCKS5, the user alone to SOCKS4.
    ///
    /// # Errors
    ///
    /// For what the protocol cannot carry: a colon in an HTTP user, control characters, more than
    /// 255 bytes for SOCKS, a password for SOCKS4.
    pub fn credentials(
        self,
        user: impl Into<String>,
        password: impl Into<String>,
    ) -> Result<Proxy, ProxyError> {
        let (user, password) = (user.into(), password.into());
        let refuse = |why: &str| Err(ProxyError(format!("the credentials of {self} {why}")));
        if user.chars().chain(password.chars()).any(char::is_control) {
            return refuse("hold a control character");
        }
        match self.0.protocol {
            Protocol::Http | Protocol::Https if user.contains(':') => {
                return refuse("have a colon in the user's name");
            }
            Protocol::Socks4 | Protocol::Socks4a if !password.is_empty() => {
                return refuse("have a password, which SOCKS4 does not know");
            }
            Protocol::Http | Protocol::Https => {}
            _ if user.len() > 255 || password.len() > 255 => {
                return refuse("are longer than the 255 bytes that SOCKS carries");
            }
            _ => {}
        }
        Ok(self.with(|settings| {
            if settings.protocol.is_http() {
                let token = BASE64_STANDARD.encode(format!("{user}:{password}"));
                settings.authorization = Some(format!("Basic {token}").into());
            } else {
                settings.credentials = Some((user.into(), password.into()));
            }
        }))
    }

    /// Sends this as `Proxy-Authorization` to an HTTP proxy, in place of a user and a password:
    /// `Bearer …`.
    ///
    /// # Errors
    ///
    /// For a SOCKS proxy, and for what cannot be the value of a header.
    pub fn authorization(self, value: impl Into<String>) -> Result<Proxy, ProxyError> {
        let value = value.into();
        if !self.0.protocol.is_http() {
            return Err(ProxyError(format!("{self} is no HTTP proxy and takes no header")));
        }
        if !value.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic()) || value.is_empty() {
            let text = format!("the authorization for {self} cannot be the value of a header");
            return Err(ProxyError(text));
        }
        Ok(self.with(|settings| settings.authorization = Some(value.into())))
    }

    /// Whether an HTTP proxy is asked for a tunnel (`CONNECT`) also for `http://` URLs. Default
    /// `false`: it is sent the requests themselves, which is what such proxies are for. A tunnel
    /// hides nothing of `http://`, but leaves connections to the server's own rules, and reaches
    /// servers through proxies that refuse or change plain requests.
    #[must_use]
    pub fn tunnel_http(self, on: bool) -> Proxy {
        self.with(|settings| settings.tunnel_http = on)
    }

    /// TLS settings for the proxy itself, of an `https://` proxy. Default: the platform's roots.
    #[must_use]
    pub fn tls(self, tls: Tls) -> Proxy {
        self.with(|settings| settings.tls = Some(tls))
    }

    /// The proxy's host: a name, or an IP literal without brackets.
    pub fn host(&self) -> &str {
        &self.0.host
    }

    /// The proxy's port.
    pub fn port(&self) -> u16 {
        self.0.port
    }

    /// Checks the TLS settings.
    ///
    /// # Errors
    ///
    /// As [`Tls::check`].
    pub fn check(&self) -> Result<(), ProxyError> {
        let Some(tls) = &self.0.tls else { return Ok(()) };
        tls.check().map_err(|error| ProxyError(format!("tls of {self}: {error}")))
    }

    /// Whether its URL without credentials does not tell it from all others.
    pub fn has_more_than_a_url(&self) -> bool {
        let Settings { credentials, authorization, tunnel_http, tls, .. } = &*self.0;
        credentials.is_some() || authorization.is_some() || *tunnel_http || tls.is_some()
    }

    /// Whether requests to `http://` URLs go to the proxy as they are and not through a tunnel:
    /// with the whole URL as their target (RFC 9112, 3.2.2), and with
    /// [`authorization_value`](Self::authorization_value).
    pub fn forwards_http(&self) -> bool {
        self.0.protocol.is_http() && !self.0.tunnel_http
    }

    /// The value of `Proxy-Authorization` for an HTTP proxy. A secret.
    pub fn authorization_value(&self) -> Option<&str> {
        self.0.authorization.as_deref()
    }

    /// The TLS settings to reach the proxy with; `None` if it speaks none.
    pub(crate) fn own_tls(&self) -> Option<&Tls> {
        let own = self.0.tls.as_ref();
        (self.0.protocol == Protocol::Https).then(|| own.unwrap_or(&PLATFORM))
    }

    /// Whether a target's name has to be looked up before the proxy can be asked for it.
    pub(crate) fn takes_addresses_only(&self) -> bool {
        matches!(self.0.protocol, Protocol::Socks4 | Protocol::Socks5)
    }

    /// Which of a target's addresses the proxy is asked for: the best that it can take.
    pub(crate) fn choose(&self, addresses: &[SocketAddr]) -> Option<Endpoint<'static>> {
        let any = self.0.protocol == Protocol::Socks5;
        let chosen = addresses.iter().find(|address| any || address.is_ipv4())?;
        Some(Endpoint { host: Host::Address(chosen.ip()), port: chosen.port() })
    }

    /// Asks for the way to the target, over a stream to the proxy. When this has succeeded, the
    /// stream's next byte is the target's first.
    pub(crate) async fn open<S>(&self, stream: &mut S, to: Endpoint<'_>) -> Result<(), ProxyFault>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send,
    {
        let Settings { protocol, credentials, authorization, .. } = &*self.0;
        let credentials = credentials.as_ref().map(|(user, password)| (&**user, &**password));
        match protocol {
            Protocol::Http | Protocol::Https => {
                http_tunnel::open(stream, to, authorization.as_deref()).await
            }
            Protocol::Socks5 | Protocol::Socks5h => socks::open5(stream, to, credentials).await,
            Protocol::Socks4 | Protocol::Socks4a => {
                socks::open4(stream, to, credentials.map_or("", |(user, _)| user)).await
            }
        }
    }

    fn with(mut self, change: impl FnOnce(&mut Settings)) -> Proxy {
        change(Arc::make_mut(&mut self.0));
        self
    }
}

/// What a proxy is asked to connect to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Endpoint<'a> {
    pub(crate) host: Host<'a>,
    pub(crate) port: u16,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Host<'a> {
    Name(&'a str),
    Address(IpAddr),
}

impl<'a> Endpoint<'a> {
    /// Of a host as URLs have it: a name, or an IP literal without brackets.
    pub(crate) fn new(host: &'a str, port: u16) -> Self {
        let host = host.parse().map_or(Host::Name(host), Host::Address);
        Endpoint { host, port }
    }
}

impl fmt::Display for Endpoint<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host {
            Host::Name(name) => write!(f, "{name}:{}", self.port),
            Host::Address(IpAddr::V6(address)) => write!(f, "[{address}]:{}", self.port),
            Host::Address(address) => write!(f, "{address}:{}", self.port),
        }
    }
}

/// The proxy's URL, without credentials.
impl fmt::Display for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Settings { protocol, host, port, .. } = &*self.0;
        write!(f, "{}://{}", protocol.scheme(), Endpoint::new(host, *port))
    }
}

/// As [`Display`](fmt::Display): credentials belong in no log.
impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Proxy({self})")
    }
}
