//! How long to wait before trying again: doubling, with a ceiling, plus jitter.
//!
//! `delay = min(max_ms, base_ms · 2^(attempt - 1)) + jitter_ms`, where the first try to fail is attempt 1.
//!
//! Doubling gives a thing that is down ever more room; the ceiling keeps a recovered one from being left alone for
//! an hour. Without jitter all that failed together comes back together and fails together again. The jitter is
//! added after the ceiling, not before it: at the ceiling is where the waiting crowd is largest. It is random, so
//! the caller draws it ([`Backoff::jitter_ms`]) and writes it down, and a replay waits just as long.
//!
//! The jitter is a share of the delay. A fixed one is the tempting choice: 250 ms are plenty after 100 ms, and after a
//! minute they bring three hundred steps back within the same quarter of a second.

use serde::{Deserialize, Serialize};

/// The jitter is at most the delay divided by this.
const JITTER_DIVISOR: u64 = 2;

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

    /// The jitter for the delay after that attempt: anything up to half of it, by this random number.
    pub fn jitter_ms(&self, attempt: u32, drawn: u128) -> u32 {
        let most = (self.delay_ms(attempt, 0) / JITTER_DIVISOR).min(u32::MAX.into());
        u32::try_from(drawn % u128::from(most + 1)).unwrap_or(u32::MAX)
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
    fn r19_the_jitter_is_up_to_half_of_the_delay() {
        let policy = Backoff { base_ms: 5_000, max_ms: 60_000 };
        for (attempt, most) in [(1, 2_500), (2, 5_000), (9, 30_000)] {
            let drawn: Vec<u32> = (0..=most).map(|drawn| policy.jitter_ms(attempt, u128::from(drawn))).collect();
            assert_eq!((drawn[0], drawn.iter().max()), (0, Some(&most)));
            assert_eq!(policy.jitter_ms(attempt, u128::from(most) + 1), 0);
        }
        // What comes back together is spread over half of what it waited.
        let random = |n: u128| n.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835) >> 64;
        let mut due: Vec<u64> = (1..=300).map(|n| policy.delay_ms(1, policy.jitter_ms(1, random(n)).into())).collect();
        due.sort_unstable();
        assert!(due[0] >= 5_000 && due[299] <= 7_500 && due[270] - due[30] > 1_600, "{due:?}");
        assert_eq!(Backoff { base_ms: 0, max_ms: 9 }.jitter_ms(4, u128::MAX), 0);
        assert_eq!(
            Backoff { base_ms: u64::MAX, max_ms: u64::MAX }.jitter_ms(1, u128::MAX),
            u32::MAX,
            "what an op can carry"
        );
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
