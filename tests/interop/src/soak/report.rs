//! What a soak has seen, as Markdown.

use std::fmt;
use std::time::Duration;

use warmwire::http::OriginStats;

use super::client::Outcomes;
use super::memory::Memory;
use super::{MAX_CONNECTIONS, MAX_TOTAL, Plan};

/// What a soak has seen.
pub struct Report {
    pub(super) plan: Plan,
    pub(super) took: Duration,
    pub(super) rounds: u64,
    pub(super) outcomes: Outcomes,
    pub(super) total: OriginStats,
    pub(super) accepted: u64,
    pub(super) heads: u64,
    pub(super) repeated: u64,
    /// Of one server and of all, as the connector has counted.
    pub(super) most: Option<(usize, usize)>,
    pub(super) memory: Memory,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (total, plan) = (&self.total, &self.plan);
        let each_second = total.requests as f64 / self.took.as_secs_f64();
        let (way, seed, rounds, took) = (plan.way, plan.seed, self.rounds, self.took);
        writeln!(f, "## {way:?}, seed {seed}\n")?;
        writeln!(f, "{rounds} rounds in {took:.1?}, {each_second:.0} requests a second.\n")?;
        writeln!(f, "| what | the agent | the servers |\n|---|---:|---:|")?;
        writeln!(f, "| connections | {} | {} |", total.opened, self.accepted)?;
        writeln!(f, "| requests on them | {} | {} |", total.requests, self.heads)?;
        writeln!(f, "| sent again, marked or GET | {} | {} |", total.retries, self.repeated)?;
        writeln!(f, "| POSTs run twice | | 0 |")?;
        writeln!(f, "| most connections at once | {} of {MAX_TOTAL} | |", total.max_open)?;
        if let Some((one, all)) = self.most {
            writeln!(f, "\nMost sockets at once, with those that were being opened or closed: ")?;
            writeln!(f, "{one} of {MAX_CONNECTIONS} to a server, {all} of {MAX_TOTAL} in all.")?;
        }
        writeln!(f, "\n| outcome | requests |\n|---|---:|")?;
        for (outcome, count) in &self.outcomes.0 {
            writeln!(f, "| {outcome} | {count} |")?;
        }
        writeln!(f, "\n| connections closed | |\n|---|---:|")?;
        for (reason, count) in total.closed.iter() {
            writeln!(f, "| {} | {count} |", reason.as_str())?;
        }
        write!(f, "\n{}", self.memory)
    }
}
