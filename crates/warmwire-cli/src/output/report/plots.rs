//! The plots of the page.

use std::fmt::Write;

use crate::commands::Side;
use crate::commands::prediction::Step;
use crate::commands::result::{BenchResult, Latency, SideResult};
use crate::output::histogram::{Bin, bins};
use crate::output::svg::{Anchor, Svg, escape, ticks};
use crate::units::{milliseconds, percent, whole_milliseconds};

const WIDTH: f64 = 1000.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 22.0;
const SIDES: [Side; 2] = [Side::Without, Side::With];

/// Both latency histograms over a logarithmic axis.
pub(super) fn histogram(result: &BenchResult) -> String {
    const HEIGHT: f64 = 290.0;
    const BOTTOM: f64 = HEIGHT - 46.0;
    let bins = bins(result, 60);
    let (Some(first), Some(last)) = (bins.first(), bins.last()) else {
        return "<p class=\"note\">No request was answered.</p>".to_owned();
    };
    let (low, high) = (first.above_ms.log10(), last.up_to_ms.log10());
    // So that no bar leans on the frame.
    let room = (high - low) * 0.02;
    let (low, high) = (low - room, high + room);
    let x = |ms: f64| LEFT + (ms.log10() - low) / (high - low) * (WIDTH - LEFT - RIGHT);
    let tallest = bins.iter().flat_map(|bin| [bin.without, bin.with]).fold(0.0, f64::max);
    let grid = ticks(tallest, 4.0);
    let top = grid.last().copied().unwrap_or(1.0);
    let y = |share: f64| BOTTOM - share / top * (BOTTOM - TOP);

    let mut svg = Svg::new(WIDTH, HEIGHT);
    for share in grid {
        svg.line("grid", (LEFT, y(share)), (WIDTH - RIGHT, y(share)));
        svg.text("", (LEFT - 8.0, y(share) + 4.0), Anchor::End, &percent(share));
    }
    for ms in decades(first.above_ms, last.up_to_ms) {
        svg.line("axis", (x(ms), BOTTOM), (x(ms), BOTTOM + 5.0));
        svg.text("", (x(ms), BOTTOM + 20.0), Anchor::Middle, &whole_milliseconds(ms));
    }
    svg.text(
        "",
        ((LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - 6.0),
        Anchor::Middle,
        "latency, logarithmic",
    );
    for bin in &bins {
        bars(&mut svg, bin, x(bin.above_ms), x(bin.up_to_ms), y);
    }
    svg.line("axis", (LEFT, BOTTOM), (WIDTH - RIGHT, BOTTOM));
    for side in SIDES {
        if let Some(measured) = result.side(side).filter(|side| side.answered() > 0) {
            let at = x(measured.latency_ms.p50).clamp(LEFT, WIDTH - RIGHT);
            svg.line(&format!("median-{}", side.as_str()), (at, TOP - 8.0), (at, BOTTOM));
        }
    }
    svg.finish("Latency histogram of both sides") + &legend_of_sides(result)
}

/// The bars of both sides over each other; the style sheet lets the one behind shine through.
fn bars(svg: &mut Svg, bin: &Bin, left: f64, right: f64, y: impl Fn(f64) -> f64) {
    for side in SIDES {
        let share = bin.share(side);
        if share > 0.0 {
            // A bin with a single request of many must still be seen.
            let height = (y(0.0) - y(share)).max(1.0);
            let title = format!(
                "{} keep-alive: {} from {} to {}",
                side.as_str(),
                percent(share),
                milliseconds(bin.above_ms),
                milliseconds(bin.up_to_ms)
            );
            let size = ((right - left - 1.0).max(1.0), height);
            svg.bar(&format!("bin {}", side.as_str()), (left + 0.5, y(0.0) - height), size, &title);
        }
    }
}

/// 1, 2 and 5 times each power of ten between the bounds.
fn decades(low: f64, high: f64) -> Vec<f64> {
    let exponents = low.log10().floor() as i32..=high.log10().ceil() as i32;
    // As many as fit without touching each other.
    let factors: &[f64] = match high / low {
        span if span > 3000.0 => &[1.0],
        span if span > 12.0 => &[1.0, 2.0, 5.0],
        _ => &[1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0],
    };
    exponents
        .flat_map(|exponent| factors.iter().map(move |factor| factor * 10_f64.powi(exponent)))
        .filter(|ms| (low..=high).contains(ms))
        .collect()
}

/// The latency at each percentile.
pub(super) fn percentiles(result: &BenchResult) -> String {
    const HEIGHT: f64 = 300.0;
    const BOTTOM: f64 = HEIGHT - 34.0;
    let measured = SIDES.map(|side| result.side(side).map(|side| points(&side.latency_ms)));
    let most = measured.iter().flatten().flatten().map(|(_, ms)| *ms).fold(0.0, f64::max);
    let grid = ticks(most, 5.0);
    let top = grid.last().copied().unwrap_or(1.0).max(f64::MIN_POSITIVE);
    let y = |ms: f64| BOTTOM - ms / top * (BOTTOM - TOP);
    let x = |index: usize| LEFT + 50.0 + index as f64 * (WIDTH - LEFT - RIGHT - 100.0) / 5.0;

    let mut svg = Svg::new(WIDTH, HEIGHT);
    for ms in grid {
        svg.line("grid", (LEFT, y(ms)), (WIDTH - RIGHT, y(ms)));
        svg.text("", (LEFT - 8.0, y(ms) + 4.0), Anchor::End, &whole_milliseconds(ms));
    }
    svg.line("axis", (LEFT, BOTTOM), (WIDTH - RIGHT, BOTTOM));
    for (index, (name, _)) in measured.iter().flatten().next().into_iter().flatten().enumerate() {
        svg.text("", (x(index), BOTTOM + 20.0), Anchor::Middle, name);
    }
    let line = |points: &Points| -> Vec<(f64, f64)> {
        points.iter().enumerate().map(|(index, (_, ms))| (x(index), y(*ms))).collect()
    };
    let lines = measured.each_ref().map(|points| points.as_ref().map(line));
    for (number, side) in SIDES.into_iter().enumerate() {
        if let (Some(points), Some(line)) = (&measured[number], &lines[number]) {
            curve(&mut svg, side, points, line, lines[1 - number].as_deref());
        }
    }
    svg.finish("Latency at each percentile") + &legend_of_sides(result)
}

type Points = [(&'static str, f64); 6];

fn points(latency: &Latency) -> Points {
    [
        ("P50", latency.p50),
        ("P90", latency.p90),
        ("P95", latency.p95),
        ("P99", latency.p99),
        ("P99.9", latency.p999),
        ("max", latency.max),
    ]
}

/// The line of a side with its dots and labels, which keep clear of the other side's.
fn curve(
    svg: &mut Svg,
    side: Side,
    points: &Points,
    line: &[(f64, f64)],
    other: Option<&[(f64, f64)]>,
) {
    svg.path(&format!("line-{}", side.as_str()), line);
    for (index, (name, ms)) in points.iter().enumerate() {
        let title = format!("{name} {} keep-alive: {}", side.as_str(), milliseconds(*ms));
        svg.dot(side.as_str(), line[index], &title);
        // Greater is further up, where y is less.
        let is_below = other.is_some_and(|other| match line[index].1 - other[index].1 {
            0.0 => side == Side::With,
            down => down > 0.0,
        });
        let (place, anchor) = label_place(line, index, is_below);
        svg.text(&format!("label-{}", side.as_str()), place, anchor, &milliseconds(*ms));
    }
}

/// Where the label of a point stands so that the line, which only rises, does not cross it.
fn label_place(points: &[(f64, f64)], index: usize, is_below: bool) -> ((f64, f64), Anchor) {
    const STEEP: f64 = 10.0;
    let (x, y) = points[index];
    let rises = |from: usize, to: usize| match (points.get(from), points.get(to)) {
        (Some(from), Some(to)) => from.1 - to.1 > STEEP,
        _ => false,
    };
    match is_below {
        true if rises(index.wrapping_sub(1), index) => ((x + 2.0, y + 20.0), Anchor::Start),
        true => ((x, y + 20.0), Anchor::Middle),
        false if rises(index, index + 1) => ((x + 2.0, y - 10.0), Anchor::End),
        false => ((x, y - 10.0), Anchor::Middle),
    }
}

const FALL_LEFT: f64 = 90.0;
const FALL_ROW: f64 = 62.0;

/// The steps of one request as bars in a row, with the measured median; nothing without a
/// prediction.
pub(super) fn waterfall(result: &BenchResult) -> Option<String> {
    let prediction = result.target.predicted_ms.as_ref()?;
    let (figure, name): (fn(&SideResult) -> f64, _) = if prediction.is_of_mean() {
        (|side| side.latency_ms.mean, "mean")
    } else {
        (|side| side.latency_ms.p50, "P50")
    };
    let rows: Vec<Fall<'_>> = SIDES
        .into_iter()
        .filter_map(|side| {
            let measured = figure(result.side(side)?);
            Some(Fall { side, steps: prediction.steps(side), measured, name })
        })
        .collect();
    let bottom = 10.0 + rows.len() as f64 * FALL_ROW;
    let longest =
        rows.iter().map(|row| prediction.total_ms(row.side).max(row.measured)).fold(0.0, f64::max);
    let x = |ms: f64| FALL_LEFT + ms / longest.max(f64::MIN_POSITIVE) * (WIDTH - FALL_LEFT - 190.0);

    let mut svg = Svg::new(WIDTH, bottom + 26.0);
    for ms in ticks(longest, 6.0).into_iter().filter(|ms| *ms <= longest * 1.01) {
        svg.line("grid", (x(ms), 6.0), (x(ms), bottom));
        svg.text("", (x(ms), bottom + 18.0), Anchor::Middle, &whole_milliseconds(ms));
    }
    for (index, row) in rows.iter().enumerate() {
        row.draw(&mut svg, 10.0 + index as f64 * FALL_ROW, x);
    }
    let mut entries: Vec<(&str, &str)> = Vec::new();
    for step in rows.iter().flat_map(|row| row.steps) {
        if !entries.iter().any(|(_, name)| *name == step.name) {
            entries.push((class_of(step.name), step.name));
        }
    }
    Some(svg.finish("Predicted steps of one request") + &legend(&entries))
}

/// One side's row of the waterfall.
struct Fall<'a> {
    side: Side,
    steps: &'a [Step],
    measured: f64,
    /// Which figure was measured.
    name: &'static str,
}

impl Fall<'_> {
    fn draw(&self, svg: &mut Svg, top: f64, x: impl Fn(f64) -> f64) {
        let side = self.side.as_str();
        let class = format!("label-{side}");
        svg.text(&class, (FALL_LEFT - 14.0, top + 22.0), Anchor::End, side);
        let mut from = 0.0;
        for step in self.steps {
            let (left, width) = (x(from), x(from + step.ms) - x(from));
            let length = whole_milliseconds(step.ms);
            let title = format!("{}: {length}", step.name);
            let size = ((width - 1.5).max(1.0), 34.0);
            svg.bar(class_of(step.name), (left, top), size, &title);
            if width > 9.0 * length.chars().count() as f64 {
                svg.text("onbar", (left + width / 2.0, top + 22.0), Anchor::Middle, &length);
            }
            from += step.ms;
        }
        let at = x(self.measured);
        svg.line(&format!("median-{side}"), (at, top - 5.0), (at, top + 40.0));
        let right = x(from.max(self.measured)) + 12.0;
        let predicted = format!("predicted {}", milliseconds(from));
        svg.text("strong", (right, top + 14.0), Anchor::Start, &predicted);
        let measured = format!("measured {} ({})", milliseconds(self.measured), self.name);
        svg.text(&class, (right, top + 31.0), Anchor::Start, &measured);
    }
}

fn class_of(step: &str) -> &'static str {
    match step {
        "DNS look-up" => "dns",
        "TCP connect" => "tcp",
        "Request and response" => "exchange",
        "Server's work" => "server",
        "Wait for a connection" => "wait",
        _ => "tls",
    }
}

fn legend_of_sides(result: &BenchResult) -> String {
    let all = [
        ("without", "without keep-alive", &result.without),
        ("with", "with keep-alive", &result.with),
    ];
    let shown: Vec<_> = all
        .iter()
        .filter(|(.., side)| side.is_some())
        .map(|(class, name, _)| (*class, *name))
        .collect();
    legend(&shown)
}

/// Names beside their colours; each class is also the name of its colour in the style sheet.
fn legend(entries: &[(&str, &str)]) -> String {
    let mut html = "<div class=\"legend\">".to_owned();
    for (class, name) in entries {
        // Writing to a String cannot fail.
        let _ = write!(
            html,
            "<span><i style=\"background:var(--{class})\"></i>{}</span>",
            escape(name)
        );
    }
    html + "</div>"
}
