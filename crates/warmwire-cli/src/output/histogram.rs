//! The latency histograms of both sides over the same bins.

use crate::commands::BUCKETS_PER_DECADE;
use crate::commands::Side;
use crate::commands::result::BenchResult;

/// A range of latencies and what part of each side's answered requests fell into it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Bin {
    /// The bin holds latencies above this, in milliseconds.
    pub(super) above_ms: f64,
    /// The greatest latency of the bin, in milliseconds.
    pub(super) up_to_ms: f64,
    pub(super) without: f64,
    pub(super) with: f64,
}

impl Bin {
    /// The part of `side`, 0 to 1.
    pub(super) fn share(&self, side: Side) -> f64 {
        match side {
            Side::Without => self.without,
            Side::With => self.with,
        }
    }
}

/// At most `most` bins that cover both sides.
pub(super) fn bins(result: &BenchResult, most: usize) -> Vec<Bin> {
    let buckets = |side| result.side(side).map_or(&[][..], |side| &side.histogram_ms);
    aligned(buckets(Side::Without), buckets(Side::With), most)
}

fn aligned(without: &[(f64, u64)], with: &[(f64, u64)], most: usize) -> Vec<Bin> {
    let ends = [without.first(), with.first(), without.last(), with.last()];
    let bounds = ends.into_iter().flatten().map(|(bound, _)| step(*bound));
    let (Some(first), Some(last)) = (bounds.clone().min(), bounds.max()) else { return Vec::new() };
    let total =
        |buckets: &[(f64, u64)]| buckets.iter().map(|(_, count)| count).sum::<u64>().max(1) as f64;
    let (total_without, total_with) = (total(without), total(with));

    let steps = usize::try_from(last - first).unwrap_or(0) + 1;
    let width = steps.div_ceil(most.max(1)).max(1) as i32;
    let mut bins: Vec<Bin> = (0..steps.div_ceil(width as usize) as i32)
        .map(|i| Bin {
            above_ms: at(first + i * width - 1),
            up_to_ms: at(first + (i + 1) * width - 1),
            without: 0.0,
            with: 0.0,
        })
        .collect();
    let index = |bound: f64| usize::try_from((step(bound) - first) / width).unwrap_or(0);
    for (bound, count) in without {
        bins[index(*bound)].without += *count as f64 / total_without;
    }
    for (bound, count) in with {
        bins[index(*bound)].with += *count as f64 / total_with;
    }
    bins
}

/// Which bucket ends at `bound`.
fn step(bound: f64) -> i32 {
    (bound.log10() * BUCKETS_PER_DECADE).round() as i32
}

fn at(step: i32) -> f64 {
    10_f64.powf(f64::from(step) / BUCKETS_PER_DECADE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_share_their_bins() {
        let bins = aligned(&[(10.0, 1), (11.22, 3)], &[(1.0, 5)], 100);
        assert_eq!(bins.len(), 43);
        assert_eq!((bins[0].with, bins[0].without), (1.0, 0.0));
        assert_eq!((bins[40].without, bins[42].without), (0.25, 0.75));
        assert!(bins.windows(2).all(|pair| pair[0].up_to_ms == pair[1].above_ms));
    }

    #[test]
    fn many_buckets_are_put_together() {
        let bins = aligned(&[(0.01, 1), (1000.0, 1)], &[(1.0, 2)], 18);
        assert!(bins.len() <= 18, "{}", bins.len());
        assert!((bins.iter().map(|bin| bin.without).sum::<f64>() - 1.0).abs() < 1e-9);
        assert!(bins.last().is_some_and(|bin| bin.up_to_ms >= 999.9));
    }

    #[test]
    fn nothing_measured_has_no_bins() {
        assert!(aligned(&[], &[], 10).is_empty());
    }
}
