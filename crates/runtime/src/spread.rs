//! A histogram that costs two additions to feed, from any thread, without a lock.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// How many values fell between which bounds, and what they add up to.
#[derive(Debug)]
pub struct Spread {
    bounds: &'static [u64],
    /// One for each bound, and one for what is greater than the last.
    counts: Box<[AtomicU64]>,
    sum: AtomicU64,
}

impl Spread {
    /// An empty one. The bounds grow; a value falls under the first that is not less than it.
    pub fn new(bounds: &'static [u64]) -> Self {
        Self { bounds, counts: (0..=bounds.len()).map(|_| AtomicU64::new(0)).collect(), sum: AtomicU64::new(0) }
    }

    /// Counts a value.
    pub fn add(&self, value: u64) {
        let place = self.bounds.partition_point(|bound| *bound < value);
        self.counts[place].fetch_add(1, Relaxed);
        self.sum.fetch_add(value, Relaxed);
    }

    /// How many values there are under each bound and not under the one before; last, without a bound, the rest.
    pub fn counts(&self) -> impl Iterator<Item = (Option<u64>, u64)> + '_ {
        let bounds = self.bounds.iter().copied().map(Some).chain([None]);
        bounds.zip(self.counts.iter().map(|count| count.load(Relaxed)))
    }

    /// What all values add up to.
    pub fn sum(&self) -> u64 {
        self.sum.load(Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_falls_under_the_first_bound_that_is_not_less() {
        let spread = Spread::new(&[1, 10]);
        for value in [0, 1, 2, 10, 11, 1_000] {
            spread.add(value);
        }
        assert_eq!(spread.counts().collect::<Vec<_>>(), [(Some(1), 2), (Some(10), 2), (None, 2)]);
        assert_eq!(spread.sum(), 1_024);
    }
}
