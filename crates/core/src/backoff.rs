//! How long to wait before trying again: doubling, with a ceiling, plus jitter.
//!
//! `delay = min(max_ms, base_ms · 2^(attempt - 1)) + jitter_ms`, where the first try to fail is attempt 1.
//!
//! Doubling gives a thing that is down ever more room; the ceiling keeps a recovered one from being left alone for
//! an hour. Without jitter all that failed together comes back together and fails together again. The jitter is
//! added after the ceiling, not before it: at the ceiling is where the waiting crowd is largest. It is random, so
//! the caller draws it (at most [`JITTER_MS_MAX`]) and writes it down, and a replay waits just as long.

use serde::{Deserialize, Serialize};

/// The most jitter that a caller should draw, in milliseconds.
pub const JITTER_MS_MAX: u64 = 250;

/// The two numbers of a retry policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Backoff {
    /// The delay after the first failure.
    pub base_ms: u64,
    /// No delay is longer than this, jitter aside.
    pub max_ms: u64,
}

impl Default for Backoff {
    fn default() -> Self {
        Self { base_ms: 1_000, max_ms: 60_000 }
    }
}

impl Backoff {
    /// The delay after failed attempt number `attempt`, counted from 1; 0 is taken for 1.
    ///
    /// Stops at `u64::MAX` instead of overflowing, whatever the policy says.
    pub const fn delay_ms(&self, attempt: u32, jitter_ms: u64) -> u64 {
        let factor = 2_u64.saturating_pow(attempt.saturating_sub(1));
        let delay_ms = self.base_ms.saturating_mul(factor);
        let capped_ms = if delay_ms < self.max_ms { delay_ms } else { self.max_ms };
        capped_ms.saturating_add(jitter_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn default_policy_doubles_from_a_second_to_a_minute() {
        let delays: Vec<u64> = (0..=9).map(|attempt| Backoff::default().delay_ms(attempt, 0)).collect();
        assert_eq!(delays, [1000, 1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000, 60_000]);
    }

    #[test]
    fn jitter_comes_on_top_of_the_ceiling() {
        assert_eq!(Backoff::default().delay_ms(1, 250), 1250);
        assert_eq!(Backoff::default().delay_ms(u32::MAX, 250), 60_250);
    }

    #[test]
    fn odd_policies_keep_to_the_formula() {
        for (base_ms, max_ms, attempt, expected) in [
            (0, 60_000, 40, 0),
            (5, 3, 1, 3),
            (7, 0, 9, 0),
            (1, u64::MAX, 64, 1 << 63),
            (1, u64::MAX, 65, u64::MAX),
            (u64::MAX, u64::MAX, 2, u64::MAX),
        ] {
            assert_eq!(Backoff { base_ms, max_ms }.delay_ms(attempt, 0), expected, "{base_ms} {max_ms} {attempt}");
        }
    }

    proptest! {
        #[test]
        fn delay_is_the_formula_in_wide_arithmetic(base_ms: u64, max_ms: u64, attempt in 1..64u32, jitter_ms: u64) {
            let wide = (u128::from(base_ms) << (attempt - 1)).min(max_ms.into()) + u128::from(jitter_ms);
            let expected = u64::try_from(wide).unwrap_or(u64::MAX);
            prop_assert_eq!(Backoff { base_ms, max_ms }.delay_ms(attempt, jitter_ms), expected);
        }

        #[test]
        fn later_attempts_never_wait_less_and_never_beyond_the_ceiling(
            base_ms: u64, max_ms: u64, attempt: u32, later: u32, jitter_ms: u64,
        ) {
            let backoff = Backoff { base_ms, max_ms };
            let (first, second) = (attempt.min(later), attempt.max(later));
            let (first, second) = (backoff.delay_ms(first, jitter_ms), backoff.delay_ms(second, jitter_ms));
            prop_assert!(first <= second && second <= max_ms.saturating_add(jitter_ms));
        }
    }
}
