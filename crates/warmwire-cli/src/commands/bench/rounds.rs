//! Interleaves the sides in rounds, so that drift hits both alike.

use super::load::{self, Portion, SharedRecord};
use super::plan::{Load, Plan};
use super::progress::Progress;
use super::record::Record;
use super::result::{RoundResult, RoundSide, RoundsResult, Totals};
use super::side::{Client, Side};
use crate::commands::interrupt::Interrupt;
use crate::commands::measure;
use crate::server::EmbeddedServer;
use crate::timer::PreciseTimer;

/// What takes part in the rounds.
pub(super) struct Bench<'a> {
    pub(super) plan: &'a Plan,
    pub(super) timer: PreciseTimer,
    pub(super) interrupt: Interrupt,
    pub(super) progress: Progress,
    pub(super) server: Option<EmbeddedServer>,
    pub(super) contestants: Vec<Contestant>,
}

/// One side with what it has come to until now.
pub(super) struct Contestant {
    pub(super) side: Side,
    pub(super) client: Client,
    pub(super) totals: Totals,
}

impl Bench<'_> {
    /// Runs the warm-up and all rounds, unless it is interrupted or a first round in which every
    /// request failed tells that the others would be the same.
    ///
    /// # Errors
    /// When the embedded server has gone.
    pub(super) async fn run(&mut self) -> anyhow::Result<RoundsResult> {
        let load = &self.plan.load;
        let mut rounds = RoundsResult { planned: load.rounds, ..RoundsResult::default() };
        for index in 0..self.contestants.len() {
            self.warm_up(index).await?;
        }
        for round in 0..load.rounds {
            if self.interrupt.is_raised() {
                break;
            }
            rounds.each.push(self.round(round).await?);
            rounds.complete += u32::from(!self.interrupt.is_raised());
            if self.contestants.iter().all(|one| one.totals.record.all_failed()) {
                break;
            }
        }
        rounds.interrupted = self.interrupt.is_raised();
        self.progress.finish();
        for contestant in &mut self.contestants {
            contestant.totals.opened = contestant.client.connections_opened();
        }
        Ok(rounds)
    }

    async fn warm_up(&mut self, index: usize) -> anyhow::Result<()> {
        let load = &self.plan.load;
        if load.warmup > 0 && !self.interrupt.is_raised() {
            let portion = Portion { requests: Some(load.warmup), duration: None, pace: load.pace };
            let record = SharedRecord::default();
            let client = self.contestants[index].client.clone();
            load::run(portion, &self.timer, &self.interrupt, &record, move || client.send()).await;
            self.contestants[index].totals.warmup = record.lock().requests();
        }
        self.count_for(index).await
    }

    async fn round(&mut self, round: u32) -> anyhow::Result<RoundResult> {
        let mut result = RoundResult::default();
        for index in order(self.contestants.len(), round) {
            if self.interrupt.is_raised() {
                break;
            }
            let side = self.contestants[index].side;
            result.order.push(side);
            let measured = self.part(index, round).await?;
            match side {
                Side::Without => result.without = Some(measured),
                Side::With => result.with = Some(measured),
            }
        }
        Ok(result)
    }

    /// The part of one side in one round.
    async fn part(&mut self, index: usize, round: u32) -> anyhow::Result<RoundSide> {
        let portion = portion(&self.plan.load, round);
        let contestant = &self.contestants[index];
        let record = SharedRecord::default();
        let client = contestant.client.clone();
        let cpu_before = measure::cpu_time();
        let sending =
            load::run(portion, &self.timer, &self.interrupt, &record, move || client.send());
        let elapsed = self.progress.show(round, contestant.side, portion, &record, sending).await;
        let cpu = measure::cpu_time().saturating_sub(cpu_before);
        let record: Record = std::mem::take(&mut *record.lock());
        let result = RoundSide::new(&record, elapsed);

        let totals = &mut self.contestants[index].totals;
        totals.record.merge(record);
        totals.elapsed += elapsed;
        totals.cpu += cpu;
        totals.resident = totals.resident.max(measure::resident_bytes());
        self.count_for(index).await?;
        Ok(result)
    }

    /// Adds what the server has counted since it was last asked to a side.
    async fn count_for(&mut self, index: usize) -> anyhow::Result<()> {
        let Some(server) = &mut self.server else { return Ok(()) };
        let now = server.counts().await?;
        // What is not another side's is this side's.
        let mut own = now;
        for (_, contestant) in
            self.contestants.iter().enumerate().filter(|(other, _)| *other != index)
        {
            let other = contestant.totals.server.unwrap_or_default();
            own.accepted = own.accepted.saturating_sub(other.accepted);
            own.requests = own.requests.saturating_sub(other.requests);
            own.open = own.open.saturating_sub(other.open);
            own.peak_open = own.peak_open.saturating_sub(other.open);
        }
        let known = &mut self.contestants[index].totals.server;
        own.peak_open = own.peak_open.max(known.map_or(0, |known| known.peak_open));
        *known = Some(own);
        Ok(())
    }
}

/// The indexes of `sides` in the order of `round`: the first side begins the even ones.
fn order(sides: usize, round: u32) -> Vec<usize> {
    let mut order: Vec<usize> = (0..sides).collect();
    if !round.is_multiple_of(2) {
        order.reverse();
    }
    order
}

/// The share of `round` in the load; what does not divide evenly goes to the first rounds.
fn portion(load: &Load, round: u32) -> Portion {
    let rounds = u64::from(load.rounds);
    Portion {
        requests: load
            .requests
            .map(|all| all / rounds + u64::from(u64::from(round) < all % rounds)),
        duration: load.duration.map(|all| all / load.rounds),
        pace: load.pace,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::commands::bench::plan::{Pace, RequestPlan};

    #[test]
    fn the_order_alternates() {
        assert_eq!([order(2, 0), order(2, 1), order(2, 2)], [[0, 1], [1, 0], [0, 1]]);
        assert_eq!(order(1, 1), [0]);
    }

    #[test]
    fn the_shares_of_the_rounds_add_up() {
        let load = Load {
            requests: Some(203),
            duration: Some(Duration::from_secs(10)),
            pace: Pace::Closed { concurrency: 1 },
            warmup: 0,
            rounds: 5,
            request: RequestPlan { method: http::Method::GET, headers: Vec::new(), body: None },
        };
        let shares: Vec<_> = (0..5).map(|round| portion(&load, round).requests.unwrap()).collect();
        assert_eq!(shares, [41, 41, 41, 40, 40]);
        assert_eq!(portion(&load, 0).duration, Some(Duration::from_secs(2)));
    }
}
