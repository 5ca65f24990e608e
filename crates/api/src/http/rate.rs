//! How fast somebody may write (R24): a bucket for each token that fills at a rate.

use relaymesh_core::name::Name;
use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
    time::Instant,
};

/// Buckets that are kept; a full one need not be.
const BUCKETS_MAX: usize = 4_096;

/// A bucket for each name.
#[derive(Default)]
pub(super) struct Rate {
    buckets: Mutex<BTreeMap<Name, Bucket>>,
}

/// What is left, as of a moment.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Bucket {
    left: f64,
    at: Instant,
}

impl Rate {
    /// Takes one; `Err` says how many seconds to wait. A bucket holds what comes in one second.
    pub(super) fn take(&self, name: &Name, per_second: u64, now: Instant) -> Result<(), u64> {
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        #[allow(clippy::cast_precision_loss, reason = "the bounds of the setting are far below what is lost")]
        let rate = per_second as f64;
        if buckets.len() >= BUCKETS_MAX && !buckets.contains_key(name) {
            buckets.retain(|_, bucket| bucket.filled(rate, now) < rate);
        }
        let bucket = buckets.entry(name.clone()).or_insert(Bucket { left: rate, at: now });
        let left = bucket.filled(rate, now);
        *bucket = Bucket { left: if left >= 1.0 { left - 1.0 } else { left }, at: now };
        if left >= 1.0 {
            return Ok(());
        }
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 1 and the rate's inverse")]
        Err(((1.0 - left) / rate).ceil().max(1.0) as u64)
    }
}

impl Bucket {
    fn filled(&self, rate: f64, now: Instant) -> f64 {
        (self.left + now.saturating_duration_since(self.at).as_secs_f64() * rate).min(rate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn so_many_a_second_pass_and_each_token_has_its_own() {
        let (rate, start) = (Rate::default(), Instant::now());
        let at = |ms| start + Duration::from_millis(ms);
        let (ann, bob) = ("ann".parse().unwrap(), "bob".parse().unwrap());
        for _ in 0..5 {
            assert_eq!(rate.take(&ann, 5, at(0)), Ok(()));
        }
        assert_eq!(rate.take(&ann, 5, at(0)), Err(1));
        assert_eq!(rate.take(&bob, 5, at(0)), Ok(()), "one who asks too often is nobody else's fault");
        assert_eq!(rate.take(&ann, 5, at(199)), Err(1));
        assert_eq!(rate.take(&ann, 5, at(200)), Ok(()), "one fifth of a second fills one of five");
        assert_eq!(rate.take(&ann, 5, at(200)), Err(1));
        assert_eq!(rate.take(&ann, 5, at(100)), Err(1), "time that goes back fills nothing");
        for _ in 0..5 {
            assert_eq!(rate.take(&ann, 5, at(10_000)), Ok(()));
        }
        assert_eq!(rate.take(&ann, 5, at(10_000)), Err(1), "a bucket holds a second and no more");
    }
}
