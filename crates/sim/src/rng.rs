//! Randomness that a seed decides. Ranges are computed here, with integers only, so that neither another version of a
//! library nor another processor gives another run.

use rand_pcg::{
    Pcg64Mcg,
    rand_core::{Rng as _, SeedableRng as _},
};

/// One stream of random numbers.
#[derive(Debug, Clone)]
pub(crate) struct Rng(Pcg64Mcg);

impl Rng {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Pcg64Mcg::seed_from_u64(seed))
    }

    /// A stream of its own, so that more draws here change nothing there.
    pub(crate) fn fork(&mut self) -> Self {
        Self::new(self.0.next_u64())
    }

    pub(crate) fn wide(&mut self) -> u128 {
        u128::from(self.0.next_u64()) << 64 | u128::from(self.0.next_u64())
    }

    /// Between both, both included.
    pub(crate) fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.0.next_u64() % (high - low + 1)
    }

    /// Between both, and as likely between 1 and 10 as between 10 and 100: short times and long times alike.
    pub(crate) fn spread(&mut self, low: u64, high: u64) -> u64 {
        let doublings = (high / low.max(1)).max(1).ilog2();
        let from = low << self.between(0, doublings.into());
        self.between(from, (from * 2).min(high).max(from))
    }

    pub(crate) fn index(&mut self, count: usize) -> usize {
        usize::try_from(self.between(0, count as u64 - 1)).expect("an index fits")
    }

    pub(crate) fn pick<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        if from.is_empty() { None } else { from.get(self.index(from.len())) }
    }

    /// True that many times out of a thousand.
    pub(crate) fn chance(&mut self, per_mille: u64) -> bool {
        self.between(0, 999) < per_mille
    }

    /// The place of one of the weights, each as likely as its weight says.
    pub(crate) fn weighted(&mut self, weights: &[u64]) -> usize {
        let mut left = self.between(1, weights.iter().sum::<u64>().max(1));
        for (place, weight) in weights.iter().enumerate() {
            if left <= *weight {
                return place;
            }
            left -= weight;
        }
        weights.len() - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_means_the_same_numbers_for_ever() {
        let mut rng = Rng::new(1);
        let drawn: Vec<u64> = (0..4).map(|_| rng.between(0, 999)).collect();
        assert_eq!(drawn, [939, 799, 792, 980]);
    }

    #[test]
    fn ranges_are_kept() {
        let mut rng = Rng::new(7);
        for _ in 0..1_000 {
            assert!((3..=9).contains(&rng.between(3, 9)));
            assert!((5..=70_000).contains(&rng.spread(5, 70_000)));
            assert_ne!(rng.weighted(&[3, 0, 1]), 1);
        }
    }
}
