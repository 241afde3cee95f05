//! The names that agentkeepalive and undici have for the same settings.

use std::time::Duration;

use super::duration;
use super::raw::Raw;
use super::settings;
use super::value::Value;
use crate::h2::HttpVersion;
use crate::policy::LONGEST_IDLE;

/// A name of another client.
pub(super) struct Foreign {
    pub(super) name: &'static str,
    pub(super) client: &'static str,
    /// The setting's own name here.
    pub(super) own: &'static str,
    meaning: Meaning,
}

/// What a value means there.
enum Meaning {
    /// The same.
    Same,
    /// Milliseconds, or text with a unit.
    Millis(Zero),
    /// The number of redirects to follow.
    Redirects,
    /// undici's pipelining: 1 keeps connections, 0 does not.
    Pipelining,
    /// Whether HTTP/2 may be negotiated.
    AllowHttp2,
    /// Nothing, and why.
    Nothing(&'static str),
}

/// What 0 ms means there.
enum Zero {
    /// No limit, and here neither.
    Off,
    /// No limit, and here as long as can be.
    Longest,
    /// It is refused.
    Refused,
}

const fn row(
    name: &'static str,
    client: &'static str,
    own: &'static str,
    meaning: Meaning,
) -> Foreign {
    Foreign { name, client, own, meaning }
}

pub(super) const KEEPALIVE: &str = "agentkeepalive";
const UNDICI: &str = "undici";

pub(super) static FOREIGN: &[Foreign] = &[
    row("maxSockets", KEEPALIVE, "max_connections", Meaning::Same),
    row("maxTotalSockets", KEEPALIVE, "max_total_connections", Meaning::Same),
    row("maxFreeSockets", KEEPALIVE, "max_idle", Meaning::Same),
    row("freeSocketTimeout", KEEPALIVE, "idle_timeout", Meaning::Millis(Zero::Longest)),
    row("freeSocketKeepAliveTimeout", KEEPALIVE, "idle_timeout", Meaning::Millis(Zero::Longest)),
    row("socketActiveTTL", KEEPALIVE, "max_lifetime", Meaning::Millis(Zero::Off)),
    row("keepAlive", KEEPALIVE, "keep_alive", Meaning::Same),
    row("keepAliveMsecs", KEEPALIVE, "tcp_keepalive", Meaning::Millis(Zero::Refused)),
    row("connections", UNDICI, "max_connections", Meaning::Same),
    row("keepAliveTimeout", UNDICI, "idle_timeout", Meaning::Millis(Zero::Refused)),
    row("keepAliveMaxTimeout", UNDICI, "max_idle_timeout", Meaning::Millis(Zero::Refused)),
    row(
        "keepAliveTimeoutThreshold",
        UNDICI,
        "",
        Meaning::Nothing("the margin below a server's hint is a second, or a tenth of a short one"),
    ),
    row("headersTimeout", UNDICI, "response_timeout", Meaning::Millis(Zero::Off)),
    row("bodyTimeout", UNDICI, "read_timeout", Meaning::Millis(Zero::Off)),
    row("connectTimeout", UNDICI, "connect_timeout", Meaning::Millis(Zero::Off)),
    row("connect.timeout", UNDICI, "connect_timeout", Meaning::Millis(Zero::Off)),
    row("connect.keepAliveInitialDelay", UNDICI, "tcp_keepalive", Meaning::Millis(Zero::Refused)),
    row("connect.localAddress", UNDICI, "local_address", Meaning::Same),
    row("connect.socketPath", UNDICI, "unix_socket", Meaning::Same),
    row("maxRequestsPerClient", UNDICI, "max_requests_per_connection", Meaning::Same),
    row("pipelining", UNDICI, "keep_alive", Meaning::Pipelining),
    row("allowH2", UNDICI, "http_version", Meaning::AllowHttp2),
    row("maxConcurrentStreams", UNDICI, "http2_max_streams", Meaning::Same),
    row("clientTtl", UNDICI, "max_lifetime", Meaning::Millis(Zero::Off)),
    row("maxHeaderSize", UNDICI, "max_response_head", Meaning::Same),
    row("maxRedirections", UNDICI, "redirects", Meaning::Redirects),
    row("localAddress", UNDICI, "local_address", Meaning::Same),
    row("socketPath", UNDICI, "unix_socket", Meaning::Same),
    row(
        "autoSelectFamilyAttemptTimeout",
        UNDICI,
        "happy_eyeballs_delay",
        Meaning::Millis(Zero::Refused),
    ),
];

pub(super) fn find(name: &str) -> Option<&'static Foreign> {
    FOREIGN.iter().find(|foreign| foreign.name == name)
}

impl Foreign {
    /// The value as the own setting has it; the error says what is allowed.
    pub(super) fn read(&self, raw: &Raw) -> Result<Value, String> {
        let setting = settings::find(self.own);
        let same = || {
            let kind = setting.map(|setting| setting.kind);
            kind.and_then(|kind| kind.read(raw))
                .ok_or_else(|| kind.map_or_else(String::new, |kind| kind.allowed()))
        };
        match &self.meaning {
            Meaning::Same => same(),
            Meaning::Millis(zero) => millis(raw, zero),
            Meaning::Redirects => match raw {
                Raw::Number(number) if number == "0" => Ok(Value::Off),
                _ => same(),
            },
            Meaning::Pipelining => match raw {
                Raw::Number(number) if number == "1" => Ok(Value::Flag(true)),
                Raw::Number(number) if number == "0" => Ok(Value::Flag(false)),
                _ => {
                    Err("1, or 0 for no keep-alive: requests are never sent ahead of responses"
                        .into())
                }
            },
            Meaning::AllowHttp2 => match raw {
                Raw::Flag(true) => Ok(Value::Version(HttpVersion::Negotiate)),
                Raw::Flag(false) => Ok(Value::Version(HttpVersion::Http1)),
                _ => Err("true or false".into()),
            },
            Meaning::Nothing(why) => Err(format!("nothing: {why}")),
        }
    }
}

fn millis(raw: &Raw, zero: &Zero) -> Result<Value, String> {
    let time = match raw {
        Raw::Number(number) => duration::parse_millis(number),
        Raw::Text(text) => duration::parse_millis(text).or_else(|| duration::parse(text)),
        _ => None,
    };
    match (time, zero) {
        (Some(Duration::ZERO), Zero::Off) => Ok(Value::Off),
        (Some(Duration::ZERO), Zero::Longest) => Ok(Value::Time(LONGEST_IDLE)),
        (Some(time), _) if time > Duration::ZERO => Ok(Value::Time(time)),
        (_, Zero::Off | Zero::Longest) => {
            Err("milliseconds, a time with its unit as \"30s\", or 0 for no limit".into())
        }
        (_, Zero::Refused) => {
            Err("milliseconds above 0, or a time with its unit as \"30s\"".into())
        }
    }
}
