//! Whether words of a tool mean that its provider will not serve it for a while, and until when.
//!
//! Some tools say so in a field; the others say it in a sentence for people. What is not recognised is an ordinary failure: it costs an
//! attempt, which is the smaller mistake.

use super::Stop;
use jiff::{SignedDuration, Span, ToSpan as _, Zoned, civil, fmt::strtime};

/// Words that mean it.
const WORDS: [&str; 13] = [
    "usage limit",
    "rate limit",
    "rate_limit",
    "limit reached",
    "hit your limit",
    "too many requests",
    "high demand",
    "overloaded",
    "resource_exhausted",
    "rate limited",
    "exceeded your current quota",
    "exhausted your",
    "quota increase",
];

/// How long ago a time of day may be and still mean today.
const JUST_PASSED: SignedDuration = SignedDuration::from_mins(5);

/// How a run ended that ended with these words.
pub(crate) fn stop(message: &str, now: &Zoned) -> Stop {
    let lower = message.to_lowercase();
    if WORDS.iter().any(|word| lower.contains(word)) { limited(message, now) } else { Stop::Failed(message.to_owned()) }
}

/// The end of a run that was turned away with these words.
pub(crate) fn limited(message: &str, now: &Zoned) -> Stop {
    Stop::Limited { message: message.to_owned(), until_ms: until_ms(message, now) }
}

/// Until when, if the words say so: a Unix time after a bar, "try again at …", "try again in …", "retry in …", "resets …".
fn until_ms(message: &str, now: &Zoned) -> Option<u64> {
    if let Some((_, seconds)) = message.rsplit_once('|')
        && let Ok(seconds) = seconds.trim().parse::<u64>()
    {
        return seconds.checked_mul(1_000);
    }
    let lower = message.to_lowercase();
    let after = |mark: &str| lower.find(mark).map(|at| lower[at + mark.len()..].trim_start());
    let at = after("try again at ").or_else(|| after("resets at ")).or_else(|| after("resets "));
    let within = after("try again in ").or_else(|| after("retry in "));
    let until = match (at, within) {
        (Some(words), _) => moment(words, now),
        (None, Some(words)) => now.checked_add(span(words)?).ok(),
        (None, None) => None,
    };
    until.and_then(|until| u64::try_from(until.timestamp().as_millisecond()).ok())
}

/// "3 days 2 hours 5 minutes", "30s".
fn span(words: &str) -> Option<Span> {
    let mut span = Span::new();
    let mut words =
        words.split(|c: char| c.is_whitespace() || c == ',').filter(|word| !word.is_empty() && *word != "and");
    let mut found = None;
    while let Some(word) = words.next() {
        let digits = word.find(|c: char| !c.is_ascii_digit()).unwrap_or(word.len());
        let Ok(count) = word[..digits].parse::<i32>() else { break };
        let unit = if digits < word.len() { &word[digits..] } else { words.next()? };
        span = match unit.trim_end_matches(['.', '!']) {
            "d" | "day" | "days" => span.try_days(count),
            "h" | "hr" | "hour" | "hours" => span.try_hours(count),
            "m" | "min" | "minute" | "minutes" => span.try_minutes(count),
            "s" | "sec" | "second" | "seconds" => span.try_seconds(count),
            _ => break,
        }
        .ok()?;
        found = Some(span);
    }
    found
}

/// "sep 21st, 2026 2:13 pm", "oct 9, 5pm (europe/berlin)", "2:13 pm", "3pm": the next such moment.
fn moment(words: &str, now: &Zoned) -> Option<Zoned> {
    let zone = words.split_once('(').and_then(|(_, rest)| rest.split_once(')')).map(|(zone, _)| zone);
    let now = zone.and_then(|zone| now.in_tz(zone).ok()).unwrap_or_else(|| now.clone());
    let words = words.split('(').next().unwrap_or_default().replace(',', " ");
    let mut words: Vec<String> = words.split_whitespace().map(|word| word.trim_end_matches('.').to_owned()).collect();
    let end = words.iter().position(|word| word.ends_with("am") || word.ends_with("pm"))?;
    words.truncate(end + 1);
    let mut clock = words.pop()?;
    if clock.len() == 2 {
        clock = format!("{}{clock}", words.pop()?);
    }
    if !clock.contains(':') {
        clock.insert_str(clock.len() - 2, ":00");
    }
    let time = civil::Time::strptime("%I:%M%p", &clock).ok()?;
    if words.is_empty() {
        let today = now.date().to_datetime(time).to_zoned(now.time_zone().clone()).ok()?;
        // It says the minute alone: one that has just passed is now, and not tomorrow.
        let is_over = today < now.checked_sub(JUST_PASSED).ok()?;
        return if is_over { today.checked_add(1.day()).ok() } else { Some(today) };
    }
    let day: String = words.get(1)?.chars().take_while(char::is_ascii_digit).collect();
    let named = words.get(2).cloned();
    let date = |year: &str| strtime::parse("%b %d %Y", format!("{} {day} {year}", words[0])).ok()?.to_date().ok();
    let at = |year: &str| date(year)?.to_datetime(time).to_zoned(now.time_zone().clone()).ok();
    match named {
        Some(year) => at(&year),
        None => at(&now.year().to_string()).filter(|at| *at > now).or_else(|| at(&(now.year() + 1).to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_limit_is_found_in_the_words_of_each_tool() {
        let now: Zoned = "2026-09-21T10:00:00[Europe/Berlin]".parse().unwrap();
        let cases = [
            ("Claude AI usage limit reached|1790000000", Some("2026-09-21T16:13:20[Europe/Berlin]")),
            (
                "You've hit your usage limit. Try again at Sep 23rd, 2026 2:13 PM.",
                Some("2026-09-23T14:13[Europe/Berlin]"),
            ),
            ("usage limit. Try again at 2:13 PM.", Some("2026-09-21T14:13[Europe/Berlin]")),
            ("usage limit, try again at 9:58 AM", Some("2026-09-21T09:58[Europe/Berlin]")),
            ("usage limit, try again at 9:00 AM", Some("2026-09-22T09:00[Europe/Berlin]")),
            ("You've hit your limit · resets 3pm (America/New_York)", Some("2026-09-21T15:00[America/New_York]")),
            ("limit reached ∙ resets Oct 9, 5pm", Some("2026-10-09T17:00[Europe/Berlin]")),
            ("limit reached, resets Jan 2, 12am", Some("2027-01-02T00:00[Europe/Berlin]")),
            ("rate limit: try again in 2 days 3 hours 5 minutes.", Some("2026-09-23T13:05[Europe/Berlin]")),
            ("Rate limit reached. Please try again in 20s.", Some("2026-09-21T10:00:20[Europe/Berlin]")),
            ("You exceeded your current quota. Please retry in 7200s.", Some("2026-09-21T12:00[Europe/Berlin]")),
            ("You have exhausted your daily quota on this model.", None),
            ("exceeded retry limit, last status: 429 Too Many Requests", None),
            ("rate limit, try again at some time", None),
            ("rate limit, try again in no time", None),
            ("rate limit, resets Xyz 99, 5pm", None),
        ];
        for (words, until) in cases {
            let until_ms = until.map(|text| text.parse::<Zoned>().unwrap().timestamp().as_millisecond() as u64);
            assert_eq!(stop(words, &now), Stop::Limited { message: words.to_owned(), until_ms }, "{words}");
        }
        assert_eq!(stop("no such file", &now), Stop::Failed("no such file".to_owned()));
    }
}
