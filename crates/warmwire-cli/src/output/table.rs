//! The figures of both sides, side by side, as the text and the page show them.

use crate::commands::Side;
use crate::commands::result::{BenchResult, Saving, SideResult};
use crate::units::{bytes, grouped, milliseconds, percent, three_digits};

/// One line of the table.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) label: String,
    pub(super) without: String,
    pub(super) with: String,
    pub(super) change: Option<Change>,
    /// Whether it belongs to the row above.
    pub(super) is_detail: bool,
}

/// What keep-alive changes.
#[derive(Debug, PartialEq)]
pub(super) struct Change {
    /// `−78 %`.
    pub(super) text: String,
    /// Whether it is for the better.
    pub(super) is_better: bool,
}

/// All lines of the table.
pub(super) fn rows(result: &BenchResult) -> Vec<Row> {
    let mut rows = Rows { result, rows: Vec::new() };
    let saving = result.saving;
    let less =
        |field: fn(&Saving) -> f64| saving.as_ref().map(|saving| change(-field(saving), false));
    let more = ratio_of_rates(result).map(|growth| change(growth, true));
    rows.add("Requests per second", |side| rate(side.rps), more);
    rows.add("Latency P50", |side| latency(side, side.latency_ms.p50), less(|saving| saving.p50));
    rows.add("P90", |side| latency(side, side.latency_ms.p90), less(|saving| saving.p90));
    rows.add("P95", |side| latency(side, side.latency_ms.p95), less(|saving| saving.p95));
    rows.add("P99", |side| latency(side, side.latency_ms.p99), less(|saving| saving.p99));
    rows.add("P99.9", |side| latency(side, side.latency_ms.p999), less(|saving| saving.p999));
    rows.add("max", |side| latency(side, side.latency_ms.max), less(|saving| saving.max));
    rows.add("mean", |side| latency(side, side.latency_ms.mean), less(|saving| saving.mean));
    rows.add("Handshakes' share of the mean", |side| percent(side.handshake_share), None);
    rows.add(
        "Client CPU per request",
        |side| cpu(side.cpu_us_per_request),
        less(|saving| saving.cpu),
    );
    rows.add("Requests", |side| grouped(side.requests), None);
    rows.add("Failed", |side| grouped(side.failed), None);
    rows.failures();
    rows.add("Connections opened", |side| grouped(side.connections_opened), None);
    rows.add("Requests per connection", |side| three_digits(side.requests_per_connection), None);
    rows.rows
}

/// The resident memory, which is no figure of a side: one process sends for both. `None` where the
/// system does not tell.
pub(super) fn memory(result: &BenchResult) -> Option<String> {
    let sides = [&result.without, &result.with];
    let most = sides.into_iter().flatten().filter_map(|side| side.rss_bytes).max()?;
    Some(format!("Memory (resident): {} at most, of this process as a whole", bytes(most)))
}

struct Rows<'a> {
    result: &'a BenchResult,
    rows: Vec<Row>,
}

impl Rows<'_> {
    fn add(&mut self, label: &str, show: impl Fn(&SideResult) -> String, change: Option<Change>) {
        let is_detail = matches!(label, "P90" | "P95" | "P99" | "P99.9" | "max" | "mean");
        self.push(label, is_detail, show, change);
    }

    fn push(
        &mut self,
        label: &str,
        is_detail: bool,
        show: impl Fn(&SideResult) -> String,
        change: Option<Change>,
    ) {
        let cell = |side| self.result.side(side).map_or_else(String::new, &show);
        let row = Row {
            label: label.to_owned(),
            without: cell(Side::Without),
            with: cell(Side::With),
            change,
            is_detail,
        };
        self.rows.push(row);
    }

    /// A line for every kind of failure that either side has met.
    fn failures(&mut self) {
        let sides = [&self.result.without, &self.result.with];
        let mut kinds: Vec<String> =
            sides.into_iter().flatten().flat_map(|side| side.failures.keys().cloned()).collect();
        kinds.sort_unstable();
        kinds.dedup();
        for kind in kinds {
            let count = |side: &SideResult| grouped(side.failures.get(&kind).copied().unwrap_or(0));
            self.push(&kind.replace('_', " "), true, count, None);
        }
    }
}

fn ratio_of_rates(result: &BenchResult) -> Option<f64> {
    let (without, with) = (result.without.as_ref()?, result.with.as_ref()?);
    // In an open loop both send what is due: a difference would say nothing.
    (result.options.rate.is_none() && without.rps > 0.0 && with.rps > 0.0)
        .then(|| with.rps / without.rps - 1.0)
}

fn change(fraction: f64, more_is_better: bool) -> Change {
    let sign = if fraction < 0.0 { "−" } else { "+" };
    Change {
        text: format!("{sign}{}", percent(fraction.abs())),
        is_better: (fraction > 0.0) == more_is_better,
    }
}

fn rate(rps: f64) -> String {
    if rps < 100.0 { three_digits(rps) } else { grouped(rps.round() as u64) }
}

fn latency(side: &SideResult, ms: f64) -> String {
    if side.answered() == 0 { "none".to_owned() } else { milliseconds(ms) }
}

fn cpu(micros: f64) -> String {
    milliseconds(micros / 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_say_whether_they_are_for_the_better() {
        assert_eq!(change(-0.78, false), Change { text: "−78 %".to_owned(), is_better: true });
        assert_eq!(change(0.05, false), Change { text: "+5.0 %".to_owned(), is_better: false });
        assert_eq!(change(1.33, true), Change { text: "+133 %".to_owned(), is_better: true });
    }
}
