//! Every setting that is plain data: a row for each, named as the builder's option.

use http::HeaderValue;

use super::files;
use super::value::{Kind, Value};
use crate::builder::{AgentBuilder, OriginPolicy};
use crate::redirect::RedirectPolicy;

/// One setting.
pub(super) struct Setting {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) agent: fn(AgentBuilder, &Value) -> AgentBuilder,
    /// `None` for what is one for all origins.
    pub(super) origin: Option<fn(OriginPolicy, &Value) -> OriginPolicy>,
}

/// A row of an option that takes one value, which `$read` gives.
macro_rules! both {
    ($name:ident, $kind:expr, $read:ident) => {
        Setting {
            name: stringify!($name),
            kind: $kind,
            agent: |builder, value| builder.$name(value.$read()),
            origin: Some(|origin, value| origin.$name(value.$read())),
        }
    };
}

macro_rules! agent_only {
    ($name:ident, $kind:expr, $read:ident) => {
        Setting {
            name: stringify!($name),
            kind: $kind,
            agent: |builder, value| builder.$name(value.$read()),
            origin: None,
        }
    };
}

/// A row of a file with certificates, which `files::$read` reads.
macro_rules! tls_file {
    ($name:literal, $kind:expr, $read:ident) => {
        Setting {
            name: $name,
            kind: $kind,
            agent: |builder, value| builder.change_tls(files::$read(value)),
            origin: Some(|origin, value| origin.change_tls(files::$read(value))),
        }
    };
}

/// A row of a part of the redirects' policy.
macro_rules! redirects_flag {
    ($name:literal, $allow:ident) => {
        Setting {
            name: $name,
            kind: Kind::Flag,
            agent: |builder, value| {
                let allow = value.flag();
                builder.change_redirects(move |policy| policy.$allow(allow))
            },
            origin: Some(|origin, value| {
                let allow = value.flag();
                origin.change_redirects(move |policy| policy.$allow(allow))
            }),
        }
    };
}

/// In the order in which they are applied and written.
pub(super) static SETTINGS: &[Setting] = &[
    both!(max_connections, Kind::Limit { min: 1 }, count),
    agent_only!(max_total_connections, Kind::Limit { min: 1 }, count),
    both!(min_idle, Kind::Count { min: 0 }, count),
    both!(max_idle, Kind::Limit { min: 0 }, count),
    both!(surplus_grace, Kind::Time, time),
    both!(max_waiting, Kind::Limit { min: 0 }, count),
    both!(idle_timeout, Kind::Time, time),
    both!(max_idle_timeout, Kind::Time, time),
    both!(learn_idle_limit, Kind::Flag, flag),
    both!(max_lifetime, Kind::TimeOrOff, time_or_off),
    both!(max_requests_per_connection, Kind::Limit { min: 1 }, number),
    both!(scheduling, Kind::Order, order),
    agent_only!(keep_alive, Kind::Flag, flag),
    both!(acquire_timeout, Kind::TimeOrOff, time_or_off),
    both!(connect_timeout, Kind::TimeOrOff, time_or_off),
    both!(response_timeout, Kind::TimeOrOff, time_or_off),
    both!(read_timeout, Kind::TimeOrOff, time_or_off),
    both!(timeout, Kind::TimeOrOff, time_or_off),
    both!(expect_continue_timeout, Kind::Time, time),
    both!(prefer_wait, Kind::Time, time),
    Setting {
        name: "dial_backoff",
        kind: Kind::Pair(&[Kind::Time, Kind::Time]),
        agent: |builder, value| {
            let [initial, max] = value.pair();
            builder.dial_backoff(initial.time(), max.time())
        },
        origin: Some(|origin, value| {
            let [initial, max] = value.pair();
            origin.dial_backoff(initial.time(), max.time())
        }),
    },
    both!(proxy, Kind::Proxy, proxies),
    Setting {
        name: "no_proxy",
        kind: Kind::Hosts,
        agent: |builder, value| builder.change_proxies(|rules| rules.except(value.text())),
        origin: None,
    },
    Setting {
        name: "proxy_loopback",
        kind: Kind::Flag,
        agent: |builder, value| builder.change_proxies(|rules| rules.loopback(value.flag())),
        origin: None,
    },
    tls_file!("tls_roots", Kind::Text, roots),
    tls_file!("tls_extra_roots", Kind::Text, extra_roots),
    tls_file!("tls_client_certificate", Kind::Pair(&[Kind::Text, Kind::Text]), client_certificate),
    both!(http_version, Kind::Version, version),
    both!(local_address, Kind::Address, address),
    agent_only!(spread, Kind::Spread, spread),
    agent_only!(dns_cache, Kind::Time, time),
    agent_only!(address_set_back, Kind::Time, time),
    agent_only!(dns_refresh, Kind::Time, time),
    agent_only!(tcp_keepalive, Kind::TimeOrOff, time_or_off),
    Setting {
        name: "tcp_keepalive_probes",
        kind: Kind::Pair(&[Kind::Time, Kind::Count { min: 1 }]),
        agent: |builder, value| {
            let [interval, count] = value.pair();
            let count = u32::try_from(count.number()).unwrap_or(u32::MAX);
            builder.tcp_keepalive_probes(interval.time(), count)
        },
        origin: None,
    },
    agent_only!(tcp_user_timeout, Kind::TimeOrOff, time_or_off),
    agent_only!(tcp_nodelay, Kind::Flag, flag),
    agent_only!(happy_eyeballs_delay, Kind::Time, time),
    agent_only!(unix_socket, Kind::Text, text),
    both!(held_after, Kind::TimeOrOff, time_or_off),
    both!(drain_bytes, Kind::Limit { min: 0 }, number),
    both!(drain_time, Kind::Time, time),
    both!(max_response_head, Kind::Count { min: 1 }, count),
    both!(max_response_headers, Kind::Count { min: 1 }, count),
    both!(max_interim_responses, Kind::Count { min: 0 }, count),
    both!(http2_max_streams, Kind::Count { min: 1 }, number32),
    both!(http2_stream_window, Kind::Count { min: 65_535 }, number32),
    both!(http2_connection_window, Kind::Count { min: 65_535 }, number32),
    both!(http2_keep_alive_interval, Kind::TimeOrOff, time_or_off),
    both!(http2_keep_alive_timeout, Kind::Time, time),
    both!(http2_keep_alive_while_idle, Kind::Flag, flag),
    both!(retry_budget, Kind::Share, share),
    both!(idempotency_key, Kind::Flag, flag),
    Setting {
        name: "redirects",
        kind: Kind::CountOrOff,
        agent: |builder, value| builder.redirects(redirects(value)),
        origin: Some(|origin, value| origin.redirects(redirects(value))),
    },
    redirects_flag!("redirects_allow_https_to_http", allow_https_to_http),
    redirects_flag!("redirects_allow_leaving_unix_socket", allow_leaving_unix_socket),
    agent_only!(user_agent, Kind::Text, text),
    // A table, which TOML wants after everything else.
    Setting {
        name: "default_headers",
        kind: Kind::Map,
        agent: |builder, value| value.map().iter().fold(builder, default_header),
        origin: None,
    },
];

pub(super) fn find(name: &str) -> Option<&'static Setting> {
    SETTINGS.iter().find(|setting| setting.name == name)
}

fn redirects(value: &Value) -> RedirectPolicy {
    value.count_or_off().map_or_else(RedirectPolicy::none, RedirectPolicy::limited)
}

/// A header in a file of settings is as likely as not a secret, so none of them is logged or goes
/// to another origin by a redirect.
fn default_header(builder: AgentBuilder, (name, value): (&String, &String)) -> AgentBuilder {
    match HeaderValue::try_from(value) {
        Ok(mut value) => {
            value.set_sensitive(true);
            builder.default_header(name.as_str(), value)
        }
        Err(_) => builder.default_header(name.as_str(), value.as_str()),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;

    use super::*;

    /// Options that are code or hold more than data, and so are for the program to set.
    const CODE: [&str; 6] = ["config", "connector", "for_origin", "on_event", "resolver", "tls"];

    /// Settings that are a part of an option, which holds more than data.
    const PARTS: [(&str, &str); 7] = [
        ("no_proxy", "proxy"),
        ("proxy_loopback", "proxy"),
        ("redirects_allow_https_to_http", "redirects"),
        ("redirects_allow_leaving_unix_socket", "redirects"),
        ("tls_client_certificate", "tls"),
        ("tls_extra_roots", "tls"),
        ("tls_roots", "tls"),
    ];

    fn is_whole(setting: &&Setting) -> bool {
        PARTS.iter().all(|(part, _)| *part != setting.name)
    }

    /// The options of `AgentBuilder` or `OriginPolicy`, from the sources of the builder.
    fn options(of: &str) -> BTreeSet<String> {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/builder");
        let mut found = BTreeSet::new();
        for file in fs::read_dir(folder).unwrap() {
            let text = fs::read_to_string(file.unwrap().path()).unwrap();
            for block in text.split(&format!("\nimpl {of} {{\n")).skip(1) {
                let block = block.split("\n}\n").next().unwrap();
                for option in block.split("\n    pub fn ").skip(1) {
                    let (name, rest) = option.split_once(['(', '<']).unwrap();
                    let arguments = rest.split("->").next().unwrap();
                    if arguments.contains("self,") {
                        found.insert(name.to_owned());
                    }
                }
            }
        }
        found
    }

    #[test]
    fn every_option_of_the_builder_that_is_data_is_a_setting() {
        let named = SETTINGS.iter().filter(is_whole);
        let named: BTreeSet<_> = named.map(|setting| setting.name.to_owned()).collect();
        let mut options_of_agent = options("AgentBuilder");
        for (part, option) in PARTS {
            assert!(find(part).is_some() && options_of_agent.contains(option), "{part}");
        }
        for code in CODE {
            options_of_agent.remove(code);
        }
        // One call for each header there, one table here.
        assert!(options_of_agent.remove("default_header"));
        options_of_agent.insert("default_headers".into());
        assert_eq!(options_of_agent, named);

        let mut options_of_origin = options("OriginPolicy");
        options_of_origin.remove("tls");
        let of_origin = SETTINGS.iter().filter(is_whole).filter(|setting| setting.origin.is_some());
        let of_origin: BTreeSet<_> = of_origin.map(|setting| setting.name.to_owned()).collect();
        assert_eq!(options_of_origin, of_origin);
    }
}
