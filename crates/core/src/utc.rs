//! Points in time as people read them, in UTC.

use std::fmt;

const DAY_MS: u64 = 86_400_000;

/// Milliseconds since 1970, shown as `2026-11-18 19:40:00 UTC`; with milliseconds unless they are 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Utc(pub u64);

impl fmt::Display for Utc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = civil(self.0 / DAY_MS);
        let ms = self.0 % DAY_MS;
        let (hour, minute, second) = (ms / 3_600_000, ms / 60_000 % 60, ms / 1000 % 60);
        write!(f, "{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}")?;
        match ms % 1000 {
            0 => write!(f, " UTC"),
            ms => write!(f, ".{ms:03} UTC"),
        }
    }
}

/// The year, month and day that are `days` after 1970-01-01, by counting in years that start on 1 March, so that the leap day is last.
pub fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468; // since 0000-03-01
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_times() {
        assert_eq!(Utc(0).to_string(), "1970-01-01 00:00:00 UTC");
        assert_eq!(Utc(1_709_251_199_999).to_string(), "2024-02-29 23:59:59.999 UTC");
        assert_eq!(Utc(4_107_542_400_000).to_string(), "2100-03-01 00:00:00 UTC");
        assert!(Utc(u64::MAX).to_string().ends_with(" UTC"));
    }

    #[test]
    fn every_day_follows_the_one_before() {
        let mut before = civil(0);
        for days in 1..200_000 {
            let (year, month, day) = civil(days);
            let next_day = (year, month, day) == (before.0, before.1, before.2 + 1);
            let next_month = day == 1 && (year, month) == (before.0, before.1 + 1);
            let next_year = (month, day) == (1, 1) && year == before.0 + 1 && (before.1, before.2) == (12, 31);
            assert!(next_day || next_month || next_year, "{before:?} then {:?}", (year, month, day));
            before = (year, month, day);
        }
    }
}
