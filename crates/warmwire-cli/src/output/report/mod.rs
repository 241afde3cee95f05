//! The page of `--report`: one file, nothing loaded from elsewhere, no scripts.

mod plots;

use std::fmt::Write;

use super::facts::{cross_checks, facts};
use super::svg::escape;
use super::table::{self, Row};
use crate::commands::Side;
use crate::commands::result::{BenchResult, RoundSide, SideResult};
use crate::units::{grouped, milliseconds, percent};

const STYLE: &str = include_str!("style.css");

/// The whole page.
pub(crate) fn page(result: &BenchResult) -> String {
    let title = headline(result);
    let sections = [
        tiles(result),
        card("Figures", "", &figures(result)),
        plots::waterfall(result).map_or_else(String::new, |plot| {
            let note =
                "What the arithmetic of round trips predicts, step by step; dashed: as measured";
            card("One request", note, &plot)
        }),
        card(
            "Latency histogram",
            "Share of the answered requests; dashed: the medians",
            &plots::histogram(result),
        ),
        card("Latency percentiles", "What the slowest requests take", &plots::percentiles(result)),
        card("Rounds", "Both sides send in turns, so that drift hits both alike", &rounds(result)),
        card("What was measured", "", &(description(result) + &command(result))),
    ];
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title} · warmwire bench</title>\n<style>\n{STYLE}</style>\n\
         </head>\n<body>\n<main>\n\
         <h1>{title}</h1>\n<p class=\"subtitle\">{}</p>\n{}\n\
         <footer>Made by warmwire {} bench.</footer>\n</main>\n</body>\n</html>\n",
        escape(&result.target.url),
        sections.join("\n"),
        env!("CARGO_PKG_VERSION"),
    )
}

fn headline(result: &BenchResult) -> String {
    match &result.saving {
        Some(saving) if saving.p50 >= 0.0 => {
            format!("Keep-alive saves {} of the median latency", percent(saving.p50))
        }
        Some(saving) => format!("Keep-alive adds {} to the median latency", percent(-saving.p50)),
        None if result.with.is_some() => "Latency with keep-alive".to_owned(),
        None => "Latency without keep-alive".to_owned(),
    }
}

/// The figures that matter most.
fn tiles(result: &BenchResult) -> String {
    let tile = |name: &str, show: fn(&SideResult) -> String| {
        let cell = |side: Option<&SideResult>| side.map(show);
        let (value, detail) = match (cell(result.without.as_ref()), cell(result.with.as_ref())) {
            (Some(without), Some(with)) => (with, format!("without: {without}")),
            (Some(only), None) | (None, Some(only)) => (only, String::new()),
            (None, None) => return String::new(),
        };
        format!(
            "<div class=\"tile\"><div class=\"name\">{name}</div>\
             <div class=\"value\">{value}</div><div class=\"detail\">{detail}</div></div>"
        )
    };
    format!(
        "<div class=\"tiles\">{}{}{}{}</div>",
        tile("Median latency", |side| milliseconds(side.latency_ms.p50)),
        tile("P99 latency", |side| milliseconds(side.latency_ms.p99)),
        tile("Connections opened", |side| grouped(side.connections_opened)),
        tile("Client CPU per request", |side| milliseconds(side.cpu_us_per_request / 1e3)),
    )
}

fn card(title: &str, note: &str, content: &str) -> String {
    let note =
        if note.is_empty() { String::new() } else { format!("<p class=\"note\">{note}</p>") };
    format!("<section class=\"card\"><h2>{title}</h2>{note}{content}</section>")
}

fn figures(result: &BenchResult) -> String {
    let change = if result.saving.is_some() { "Change" } else { "" };
    let mut html = format!(
        "<table><tr><th></th><th class=\"without\">Without keep-alive</th>\
         <th class=\"with\">With keep-alive</th><th>{change}</th></tr>"
    );
    for Row { label, without, with, change, is_detail } in table::rows(result) {
        let class = if is_detail { " class=\"detail\"" } else { "" };
        let (verdict, change) = match &change {
            None => ("", ""),
            Some(change) => (if change.is_better { "good" } else { "bad" }, change.text.as_str()),
        };
        // Writing to a String cannot fail.
        let _ = write!(
            html,
            "<tr><td{class}>{}</td><td>{without}</td><td>{with}</td>\
             <td class=\"{verdict}\">{change}</td></tr>",
            escape(&label)
        );
    }
    let memory = table::memory(result);
    let memory = memory.map_or_else(String::new, |text| format!("<p class=\"note\">{text}</p>"));
    html + "</table>" + &memory
}

fn rounds(result: &BenchResult) -> String {
    let mut html = "<table><tr><th>Round</th>\
                    <th class=\"without\">P50 without</th>\
                    <th class=\"without\">Requests/s without</th>\
                    <th class=\"with\">P50 with</th><th class=\"with\">Requests/s with</th></tr>"
        .to_owned();
    let cells = |side: Option<RoundSide>| {
        side.map_or_else(
            || "<td></td><td></td>".to_owned(),
            |side| {
                format!(
                    "<td>{}</td><td>{}</td>",
                    milliseconds(side.p50_ms),
                    grouped(side.rps.round() as u64)
                )
            },
        )
    };
    for (number, round) in result.rounds.each.iter().enumerate() {
        let _ = write!(
            html,
            "<tr><td>{}</td>{}{}</tr>",
            number + 1,
            cells(round.without),
            cells(round.with)
        );
    }
    html + "</table>"
}

fn description(result: &BenchResult) -> String {
    let mut facts = facts(result);
    for check in cross_checks(result) {
        let label = match check.side {
            Side::Without => "Server, without",
            Side::With => "Server, with",
        };
        facts.push((label, check.sentence));
    }
    let mut html = "<dl>".to_owned();
    for (label, sentence) in facts {
        let _ = write!(html, "<dt>{label}</dt><dd>{}</dd>", escape(&sentence));
    }
    html + "</dl>"
}

fn command(result: &BenchResult) -> String {
    format!("<pre>{}</pre>", escape(&result.options.command))
}
