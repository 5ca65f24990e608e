//! Time for people: RFC 3339 in UTC, and spans in few characters.

use relaymesh_core::utc::civil;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const DAY_MS: u64 = 86_400_000;

/// Milliseconds since 1970.
pub fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// `2026-11-16T08:15:30.250Z`.
pub fn rfc3339(unix_ms: u64) -> String {
    let (year, month, day) = civil(unix_ms / DAY_MS);
    let ms = unix_ms % DAY_MS;
    let (hour, minute, second) = (ms / 3_600_000, ms / 60_000 % 60, ms / 1000 % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{:03}Z", ms % 1000)
}

/// `250 ms`, `3.2 s`, `5 min`, `7 h`, `12 d`.
pub fn span(ms: u64) -> String {
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..60_000 => format!("{}.{} s", ms / 1000, ms % 1000 / 100),
        60_000..3_600_000 => format!("{} min", ms / 60_000),
        3_600_000..DAY_MS => format!("{} h", ms / 3_600_000),
        DAY_MS.. => format!("{} d", ms / DAY_MS),
    }
}

/// How long, as a person wrote it: `90s`, `15m`, `2h`, `7d`, `4w`.
pub fn duration(text: &str) -> Result<u64, String> {
    ago_ms(text).ok_or_else(|| format!("`{text}` is not a duration: use for example 90s, 15m, 2h, 7d"))
}

/// The time that a person wrote: `2026-11-16`, `2026-11-16T08:15:30Z` (UTC), or how long ago: `90s`, `15m`, `2h`, `7d`, `4w`.
pub fn parse(text: &str) -> Result<u64, String> {
    let found = ago_ms(text).map(|ago_ms| now_ms().saturating_sub(ago_ms)).or_else(|| date_ms(text));
    found.ok_or_else(|| {
        format!("`{text}` is not a time: use a date (2026-11-16), a time in UTC (2026-11-16T08:15:30Z) or an age (90s, 15m, 2h, 7d, 4w)")
    })
}

fn ago_ms(text: &str) -> Option<u64> {
    let unit = text.chars().last()?;
    let unit_ms = match unit {
        's' => 1_000,
        'm' => 60_000,
        'h' => 3_600_000,
        'd' => DAY_MS,
        'w' => 7 * DAY_MS,
        _ => return None,
    };
    number(&text[..text.len() - 1], 0..=u64::MAX)?.checked_mul(unit_ms)
}

fn date_ms(text: &str) -> Option<u64> {
    let text = text.strip_suffix('Z').unwrap_or(text);
    let (date, time) = text.split_once(['T', ' ']).unwrap_or((text, "00:00"));
    let parts: Vec<&str> = date.split('-').collect();
    let [year, month, day] = parts[..] else { return None };
    let date = (number(year, 1970..=9999)?, number(month, 1..=12)?, number(day, 1..=31)?);
    // Without its leap days the year begins too early: by fewer than two thousand days in the year 9999.
    let from = (date.0 - 1970) * 365;
    let days = (from..from + 3_100).find(|days| civil(*days) == date)?;
    let (clock, ms) = time.split_once('.').unwrap_or((time, "0"));
    let parts: Vec<&str> = clock.split(':').collect();
    let (hour, minute, second) = match parts[..] {
        [hour, minute] => (hour, minute, "0"),
        [hour, minute, second] => (hour, minute, second),
        _ => return None,
    };
    let ms: String = format!("{ms:0<3}").chars().take(3).collect();
    let seconds = (number(hour, 0..=23)? * 60 + number(minute, 0..=59)?) * 60 + number(second, 0..=59)?;
    Some(days * DAY_MS + seconds * 1000 + number(&ms, 0..=999)?)
}

fn number(text: &str, range: std::ops::RangeInclusive<u64>) -> Option<u64> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|number| is_plain && range.contains(number))
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
    fn what_is_printed_is_read_again() {
        for ms in [0, 951_782_400_000, 1_709_251_199_999, 4_107_542_400_123, 253_402_300_799_999] {
            assert_eq!(parse(&rfc3339(ms)), Ok(ms));
        }
        assert_eq!(parse("2024-03-01"), Ok(1_709_251_200_000));
        assert_eq!(parse("2024-03-01 00:01"), Ok(1_709_251_260_000));
        assert_eq!(parse("2024-03-01T00:00:00.5Z"), Ok(1_709_251_200_500));
        let (before, found, after) = (now_ms(), parse("2h").unwrap(), now_ms());
        assert!((before..=after).contains(&(found + 7_200_000)), "{before} {found} {after}");
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in [
            "",
            "h",
            "2024",
            "2024-02-30",
            "2024-13-01",
            "+5m",
            "5 m",
            "1x",
            "2024-03-01T25:00Z",
            "2024-03-01T00:00:00.éé",
            "99999999999999999999w",
            "é",
        ] {
            assert!(parse(text).is_err(), "{text}");
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
