//! The result for a person at a terminal.

use std::fmt::Write;
use std::io::IsTerminal;

use super::facts::{cross_checks, facts};
use super::histogram::{Bin, bins};
use super::table::{self, Row};
use crate::commands::Side;
use crate::commands::prediction::Prediction;
use crate::commands::result::{BenchResult, SideResult};
use crate::units::{milliseconds, percent, whole_milliseconds};

const MOST_BINS: usize = 18;
const BAR: usize = 24;
const LABEL: usize = 30;
const CELL: usize = 14;
const SIDES: [Side; 2] = [Side::Without, Side::With];

/// Prints the result, in colour on a terminal.
///
/// # Errors
/// When standard output cannot be written to.
pub(crate) fn show(result: &BenchResult) -> anyhow::Result<()> {
    // https://no-color.org: any value but an empty one turns colour off.
    let wants_none = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let paint = Paint { is_on: std::io::stdout().is_terminal() && !wants_none };
    super::print(render(result, paint).as_bytes())
}

fn render(result: &BenchResult, paint: Paint) -> String {
    let mut text = String::new();
    for (label, sentence) in facts(result) {
        line(&mut text, &format!("{}  {sentence}", paint.dim(&format!("{label:<9}"))));
    }
    figures(&mut text, result, paint);
    if let Some(prediction) = &result.target.predicted_ms {
        round_trips(&mut text, result, prediction, paint);
    }
    histogram(&mut text, result, paint);
    server_saw(&mut text, result, paint);
    text
}

fn figures(text: &mut String, result: &BenchResult, paint: Paint) {
    line(text, "");
    let head = ["without", "with", "change"];
    let shown = result.saving.is_some();
    let head = format!(
        "{:LABEL$}{:>CELL$}{:>CELL$}{:>CELL$}",
        "",
        head[0],
        head[1],
        if shown { head[2] } else { "" }
    );
    line(text, &paint.bold(head.trim_end()));
    for row in table::rows(result) {
        let Row { label, without, with, change, is_detail } = row;
        let label = if is_detail { format!("  {label}") } else { label };
        let change = change.map_or_else(String::new, |change| {
            let cell = format!("{:>CELL$}", change.text);
            if change.is_better { paint.green(&cell) } else { paint.red(&cell) }
        });
        line(text, format!("{label:<LABEL$}{without:>CELL$}{with:>CELL$}{change}").trim_end());
    }
    if let Some(memory) = table::memory(result) {
        line(text, &paint.dim(&memory));
    }
}

/// What the arithmetic predicts beside what was measured.
fn round_trips(text: &mut String, result: &BenchResult, prediction: &Prediction, paint: Paint) {
    line(text, "");
    line(text, &paint.bold("What the arithmetic of round trips predicts"));
    for step in &prediction.without {
        let label = format!("  {}", step.name);
        both(text, &label, |side| {
            let own = prediction.steps(side).iter().find(|own| own.name == step.name);
            own.map_or_else(|| "none".to_owned(), |own| whole_milliseconds(own.ms))
        });
    }
    both(text, "Predicted", |side| whole_milliseconds(prediction.total_ms(side)));
    let measured = |side, figure: fn(&SideResult) -> f64| {
        let side = result.side(side).filter(|side| side.answered() > 0);
        side.map_or_else(String::new, |side| milliseconds(figure(side)))
    };
    both(text, "Measured, median", |side| measured(side, |side| side.latency_ms.p50));
    both(text, "Measured, mean", |side| measured(side, |side| side.latency_ms.mean));
}

/// A line with a cell for each side.
fn both(text: &mut String, label: &str, cell: impl Fn(Side) -> String) {
    let [without, with] = SIDES.map(cell);
    line(text, format!("{label:<LABEL$}{without:>CELL$}{with:>CELL$}").trim_end());
}

fn histogram(text: &mut String, result: &BenchResult, paint: Paint) {
    let bins = bins(result, MOST_BINS);
    let tallest = bins.iter().flat_map(|bin| [bin.without, bin.with]).fold(0.0, f64::max);
    if tallest == 0.0 {
        return;
    }
    line(text, "");
    line(text, &paint.bold(&format!("{:<12}{:<w$}with", "Latency", "without", w = BAR + 9)));
    for bin in bins {
        let mut cells = SIDES.map(|side| bar(&bin, side, tallest));
        cells[0] = paint.yellow(&format!("{:<w$}", cells[0], w = BAR + 9));
        cells[1] = paint.blue(&cells[1]);
        line(
            text,
            format!("{:>10}  {}{}", milliseconds(bin.up_to_ms), cells[0], cells[1]).trim_end(),
        );
    }
}

/// A bar of eighths of a character and the share, nothing for an empty bin.
fn bar(bin: &Bin, side: Side, tallest: f64) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let share = bin.share(side);
    if share == 0.0 {
        return String::new();
    }
    let eighths = ((share / tallest * BAR as f64 * 8.0).round() as usize).max(1);
    let share = if share < 0.001 { "<0.1 %".to_owned() } else { percent(share) };
    format!("{}{} {share}", "█".repeat(eighths / 8), EIGHTHS[eighths % 8])
}

/// What the embedded server has counted beside what the agent says.
fn server_saw(text: &mut String, result: &BenchResult, paint: Paint) {
    for (row, check) in cross_checks(result).into_iter().enumerate() {
        if row == 0 {
            line(text, "");
        }
        let sentence = format!("{:<8} {}", check.side.as_str(), check.sentence);
        line(text, &if check.agrees { paint.dim(&sentence) } else { paint.red(&sentence) });
    }
}

fn line(text: &mut String, line: &str) {
    // Writing to a String cannot fail.
    let _ = writeln!(text, "{line}");
}

/// Colours, where they are wanted.
#[derive(Clone, Copy)]
struct Paint {
    is_on: bool,
}

impl Paint {
    fn bold(self, text: &str) -> String {
        self.with("1", text)
    }

    fn dim(self, text: &str) -> String {
        self.with("2", text)
    }

    fn red(self, text: &str) -> String {
        self.with("31", text)
    }

    fn green(self, text: &str) -> String {
        self.with("32", text)
    }

    fn yellow(self, text: &str) -> String {
        self.with("33", text)
    }

    fn blue(self, text: &str) -> String {
        self.with("34", text)
    }

    fn with(self, code: &str, text: &str) -> String {
        if self.is_on && !text.is_empty() {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }
}
