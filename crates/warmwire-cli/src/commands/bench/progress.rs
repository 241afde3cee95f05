//! Progress on standard error: a bar on a terminal, a line per part of a round elsewhere.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::load::{Portion, SharedRecord};
use super::record::Record;
use super::side::Side;
use crate::output;
use crate::units::{counted, grouped, milliseconds};

/// Often enough to look alive; the drawing counts as the client's CPU time.
const TICK: Duration = Duration::from_millis(200);

/// Where progress goes.
pub(super) enum Progress {
    /// Nowhere.
    Quiet,
    /// Lines, one for each part of a round.
    Lines { rounds: u32 },
    /// A bar.
    Bar { bar: ProgressBar, rounds: u32 },
}

impl Progress {
    pub(super) fn new(is_quiet: bool, rounds: u32) -> Self {
        if is_quiet {
            return Self::Quiet;
        }
        if !std::io::stderr().is_terminal() {
            return Self::Lines { rounds };
        }
        let bar = ProgressBar::with_draw_target(Some(1000), ProgressDrawTarget::stderr());
        let style = ProgressStyle::with_template("{prefix:<22} {bar:30.cyan/dim} {wide_msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        Self::Bar { bar, rounds }
    }

    /// Shows the progress of `sending` until it is done, and returns what it does.
    pub(super) async fn show(
        &self,
        round: u32,
        side: Side,
        portion: Portion,
        record: &SharedRecord,
        sending: impl Future<Output = Duration>,
    ) -> Duration {
        match self {
            Self::Quiet => sending.await,
            Self::Lines { rounds } => {
                let elapsed = sending.await;
                let record = record.lock();
                output::note(&format!(
                    "round {}/{rounds}, {} keep-alive: {} in {}, {} failed, P50 {}",
                    round + 1,
                    side.as_str(),
                    counted(record.requests(), "request"),
                    milliseconds(elapsed.as_secs_f64() * 1e3),
                    grouped(record.failed()),
                    median(&record),
                ));
                elapsed
            }
            Self::Bar { bar, rounds } => {
                bar.set_prefix(format!("round {}/{rounds}, {}", round + 1, side.as_str()));
                let start = Instant::now();
                let mut tick = tokio::time::interval(TICK);
                tokio::pin!(sending);
                loop {
                    tokio::select! {
                        elapsed = &mut sending => break elapsed,
                        _ = tick.tick() => draw(bar, portion, start.elapsed(), record),
                    }
                }
            }
        }
    }

    /// Takes the bar away.
    pub(super) fn finish(&self) {
        if let Self::Bar { bar, .. } = self {
            bar.finish_and_clear();
        }
    }
}

fn draw(bar: &ProgressBar, portion: Portion, elapsed: Duration, record: &SharedRecord) {
    let record = record.lock();
    let of_requests = portion.requests.map_or(0.0, |all| record.requests() as f64 / all as f64);
    let of_time = portion.duration.map_or(0.0, |all| elapsed.as_secs_f64() / all.as_secs_f64());
    bar.set_position((of_requests.max(of_time).min(1.0) * 1000.0) as u64);
    bar.set_message(format!(
        "{}, {}/s, P50 {}",
        counted(record.requests(), "request"),
        grouped((record.requests() as f64 / elapsed.as_secs_f64().max(1e-3)) as u64),
        median(&record),
    ));
}

fn median(record: &Record) -> String {
    if record.answered() == 0 { "none".to_owned() } else { milliseconds(record.quantile_ms(0.5)) }
}
