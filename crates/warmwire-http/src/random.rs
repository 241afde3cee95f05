//! Random numbers where they only have to differ.

use std::hash::{BuildHasher, RandomState};

/// A number from 0 to 1. Each [`RandomState`] has keys of its own, which the standard library
/// draws at random once per thread and then counts up; for jitter that is random enough.
pub(crate) fn unit() -> f64 {
    // 53 bits are what an f64 holds exactly.
    let bits = RandomState::new().hash_one(0u8) >> 11;
    bits as f64 / (1u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    #[test]
    fn numbers_differ_and_are_in_range() {
        let drawn: Vec<f64> = (0..100).map(|_| super::unit()).collect();
        assert!(drawn.iter().all(|number| (0.0..1.0).contains(number)), "{drawn:?}");
        let spread =
            drawn.iter().copied().fold(0.0, f64::max) - drawn.iter().copied().fold(1.0, f64::min);
        assert!(spread > 0.5, "{drawn:?}");
    }
}
