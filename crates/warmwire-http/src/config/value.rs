//! Values, and what each kind of setting takes for one.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use serde::ser::SerializeSeq;
use serde::{Serialize, Serializer};
use warmwire_net::{Proxy, ProxyRules, Spread};
use warmwire_pool::Scheduling;

use super::duration;
use super::raw::Raw;
use crate::h2::HttpVersion;

/// Of a proxy: the one that `HTTPS_PROXY` and its relatives name.
const ENVIRONMENT: &str = "environment";

const VERSIONS: [(&str, HttpVersion); 3] = [
    ("negotiate", HttpVersion::Negotiate),
    ("http1", HttpVersion::Http1),
    ("http2", HttpVersion::Http2),
];

/// The value of a setting.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Count(u64),
    /// Of a count: no limit.
    Unlimited,
    Time(Duration),
    /// Of a timer, or of redirects: none.
    Off,
    Share(f64),
    Flag(bool),
    Order(Scheduling),
    Spread(Spread),
    Version(HttpVersion),
    Text(String),
    Address(IpAddr),
    Pair(Box<[Value; 2]>),
    Map(BTreeMap<String, String>),
    Proxy(Secret),
}

/// Text that belongs in no log.
#[derive(Clone, PartialEq)]
pub(super) struct Secret(String);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

/// What a setting is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    /// A whole number, at least this.
    Count {
        min: u64,
    },
    /// The same, or no limit.
    Limit {
        min: u64,
    },
    /// The same, or none at all.
    CountOrOff,
    Time,
    /// A length of time, or none.
    TimeOrOff,
    /// A part of the whole.
    Share,
    Flag,
    Version,
    Order,
    Spread,
    Text,
    Address,
    Pair(&'static [Kind; 2]),
    /// Names with text.
    Map,
    /// The URL of a proxy, which may hold a password.
    Proxy,
    /// Hosts that are reached without a proxy.
    Hosts,
}

impl Kind {
    /// What is allowed, for the end of an error.
    pub(super) fn allowed(&self) -> String {
        match self {
            Kind::Count { min: 0 } => "a whole number".into(),
            Kind::Count { min } => format!("a whole number, at least {min}"),
            Kind::Limit { min } => {
                format!("{}, or \"unlimited\"", Kind::Count { min: *min }.allowed())
            }
            Kind::CountOrOff => "a whole number, or \"off\"".into(),
            Kind::Time => "a time with its unit, as \"30s\", \"250ms\" or \"1h30m\"".into(),
            Kind::TimeOrOff => format!("{}, or \"off\"", Kind::Time.allowed()),
            Kind::Share => "a number from 0 to 1".into(),
            Kind::Flag => "true or false".into(),
            Kind::Version => "\"negotiate\", \"http1\" or \"http2\"".into(),
            Kind::Order => "\"lifo\" or \"fifo\"".into(),
            Kind::Spread => "\"least-connections\" or \"in-order\"".into(),
            Kind::Text => "text".into(),
            Kind::Address => "an IP address".into(),
            Kind::Pair([one, other]) => {
                format!("a list of two: {}; {}", one.allowed(), other.allowed())
            }
            Kind::Map => "a table of names and texts".into(),
            Kind::Proxy => "the URL of a proxy, \"environment\", or \"off\"".into(),
            Kind::Hosts => "hosts as \"localhost, .example.com, 10.0.0.0/8\", or a list".into(),
        }
    }

    pub(super) fn read(&self, raw: &Raw) -> Option<Value> {
        match (self, raw) {
            (Kind::Limit { .. }, Raw::Text(text)) if text == "unlimited" => Some(Value::Unlimited),
            (Kind::CountOrOff | Kind::TimeOrOff | Kind::Proxy, Raw::Text(text))
                if text == "off" =>
            {
                Some(Value::Off)
            }
            (Kind::Count { min } | Kind::Limit { min }, Raw::Number(number)) => {
                let count = number.parse().ok().filter(|count| count >= min);
                count.map(Value::Count)
            }
            (Kind::CountOrOff, raw) => Kind::Count { min: 0 }.read(raw),
            (Kind::Time | Kind::TimeOrOff, Raw::Text(text)) => {
                duration::parse(text).map(Value::Time)
            }
            (Kind::Share, Raw::Number(number)) => {
                let share = number.parse().ok();
                share.filter(|share| (0.0..=1.0).contains(share)).map(Value::Share)
            }
            (Kind::Flag, Raw::Flag(flag)) => Some(Value::Flag(*flag)),
            (Kind::Version, Raw::Text(text)) => {
                let known = VERSIONS.iter().find(|(name, _)| name == text);
                known.map(|(_, version)| Value::Version(*version))
            }
            (Kind::Order, Raw::Text(text)) => match text.as_str() {
                "lifo" => Some(Value::Order(Scheduling::Lifo)),
                "fifo" => Some(Value::Order(Scheduling::Fifo)),
                _ => None,
            },
            (Kind::Spread, Raw::Text(text)) => match text.as_str() {
                "least-connections" => Some(Value::Spread(Spread::LeastConnections)),
                "in-order" => Some(Value::Spread(Spread::InOrder)),
                _ => None,
            },
            (Kind::Text, Raw::Text(text)) => Some(Value::Text(text.clone())),
            (Kind::Address, Raw::Text(text)) => text.parse().ok().map(Value::Address),
            (Kind::Pair([one, other]), Raw::List(values)) => match values.as_slice() {
                [first, second] => {
                    Some(Value::Pair(Box::new([one.read(first)?, other.read(second)?])))
                }
                _ => None,
            },
            (Kind::Proxy, Raw::Text(text)) => {
                let valid = text == ENVIRONMENT || Proxy::parse(text).is_ok();
                valid.then(|| Value::Proxy(Secret(text.clone())))
            }
            (Kind::Hosts, Raw::Text(text)) => {
                let valid = ProxyRules::none().except(text).check().is_ok();
                valid.then(|| Value::Text(text.clone()))
            }
            (Kind::Hosts, Raw::List(hosts)) => {
                let hosts = hosts.iter().map(|host| Kind::Text.read(host));
                let hosts: Vec<_> = hosts.collect::<Option<_>>()?;
                let list = hosts.iter().map(Value::text).collect::<Vec<_>>().join(",");
                self.read(&Raw::Text(list))
            }
            (Kind::Map, Raw::Table(entries)) => {
                let text = |raw: &Raw| match raw {
                    Raw::Text(text) => Some(text.clone()),
                    _ => None,
                };
                let entries = entries.iter();
                let pairs = entries.map(|entry| Some((entry.name.clone(), text(&entry.value)?)));
                Some(Value::Map(pairs.collect::<Option<_>>()?))
            }
            _ => None,
        }
    }

    /// The value in an error.
    pub(super) fn show(&self, raw: &Raw) -> String {
        match (self, raw) {
            (Kind::Proxy, Raw::Text(_)) => "…".into(),
            _ => raw.to_string(),
        }
    }

    /// Text of an environment variable as a document would have it.
    pub(super) fn interpret(&self, text: String) -> Raw {
        match self {
            Kind::Count { .. } | Kind::Limit { .. } | Kind::CountOrOff
                if text.bytes().all(|byte| byte.is_ascii_digit()) =>
            {
                Raw::Number(text)
            }
            Kind::Share if text.parse::<f64>().is_ok() => Raw::Number(text),
            Kind::Flag => match text.as_str() {
                "true" | "1" => Raw::Flag(true),
                "false" | "0" => Raw::Flag(false),
                _ => Raw::Text(text),
            },
            Kind::Pair(kinds) => {
                let parts = text.split(',').zip(kinds.iter());
                let parts = parts.map(|(part, kind)| kind.interpret(part.trim().to_owned()));
                Raw::List(parts.collect())
            }
            _ => Raw::Text(text),
        }
    }
}

/// A setting is applied with the value that its own kind has read.
const OF_ITS_KIND: &str = "a value is read by the kind of its setting";

impl Value {
    pub(super) fn count(&self) -> usize {
        usize::try_from(self.number()).unwrap_or(usize::MAX)
    }

    pub(super) fn number(&self) -> u64 {
        match self {
            Value::Count(count) => *count,
            Value::Unlimited => u64::MAX,
            _ => unreachable!("{OF_ITS_KIND}"),
        }
    }

    pub(super) fn count_or_off(&self) -> Option<usize> {
        (*self != Value::Off).then(|| self.count())
    }

    pub(super) fn time(&self) -> Duration {
        match self {
            Value::Time(time) => *time,
            _ => unreachable!("{OF_ITS_KIND}"),
        }
    }

    pub(super) fn time_or_off(&self) -> Option<Duration> {
        (*self != Value::Off).then(|| self.time())
    }

    pub(super) fn share(&self) -> f64 {
        match self {
            Value::Share(share) => *share,
            _ => unreachable!("{OF_ITS_KIND}"),
        }
    }

    pub(super) fn flag(&self) -> bool {
        match self {
            Value::Flag(flag) => *flag,
            _ => unreachable!("{OF_ITS_KIND}"),
        }
    }

    pub(super) fn number32(&self) -> u32 {
        u32::try_from(self.number()).unwrap_or(u32::MAX)
    }

    pub(super) fn spread(&self) -> Spread {
        match self {
            Value::Spread(spread) => *spread,
            _ => unreachable!("{OF_ITS_KIND}"),
        }
    }

    pub(super) fn version(&self) -> HttpVersion {
        match self {
            Value::Version(version) => *version,
            _ => unreachable!("{OF_ITS_KIND}"),
        }
    }

    pub(super) fn order(&self) -> Scheduling {
        match self {
            Value::Order(order) => *order,
            _ => unreachable!("{OF_ITS_KIND}"),
        }
    }

    pub(super) fn text(&self) -> &str {
        match self {
            Value::Text(text) => text,
            _ => unreachable!("{OF_ITS_KIND}"),
        }
    }

    pub(super) fn address(&self) -> IpAddr {
        match self {
            Value::Address(address) => *address,
            _ => unreachable!("{OF_ITS_KIND}"),
        }
    }

    pub(super) fn pair(&self) -> &[Value; 2] {
        match self {
            Value::Pair(pair) => pair,
            _ => unreachable!("{OF_ITS_KIND}"),
        }
    }

    pub(super) fn proxies(&self) -> ProxyRules {
        match self {
            Value::Off => ProxyRules::none(),
            Value::Proxy(Secret(text)) if text == ENVIRONMENT => ProxyRules::from_env(),
            Value::Proxy(Secret(url)) => {
                ProxyRules::from(Some(Proxy::parse(url).expect("it was parsed when it was read")))
            }
            _ => unreachable!("{OF_ITS_KIND}"),
        }
    }

    pub(super) fn map(&self) -> &BTreeMap<String, String> {
        match self {
            Value::Map(map) => map,
            _ => unreachable!("{OF_ITS_KIND}"),
        }
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Value::Count(count) => serializer.serialize_u64(*count),
            Value::Unlimited => serializer.serialize_str("unlimited"),
            Value::Time(time) => serializer.serialize_str(&duration::show(*time)),
            Value::Off => serializer.serialize_str("off"),
            Value::Share(share) => serializer.serialize_f64(*share),
            Value::Flag(flag) => serializer.serialize_bool(*flag),
            Value::Version(version) => {
                let known = VERSIONS.iter().find(|(_, known)| known == version);
                serializer.serialize_str(known.map_or("negotiate", |(name, _)| name))
            }
            Value::Spread(Spread::LeastConnections) => {
                serializer.serialize_str("least-connections")
            }
            Value::Spread(Spread::InOrder) => serializer.serialize_str("in-order"),
            Value::Order(Scheduling::Lifo) => serializer.serialize_str("lifo"),
            Value::Order(Scheduling::Fifo) => serializer.serialize_str("fifo"),
            Value::Text(text) => serializer.serialize_str(text),
            Value::Address(address) => serializer.collect_str(address),
            Value::Pair(pair) => {
                let mut list = serializer.serialize_seq(Some(pair.len()))?;
                pair.iter().try_for_each(|value| list.serialize_element(value))?;
                list.end()
            }
            Value::Proxy(Secret(url)) => serializer.serialize_str(url),
            Value::Map(map) => serializer.collect_map(map),
        }
    }
}
