//! What was measured, in sentences.

use crate::commands::Side;
use crate::commands::result::{BenchResult, Simulated};
use crate::units::{bytes, counted, grouped, whole_milliseconds};

/// A label and a sentence.
pub(super) type Fact = (&'static str, String);

/// What the embedded server has counted for a side, held against what the agent says.
pub(super) struct CrossCheck {
    pub(super) side: Side,
    pub(super) sentence: String,
    /// Whether both speak of the same number of connections.
    pub(super) agrees: bool,
}

/// One for each side that was measured with the embedded server.
pub(super) fn cross_checks(result: &BenchResult) -> Vec<CrossCheck> {
    let check = |side| {
        let (measured, seen) = (result.side(side)?, result.server_counts(side)?);
        let agrees = seen.accepted == measured.connections_opened;
        let accepted = counted(seen.accepted, "connection");
        let mut sentence =
            format!("the server accepted {accepted}, at most {} at once", grouped(seen.peak_open));
        if !agrees {
            let opened = grouped(measured.connections_opened);
            sentence.push_str(&format!("; the agent says it opened {opened}"));
        }
        Some(CrossCheck { side, sentence, agrees })
    };
    [Side::Without, Side::With].into_iter().filter_map(check).collect()
}

/// What was measured and how: the target, what is simulated, the load, both sides.
pub(super) fn facts(result: &BenchResult) -> Vec<Fact> {
    let mut facts = vec![("Target", target(result))];
    if let Some(simulated) = &result.target.simulated
        && let Some(sentence) = wire(simulated)
    {
        facts.push(("Simulated", sentence));
    }
    facts.push(("Load", load(result)));
    if let Some(sentence) = overload(result) {
        facts.push(("Overload", sentence));
    }
    facts.push(("Rounds", rounds(result)));
    if result.without.is_some() {
        facts.push(("Without", without(result)));
    }
    if result.with.is_some() {
        facts.push(("With", with(result)));
    }
    facts
}

fn target(result: &BenchResult) -> String {
    let Some(server) = &result.target.simulated else {
        let version = result.target.http_version;
        let version = version.map_or_else(String::new, |version| format!(", HTTP/{version}"));
        return format!("{}{version}", result.target.url);
    };
    let name = if server.http2 { "HTTP/2" } else { "HTTP/1.1" };
    let protocol = match (server.tls, server.http2) {
        (Some(version), _) => format!("{name} over TLS {}", version.as_str()),
        (None, true) => format!("{name} without TLS (h2c)"),
        (None, false) => name.to_owned(),
    };
    let after = if server.delay_ms > 0.0 {
        format!(" after {}", whole_milliseconds(server.delay_ms))
    } else {
        String::new()
    };
    format!("embedded server on loopback, {protocol}, answers {}{after}", bytes(server.body_bytes))
}

fn wire(simulated: &Simulated) -> Option<String> {
    let mut parts = Vec::new();
    if simulated.rtt_ms > 0.0 {
        parts.push(format!(
            "round trip of {}: a connect waits for one, each direction is late by half of one",
            whole_milliseconds(simulated.rtt_ms)
        ));
    }
    if let Some(ms) = simulated.dns_ms {
        parts.push(format!("DNS look-up of {} for every new connection", whole_milliseconds(ms)));
    }
    (!parts.is_empty()).then(|| parts.join("; "))
}

fn load(result: &BenchResult) -> String {
    let options = &result.options;
    let mut parts = vec![options.method.clone()];
    if options.request_body_bytes > 0 {
        parts.push(format!("a body of {}", bytes(options.request_body_bytes as u64)));
    }
    if let Some(requests) = options.requests {
        parts.push(format!("{} requests a side", grouped(requests)));
    }
    if let Some(duration) = options.duration {
        let bound = if options.requests.is_some() { "at most " } else { "" };
        parts.push(format!("{bound}{duration} a side"));
    }
    if let Some(concurrency) = options.concurrency {
        parts.push(format!("closed loop, {} at once", grouped(concurrency as u64)));
    }
    if let Some(rate) = options.rate {
        parts.push(format!("open loop, {rate} a second, latency from the time each was due"));
    }
    if options.warmup > 0 {
        parts.push(format!("{} more to warm up", grouped(options.warmup)));
    }
    parts.join(", ")
}

/// Says by Little's law that an open loop asks for more connections than are allowed.
fn overload(result: &BenchResult) -> Option<String> {
    let (rate, allowed) = (result.options.rate?, result.options.agent.max_connections?);
    let prediction = result.target.predicted_ms.as_ref()?;
    let streams = result.target.simulated.as_ref().map_or(1, |simulated| simulated.streams);
    let sides = [(Side::Without, 1), (Side::With, streams)];
    let needed = sides
        .into_iter()
        .filter(|(side, _)| result.side(*side).is_some())
        .map(|(side, at_once)| rate * prediction.total_ms(side) / 1e3 / f64::from(at_once))
        .fold(0.0, f64::max)
        .ceil();
    (needed > allowed as f64).then(|| {
        let allowed = counted(allowed as u64, "connection");
        format!(
            "{rate} a second need {} connections at least and {allowed} may be open: \
             requests queue up",
            grouped(needed as u64)
        )
    })
}

fn rounds(result: &BenchResult) -> String {
    let rounds = &result.rounds;
    let both = result.without.is_some() && result.with.is_some();
    let how = if both { ", both sides in each, the order alternating" } else { "" };
    if rounds.interrupted {
        format!("{} of {} complete, interrupted{how}", rounds.complete, rounds.planned)
    } else if rounds.complete < rounds.planned {
        format!("{} of {}, since every request failed{how}", rounds.complete, rounds.planned)
    } else {
        format!("{}{how}", rounds.planned)
    }
}

fn without(result: &BenchResult) -> String {
    let handshakes = match (speaks_tls(result), result.options.resume) {
        (false, _) => "",
        (true, false) => ", every TLS handshake full",
        (true, true) => ", TLS sessions resumed (--resume)",
    };
    let close = if speaks_http2(result) { "" } else { " (Connection: close)" };
    format!("one connection per request{close}{}{handshakes}", at_most(result))
}

fn with(result: &BenchResult) -> String {
    let shared = if speaks_http2(result) { ", each carries many requests at once" } else { "" };
    format!("connections kept{shared}{}", at_most(result))
}

fn speaks_http2(result: &BenchResult) -> bool {
    result.options.http2 || result.target.http_version == Some("2")
}

fn at_most(result: &BenchResult) -> String {
    result.options.agent.max_connections.map_or_else(String::new, |most| {
        format!(", at most {} at once", counted(most as u64, "connection"))
    })
}

fn speaks_tls(result: &BenchResult) -> bool {
    result.target.url.starts_with("https:")
}
