//! Where an RPC peer listens, as people write it.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;

/// Where an RPC peer listens.
///
/// | written | means |
/// |---|---|
/// | `8888`, or the number | TCP on `0.0.0.0`: all interfaces for a server, loopback for a client |
/// | `tcp://host:port` | TCP |
/// | `tls://host:port` | TLS over TCP |
/// | `unix:///path`, `unix:path`, `/path` | a Unix socket |
/// | `unix:@name` | a Unix socket in Linux's abstract namespace |
///
/// What it is displayed as can be read again.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Endpoint {
    /// TCP.
    Tcp {
        /// A name or an address, an IPv6 one without brackets.
        host: String,
        /// The port; 0 lets the system choose one for a server.
        port: u16,
    },
    /// TLS over TCP.
    Tls {
        /// A name or an address, an IPv6 one without brackets.
        host: String,
        /// The port; 0 lets the system choose one for a server.
        port: u16,
    },
    /// A Unix socket in the file system.
    Unix(PathBuf),
    /// A Unix socket in the abstract namespace.
    Abstract(String),
}

impl Endpoint {
    /// The host that a client connects to: loopback where the server listens everywhere.
    pub(crate) fn dialled_host(host: &str) -> &str {
        match host.parse() {
            Ok(IpAddr::V4(Ipv4Addr::UNSPECIFIED)) => "127.0.0.1",
            Ok(IpAddr::V6(address)) if address.is_unspecified() => "::1",
            _ => host,
        }
    }

    /// Whether it can be reached from other machines.
    pub fn is_remote(&self) -> bool {
        match self {
            Endpoint::Tcp { host, .. } | Endpoint::Tls { host, .. } => {
                host != "localhost" && !host.parse().is_ok_and(|ip: IpAddr| ip.is_loopback())
            }
            Endpoint::Unix(_) | Endpoint::Abstract(_) => false,
        }
    }
}

impl FromStr for Endpoint {
    type Err = EndpointError;

    fn from_str(text: &str) -> Result<Endpoint, EndpointError> {
        let wrong = |why| Err(EndpointError { text: text.to_owned(), why });
        if text.bytes().all(|byte| byte.is_ascii_digit()) && !text.is_empty() {
            return match text.parse::<u16>() {
                Ok(port) => Ok(Endpoint::from(port)),
                Err(_) => wrong("a port is at most 65535"),
            };
        }
        if text.contains('\0') {
            return wrong("a NUL cannot stand in it");
        }
        if text.starts_with('/') {
            return Ok(Endpoint::Unix(text.into()));
        }
        let (scheme, rest) = match text.split_once(':') {
            Some((scheme, rest)) => (scheme, rest),
            None => return wrong("there is no scheme"),
        };
        match scheme {
            "unix" => match rest.strip_prefix("//").unwrap_or(rest) {
                "" | "@" => wrong("the path is missing"),
                path => Ok(match path.strip_prefix('@') {
                    Some(name) => Endpoint::Abstract(name.to_owned()),
                    None => Endpoint::Unix(path.into()),
                }),
            },
            "tcp" | "tls" => {
                let Some(rest) = rest.strip_prefix("//") else {
                    return wrong("after tcp: or tls: come two slashes");
                };
                match authority(rest.strip_suffix('/').unwrap_or(rest)) {
                    Ok((host, port)) if scheme == "tls" => Ok(Endpoint::Tls { host, port }),
                    Ok((host, port)) => Ok(Endpoint::Tcp { host, port }),
                    Err(why) => wrong(why),
                }
            }
            _ => wrong("the scheme is unknown"),
        }
    }
}

fn authority(text: &str) -> Result<(String, u16), &'static str> {
    let Some((host, port)) = text.rsplit_once(':') else {
        return Err("the port is missing");
    };
    if port.is_empty() || !port.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err("the port is not a number");
    }
    let port = port.parse().map_err(|_| "a port is at most 65535")?;
    let host = match host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
        Some(literal) => match literal.parse::<IpAddr>() {
            Ok(IpAddr::V6(_)) => literal,
            _ => return Err("in brackets stands an IPv6 address"),
        },
        None if host.contains(':') => return Err("an IPv6 address stands in brackets"),
        None => host,
    };
    let odd = |character: char| "/@?#[] ".contains(character) || character.is_control();
    if host.is_empty() {
        return Err("the host is missing");
    }
    if host.contains(odd) {
        return Err("that is not a host's name");
    }
    Ok((host.to_ascii_lowercase(), port))
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (scheme, host, port) = match self {
            Endpoint::Tcp { host, port } => ("tcp", host, port),
            Endpoint::Tls { host, port } => ("tls", host, port),
            Endpoint::Unix(path) => return write!(f, "unix://{}", path.display()),
            Endpoint::Abstract(name) => return write!(f, "unix:@{name}"),
        };
        match host.contains(':') {
            true => write!(f, "{scheme}://[{host}]:{port}"),
            false => write!(f, "{scheme}://{host}:{port}"),
        }
    }
}

impl From<u16> for Endpoint {
    fn from(port: u16) -> Endpoint {
        Endpoint::Tcp { host: "0.0.0.0".to_owned(), port }
    }
}

impl From<SocketAddr> for Endpoint {
    fn from(address: SocketAddr) -> Endpoint {
        Endpoint::Tcp { host: address.ip().to_string(), port: address.port() }
    }
}

impl From<&Endpoint> for Endpoint {
    fn from(endpoint: &Endpoint) -> Endpoint {
        endpoint.clone()
    }
}

impl TryFrom<&str> for Endpoint {
    type Error = EndpointError;

    fn try_from(text: &str) -> Result<Endpoint, EndpointError> {
        text.parse()
    }
}

impl TryFrom<String> for Endpoint {
    type Error = EndpointError;

    fn try_from(text: String) -> Result<Endpoint, EndpointError> {
        text.parse()
    }
}

impl TryFrom<&String> for Endpoint {
    type Error = EndpointError;

    fn try_from(text: &String) -> Result<Endpoint, EndpointError> {
        text.parse()
    }
}

/// A text that is no endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndpointError {
    text: String,
    why: &'static str,
}

impl fmt::Display for EndpointError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:?} is no endpoint: {}; write a port, tcp://host:port, tls://host:port, \
             unix:///path or unix:@name",
            self.text, self.why
        )
    }
}

impl std::error::Error for EndpointError {}

impl From<std::convert::Infallible> for EndpointError {
    fn from(never: std::convert::Infallible) -> EndpointError {
        match never {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_is_read_and_shown_so_that_it_can_be_read_again() {
        for (text, shown) in [
            ("8888", "tcp://0.0.0.0:8888"),
            ("tcp://127.0.0.1:0", "tcp://127.0.0.1:0"),
            ("tcp://LocalHost:80/", "tcp://localhost:80"),
            ("tls://[::1]:1", "tls://[::1]:1"),
            ("unix:///run/a b.sock", "unix:///run/a b.sock"),
            ("unix:/run/a.sock", "unix:///run/a.sock"),
            ("unix:a.sock", "unix://a.sock"),
            ("/run/a.sock", "unix:///run/a.sock"),
            ("unix:@name", "unix:@name"),
            ("unix://@name", "unix:@name"),
        ] {
            let endpoint: Endpoint = text.parse().expect(text);
            assert_eq!(endpoint.to_string(), shown);
            assert_eq!(shown.parse::<Endpoint>().expect(shown), endpoint);
        }
    }

    #[test]
    fn wrong_spellings_are_told_what_is_wrong() {
        for (text, why) in [
            ("", "no scheme"),
            ("65536", "at most 65535"),
            ("tcp://host", "port is missing"),
            ("tcp://host:", "not a number"),
            ("tcp://host:x", "not a number"),
            ("tcp://host:+1", "not a number"),
            ("tcp://:1", "host is missing"),
            ("tcp://::1:1", "in brackets"),
            ("tcp://[1.2.3.4]:1", "an IPv6 address"),
            ("tcp:host:1", "two slashes"),
            ("tcp://user@host:1", "not a host's name"),
            ("http://host:1", "scheme is unknown"),
            ("unix:", "path is missing"),
            ("unix:@", "path is missing"),
            ("unix:a\0b", "NUL"),
            ("localhost", "no scheme"),
        ] {
            let error = text.parse::<Endpoint>().expect_err(text).to_string();
            assert!(error.contains(why) && error.contains("tcp://host:port"), "{error}");
        }
    }
}
