//! Time for people: RFC 3339 in UTC, and spans in few characters.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

const DAY_MS: u64 = 86_400_000;

/// Milliseconds since 1970.
pub(crate) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// `2026-11-16T08:15:30.250Z`.
pub(crate) fn rfc3339(unix_ms: u64) -> String {
    let (year, month, day) = civil(unix_ms / DAY_MS);
    let ms = unix_ms % DAY_MS;
    let (hour, minute, second) = (ms / 3_600_000, ms / 60_000 % 60, ms / 1000 % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{:03}Z", ms % 1000)
}

/// `250 ms`, `3.2 s`, `5 min`, `7 h`, `12 d`.
pub(crate) fn span(ms: u64) -> String {
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..60_000 => format!("{}.{} s", ms / 1000, ms % 1000 / 100),
        60_000..3_600_000 => format!("{} min", ms / 60_000),
        3_600_000..DAY_MS => format!("{} h", ms / 3_600_000),
        DAY_MS.. => format!("{} d", ms / DAY_MS),
    }
}

/// The date that is `days` after 1970-01-01, by counting in years that start on 1 March, so that the leap day is last.
fn civil(days: u64) -> (u64, u64, u64) {
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
    fn known_dates() {
        assert_eq!(rfc3339(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(rfc3339(951_782_400_000), "2000-02-29T00:00:00.000Z");
        assert_eq!(rfc3339(1_709_251_199_999), "2024-02-29T23:59:59.999Z");
        assert_eq!(rfc3339(1_709_251_200_000), "2024-03-01T00:00:00.000Z");
        assert_eq!(rfc3339(4_107_542_400_000), "2100-03-01T00:00:00.000Z");
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

    #[test]
    fn spans() {
        assert_eq!(
            ["0 ms", "1.5 s", "2 min", "3 h", "4 d"],
            [0, 1_590, 150_000, 10_900_000, 350_000_000].map(span)[..]
        );
    }
}
