//! The URL of a proxy.

use std::net::Ipv6Addr;

use super::{Protocol, ProxyError};

pub(super) struct Parsed {
    pub(super) protocol: Protocol,
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) credentials: Option<(String, String)>,
}

pub(super) fn parse(text: &str) -> Result<Parsed, ProxyError> {
    // What stands before an `@` may be a password.
    let shown = match text.rsplit_once('@') {
        Some((_, after)) => format!("…@{after}"),
        None => text.to_owned(),
    };
    let refuse = |why: &str| ProxyError(format!("{shown:?} is no proxy's URL: {why}"));
    let (scheme, rest) = text.trim().split_once("://").unwrap_or(("http", text.trim()));
    let protocol = Protocol::ALL
        .into_iter()
        .find(|protocol| protocol.scheme().eq_ignore_ascii_case(scheme))
        .ok_or_else(|| {
            refuse("its scheme is none of http, https, socks4, socks4a, socks5, socks5h")
        })?;
    let authority = rest.strip_suffix('/').unwrap_or(rest);
    if authority.contains(['/', '?', '#']) {
        return Err(refuse("it has a path"));
    }
    let (credentials, address) = match authority.rsplit_once('@') {
        None => (None, authority),
        Some((credentials, address)) => {
            let (user, password) = credentials.split_once(':').unwrap_or((credentials, ""));
            let decode = |part: &str| percent_decoded(part).ok_or_else(|| refuse("bad %-escape"));
            (Some((decode(user)?, decode(password)?)), address)
        }
    };
    let (host, port) = split_port(address).ok_or_else(|| refuse("its port is none"))?;
    let host = match host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
        Some(literal) => {
            literal.parse::<Ipv6Addr>().map_err(|_| refuse("its IPv6 address is none"))?.to_string()
        }
        None => host.to_ascii_lowercase(),
    };
    if host.is_empty() || host.contains(|c: char| c.is_whitespace() || c.is_control()) {
        return Err(refuse("it has no host"));
    }
    Ok(Parsed { protocol, host, port: port.unwrap_or(protocol.default_port()), credentials })
}

/// Host and port of `host:port`; `None` if what follows the host is no port.
pub(super) fn split_port(text: &str) -> Option<(&str, Option<u16>)> {
    let host_end = match text.strip_prefix('[') {
        Some(_) => text.find(']')? + 1,
        None => text.find(':').unwrap_or(text.len()),
    };
    let (host, rest) = text.split_at(host_end);
    match rest.strip_prefix(':') {
        None => rest.is_empty().then_some((host, None)),
        Some(digits) => match digits.parse() {
            Ok(0) | Err(_) => None,
            Ok(port) => Some((host, Some(port))),
        },
    }
}

fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || char::from(rest.next()?).to_digit(16);
        let (high, low) = (digit()?, digit()?);
        bytes.push((high * 16 + low) as u8);
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use crate::Proxy;

    #[test]
    fn urls_of_every_kind() {
        for (url, shown) in [
            ("http://proxy.example:3128", "http://proxy.example:3128"),
            ("proxy.example:3128", "http://proxy.example:3128"),
            ("Proxy.Example", "http://proxy.example:80"),
            ("https://proxy.example/", "https://proxy.example:443"),
            ("socks5://[::1]:9050", "socks5://[::1]:9050"),
            ("SOCKS5H://10.0.0.1", "socks5h://10.0.0.1:1080"),
            ("socks4a://a:@b", "socks4a://b:1080"),
            ("http://us%40er:p%3Ass@b:1", "http://b:1"),
        ] {
            assert_eq!(Proxy::parse(url).expect(url).to_string(), shown);
        }
    }

    #[test]
    fn what_is_no_proxy_is_refused_without_its_password() {
        for (url, why) in [
            ("ftp://a", "scheme"),
            ("http://", "no host"),
            ("http://a:b@", "no host"),
            ("http://a:0", "port"),
            ("http://a:99999", "port"),
            ("http://a/b", "path"),
            ("http://secret:secret@a:x", "port"),
            ("http://secret%zz@a", "escape"),
            ("socks4://user:secret@a", "SOCKS4"),
            ("http://[::g]", "IPv6"),
        ] {
            let error = Proxy::parse(url).expect_err(url).to_string();
            assert!(error.contains(why) && !error.contains("secret"), "{url}: {error}");
        }
    }

    #[test]
    fn credentials_are_compared_and_never_shown() {
        let proxy = |url: &str| Proxy::parse(url).expect(url);
        assert_eq!(proxy("http://a:b@c"), proxy("http://a:b@C:80/"));
        assert_ne!(proxy("http://a:b@c"), proxy("http://a:x@c"));
        let shown = format!("{0} {0:?}", proxy("http://user:secret@c"));
        assert!(!shown.contains("user") && !shown.contains("secret"), "{shown}");
        let basic = proxy("http://us%40er:p%3Ass@b");
        assert_eq!(basic.authorization_value(), Some("Basic dXNAZXI6cDpzcw=="));
    }
}
