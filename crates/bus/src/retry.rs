//! How long to wait before a remote call is made again (V7).
//!
//! `delay = min(max_ms, base_ms · 2^retry + jitter_ms)`, where the first retry has number 0: 0.5 s, 1 s, 2 s, … up to 30 s.
//!
//! A sibling of [`backoff`](relaymesh_core::backoff), which paces the attempts of a step: here the ceiling holds for everything,
//! jitter included, because the source caps the sum. The jitter is random, so the caller draws it, at most
//! [`jitter_ms_max`](Retry::jitter_ms_max).

use serde::{Deserialize, Serialize};

/// The numbers of a retry policy for remote calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Retry {
    /// The delay before the first retry.
    pub base_ms: u64,
    /// The most jitter that a caller should draw.
    pub jitter_ms_max: u64,
    /// No delay is longer than this.
    pub max_ms: u64,
}

impl Default for Retry {
    fn default() -> Self {
        Self { base_ms: 500, jitter_ms_max: 500, max_ms: 30_000 }
    }
}

impl Retry {
    /// The delay before retry number `retry`, from 0. Jitter above the most is cut down to it.
    pub const fn delay_ms(&self, retry: u32, jitter_ms: u64) -> u64 {
        let jitter_ms = if jitter_ms < self.jitter_ms_max { jitter_ms } else { self.jitter_ms_max };
        let delay_ms = self.base_ms.saturating_mul(2_u64.saturating_pow(retry)).saturating_add(jitter_ms);
        if delay_ms < self.max_ms { delay_ms } else { self.max_ms }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn v7_the_delays_of_the_source() {
        let delays: Vec<u64> = (0..8).map(|retry| Retry::default().delay_ms(retry, 0)).collect();
        assert_eq!(delays, [500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
        assert_eq!(Retry::default().delay_ms(1, 499), 1_499);
        assert_eq!(Retry::default().delay_ms(1, 9_999), 1_500, "no more jitter than there may be");
        assert_eq!(Retry::default().delay_ms(u32::MAX, 500), 30_000, "the ceiling is over the jitter, too");
    }

    proptest! {
        #[test]
        fn v7_the_formula_in_wide_arithmetic(base_ms: u64, jitter_ms_max: u64, max_ms: u64, retry in 0..64u32, jitter_ms: u64) {
            let wide = (u128::from(base_ms) << retry) + u128::from(jitter_ms.min(jitter_ms_max));
            let expected = u64::try_from(wide.min(max_ms.into())).unwrap_or(u64::MAX);
            prop_assert_eq!(Retry { base_ms, jitter_ms_max, max_ms }.delay_ms(retry, jitter_ms), expected);
        }
    }
}
