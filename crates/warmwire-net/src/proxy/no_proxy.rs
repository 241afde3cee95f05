//! Hosts that are reached without a proxy, as the variable `NO_PROXY` lists them.

use std::net::IpAddr;

use super::url::split_port;

/// A list of hosts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct NoProxy(Vec<Entry>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    pattern: Pattern,
    /// `None`: all of them.
    port: Option<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Pattern {
    Everything,
    /// A name and all below it, or with a leading `*.` those below it alone.
    Domain {
        name: String,
        itself: bool,
    },
    Network {
        address: IpAddr,
        bits: u8,
    },
}

impl NoProxy {
    /// Reads a list that is separated by commas or spaces, and gives the first entry that is no host.
    pub(super) fn parse(list: &str) -> (NoProxy, Option<&str>) {
        let entries = list.split([',', ' ', '\t']).filter(|entry| !entry.is_empty());
        let hosts = NoProxy(entries.clone().filter_map(Entry::parse).collect());
        (hosts, entries.clone().find(|entry| Entry::parse(entry).is_none()))
    }

    pub(super) fn add(&mut self, other: NoProxy) {
        self.0.extend(other.0);
    }

    pub(super) fn contains(&self, host: &str, port: u16) -> bool {
        let host = host.strip_suffix('.').unwrap_or(host);
        let address = host.parse().map(|address: IpAddr| address.to_canonical()).ok();
        self.0.iter().any(|entry| {
            entry.port.is_none_or(|own| own == port) && entry.pattern.matches(host, address)
        })
    }
}

impl Entry {
    fn parse(text: &str) -> Option<Entry> {
        if let Some(pattern) = Pattern::network(text) {
            return Some(Entry { pattern, port: None });
        }
        let (host, port) = split_port(text)?;
        let host = host.strip_prefix('[').and_then(|h| h.strip_suffix(']')).unwrap_or(host);
        let pattern = match Pattern::network(host) {
            Some(network) => network,
            None => Pattern::domain(host)?,
        };
        Some(Entry { pattern, port })
    }
}

impl Pattern {
    /// `10.0.0.0/8`, `::1`
    fn network(text: &str) -> Option<Pattern> {
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits.parse::<u8>().ok()?)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().ok()?;
        let whole = if address.is_ipv4() { 32 } else { 128 };
        let bits = bits.unwrap_or(whole);
        (bits <= whole).then_some(Pattern::Network { address, bits })
    }

    fn domain(text: &str) -> Option<Pattern> {
        if text == "*" {
            return Some(Pattern::Everything);
        }
        let below = text.strip_prefix("*.");
        let name = below.or(text.strip_prefix('.')).unwrap_or(text);
        let name = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
        let is_name =
            |byte: u8| !byte.is_ascii() || byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        (!name.is_empty() && name.bytes().all(is_name))
            .then_some(Pattern::Domain { name, itself: below.is_none() })
    }

    fn matches(&self, host: &str, address: Option<IpAddr>) -> bool {
        match self {
            Pattern::Everything => true,
            Pattern::Domain { name, itself } => {
                let rest = host.len().checked_sub(name.len()).and_then(|at| {
                    let (rest, end) = host.split_at_checked(at)?;
                    end.eq_ignore_ascii_case(name).then_some(rest)
                });
                rest.is_some_and(|rest| rest.ends_with('.') || (rest.is_empty() && *itself))
            }
            Pattern::Network { address: own, bits } => match (own, address) {
                (IpAddr::V4(own), Some(IpAddr::V4(other))) => {
                    let differ = u64::from(own.to_bits() ^ other.to_bits());
                    differ >> (32 - bits) == 0
                }
                (IpAddr::V6(own), Some(IpAddr::V6(other))) => {
                    let differ = own.to_bits() ^ other.to_bits();
                    differ.checked_shr(128 - u32::from(*bits)).unwrap_or(0) == 0
                }
                _ => false,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_an_entry() {
        for (list, host, port, contained) in [
            ("example.com", "example.com", 80, true),
            ("example.com", "a.EXAMPLE.com", 80, true),
            ("example.com", "badexample.com", 80, false),
            ("example.com", "example.com.", 80, true),
            (".example.com", "example.com", 80, true),
            (".example.com", "a.b.example.com", 80, true),
            ("*.example.com", "example.com", 80, false),
            ("*.example.com", "a.example.com", 80, true),
            ("example.com:8080", "example.com", 80, false),
            ("example.com:8080", "example.com", 8080, true),
            ("a, b\tc", "c", 1, true),
            ("*", "anything", 1, true),
            ("*", "10.0.0.1", 1, true),
            ("", "a", 1, false),
            (",", "a", 1, false),
            ("10.0.0.0/8", "10.1.2.3", 80, true),
            ("10.0.0.0/8", "11.1.2.3", 80, false),
            ("10.0.0.0/8", "10.example", 80, false),
            ("0.0.0.0/0", "1.2.3.4", 80, true),
            ("10.0.0.1", "10.0.0.1", 80, true),
            ("10.0.0.1", "10.0.0.10", 80, false),
            ("10.0.0.1:81", "10.0.0.1", 80, false),
            ("10.0.0.1:81", "10.0.0.1", 81, true),
            ("10.0.0.1", "::ffff:10.0.0.1", 80, true),
            ("::1", "::1", 80, true),
            ("[::1]", "::1", 80, true),
            ("[::1]:80", "::1", 80, true),
            ("[::1]:80", "::1", 81, false),
            ("fd00::/8", "fd12::1", 80, true),
            ("fd00::/8", "fe00::1", 80, false),
            ("::/0", "fe00::1", 80, true),
            ("10.0.0.0/33", "10.0.0.1", 80, false),
            ("com", "exam\u{e9}com", 80, false),
        ] {
            assert_eq!(
                NoProxy::parse(list).0.contains(host, port),
                contained,
                "{list}: {host}:{port}"
            );
        }
    }

    #[test]
    fn what_is_no_host_is_told() {
        for (list, invalid) in [
            ("a, *.b, .c:80, 10.0.0.0/8, [::1]:80, *", None),
            ("a,10.0.0.0/33", Some("10.0.0.0/33")),
            ("http://a", Some("http://a")),
            ("a*b", Some("a*b")),
            ("a:port", Some("a:port")),
        ] {
            assert_eq!(NoProxy::parse(list).1, invalid, "{list}");
        }
    }
}
