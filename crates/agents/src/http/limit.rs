//! What a refusal means: whether to come again, and until when to leave the provider alone.
//!
//! Providers say it in a dozen headers and in words. What they say outright (`Retry-After`) goes before what can be worked out from their counters; of
//! counters, those that are used up count. Who says nothing is left alone for a while that doubles (`held` in the runtime).

use crate::{
    end::End,
    tool::{Stop, limit, text},
};
use jiff::{Timestamp, Zoned};
use reqwest::header::HeaderMap;
use serde_json::Value;
use std::time::UNIX_EPOCH;

/// The longest message of somebody else that is repeated.
const MESSAGE_CHARS_MAX: usize = 400;

/// Names of errors that mean: not now.
const NOT_NOW: [&str; 8] = [
    "insufficient_quota",
    "overloaded_error",
    "rate_limit_error",
    "rate_limit_exceeded",
    "resource_exhausted",
    "server_is_overloaded",
    "slow_down",
    "usage_limit_reached",
];
/// Names of errors that another attempt would meet again.
const FOR_GOOD: [&str; 7] = [
    "authentication_error",
    "billing_error",
    "context_length_exceeded",
    "invalid_api_key",
    "invalid_request_error",
    "not_found_error",
    "permission_error",
];

/// An error in the words of whoever answered.
#[derive(Debug, Clone, PartialEq)]
pub struct Refusal {
    /// Its names, for programs.
    kinds: Vec<String>,
    /// For people.
    pub message: String,
    /// Until when, in milliseconds since 1970, if a field says so.
    until_ms: Option<u64>,
}

impl Refusal {
    /// The error in this document: `{"error": {"type", "code", "message"}}`, or something like it.
    pub fn of(value: &Value) -> Self {
        let error = value.get("error").filter(|error| !error.is_null()).unwrap_or(value);
        let places = ["/message", "/error", "/detail", "/title", "/error_description"];
        let message = error.as_str().or_else(|| places.iter().find_map(|place| text(error, place)));
        let names = ["/type", "/code", "/status"].iter().filter_map(|place| text(error, place));
        let kinds: Vec<String> = names.map(str::to_lowercase).collect();
        let said = message.or(kinds.first().map(String::as_str)).unwrap_or("it gave no reason");
        let until_ms = error.get("resets_at").and_then(Value::as_u64).and_then(|seconds| seconds.checked_mul(1_000));
        Self { message: short(said), kinds, until_ms }
    }

    /// The error in these bytes, whatever they are.
    fn read(body: &[u8]) -> Self {
        match serde_json::from_slice::<Value>(body) {
            Ok(value @ (Value::Object(_) | Value::String(_))) => Self::of(&value),
            _ => {
                let text = String::from_utf8_lossy(body);
                let is_page = text.trim_start().starts_with('<');
                let line = text.lines().map(str::trim).find(|line| !line.is_empty()).filter(|_| !is_page);
                let message = line.map_or_else(|| "it gave no reason".to_owned(), short);
                Self { kinds: Vec::new(), message, until_ms: None }
            }
        }
    }

    /// Whether another attempt would meet it again.
    pub fn is_for_good(&self) -> bool {
        self.kinds.iter().any(|kind| FOR_GOOD.contains(&kind.as_str()))
    }

    /// How an answer ends that ends with this.
    pub fn stop(&self, now: &Zoned) -> Stop {
        let is_named = self.kinds.iter().any(|kind| NOT_NOW.contains(&kind.as_str()));
        let stop = if is_named { limit::limited(&self.message, now) } else { limit::stop(&self.message, now) };
        match stop {
            Stop::Limited { message, until_ms } => Stop::Limited { message, until_ms: self.until_ms.or(until_ms) },
            stop @ (Stop::Done | Stop::Failed(_)) => stop,
        }
    }
}

/// How an attempt ended that was answered with this status, which is not one of success.
pub fn refused(status: u16, headers: &HeaderMap, body: &[u8], now: &Zoned) -> End {
    let refusal = Refusal::read(body);
    let until_ms = until_ms(headers, now);
    let message = &refusal.message;
    let words = if message.is_empty() { String::new() } else { format!(": {message}") };
    let stop = refusal.stop(now);
    let is_limit = match status {
        429 | 529 => true,
        503 => until_ms.is_some() || matches!(stop, Stop::Limited { .. }),
        // Only what is named: a sentence about limits may be about the length of the request.
        _ => refusal.kinds.iter().any(|kind| NOT_NOW.contains(&kind.as_str())),
    };
    if is_limit {
        let said_ms = match stop {
            Stop::Limited { until_ms, .. } => until_ms,
            Stop::Done | Stop::Failed(_) => None,
        };
        let reason = format!("the provider refused the request with status {status}{words}");
        return End::Limited { reason, until_ms: refusal.until_ms.or(until_ms).or(said_ms) };
    }
    let retryable = matches!(status, 408 | 425 | 500..) && !refusal.is_for_good();
    let hint = match status {
        401 | 403 => "; check its `key`",
        404 | 405 => "; check its `url`",
        _ => "",
    };
    End::Failed { error: format!("it answered with status {status}{words}{hint}"), retryable }
}

/// How an attempt ended that was sent elsewhere. Nobody is followed: the key, and the input, are for the server that the file names.
pub fn redirected(status: u16, headers: &HeaderMap) -> End {
    let to = headers.get("location").and_then(|place| place.to_str().ok()).map(short);
    let to = to.map_or_else(
        || "nowhere".to_owned(),
        |place| format!("to {}", place.split(['?', '#']).next().unwrap_or_default()),
    );
    let error = format!(
        "it answered with status {status}, a redirect {to}; redirects are not followed: if it is right, use it as `url`"
    );
    End::Failed { error, retryable: false }
}

/// The beginning of time, for those who must not depend on it.
pub fn epoch() -> Zoned {
    Timestamp::UNIX_EPOCH.to_zoned(jiff::tz::TimeZone::UTC)
}

/// Until when these headers say to wait, in milliseconds since 1970.
pub fn until_ms(headers: &HeaderMap, now: &Zoned) -> Option<u64> {
    let now_ms = u64::try_from(now.timestamp().as_millisecond()).ok()?;
    let value = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    let later = |seconds: f64| now_ms.checked_add(milliseconds(seconds)?);
    if let Some(wait_ms) = value("retry-after-ms").and_then(|text| text.parse::<f64>().ok()) {
        return later(wait_ms / 1_000.0);
    }
    if let Some(text) = value("retry-after") {
        let date =
            || u64::try_from(httpdate::parse_http_date(text).ok()?.duration_since(UNIX_EPOCH).ok()?.as_millis()).ok();
        let until = text.parse::<f64>().ok().and_then(later).or_else(date);
        if until.is_some() {
            return until;
        }
    }
    let mut used_up = None;
    let mut others: Option<u64> = None;
    for (name, value) in headers {
        let Some((counter, remaining)) = counter(name.as_str()) else { continue };
        let Some(until) = value.to_str().ok().and_then(|text| reset(text.trim(), now_ms)) else { continue };
        let is_used_up = headers.get(remaining).is_some_and(|left| left.as_bytes() == b"0");
        if is_used_up || counter == "unified" {
            used_up = used_up.max(Some(until));
        } else {
            others = Some(others.map_or(until, |known| known.min(until)));
        }
    }
    used_up.or(others)
}

/// What a header says the reset of, and the header that says what is left of it.
fn counter(header: &str) -> Option<(&str, String)> {
    if matches!(header, "x-ratelimit-reset" | "ratelimit-reset") {
        return Some(("all", header.replace("reset", "remaining")));
    }
    if let Some(what) = header.strip_prefix("x-ratelimit-reset-") {
        return Some((what, format!("x-ratelimit-remaining-{what}")));
    }
    let what = header.strip_prefix("anthropic-ratelimit-")?.strip_suffix("-reset")?;
    Some((what, format!("anthropic-ratelimit-{what}-remaining")))
}

/// A moment: RFC 3339, seconds since 1970, seconds from now, or a span like `1m30s`, `20ms`.
fn reset(text: &str, now_ms: u64) -> Option<u64> {
    /// More seconds than this are since 1970, fewer are from now.
    const SINCE_1970: f64 = 1e9;
    if let Ok(seconds) = text.parse::<f64>() {
        let ms = milliseconds(seconds)?;
        return if seconds >= SINCE_1970 { Some(ms) } else { now_ms.checked_add(ms) };
    }
    if let Ok(moment) = text.parse::<Timestamp>() {
        return u64::try_from(moment.as_millisecond()).ok();
    }
    let mut seconds = 0.0;
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let count: f64 = rest[..digits].parse().ok()?;
        rest = &rest[digits..];
        let letters = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        seconds += count
            * match &rest[..letters] {
                "d" => 86_400.0,
                "h" => 3_600.0,
                "m" => 60.0,
                "s" => 1.0,
                "ms" => 0.001,
                _ => return None,
            };
        rest = &rest[letters..];
    }
    now_ms.checked_add(milliseconds(seconds)?).filter(|_| !text.is_empty())
}

fn milliseconds(seconds: f64) -> Option<u64> {
    (seconds.is_finite() && (0.0..1e12).contains(&seconds)).then(|| (seconds * 1_000.0).ceil() as u64)
}

/// In few words, on one line.
fn short(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(MESSAGE_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn now() -> Zoned {
        "2026-09-21T08:00:00[UTC]".parse().unwrap()
    }

    type Pairs<'a> = &'a [(&'static str, &'a str)];

    fn headers(pairs: Pairs<'_>) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    #[test]
    fn every_way_to_say_until_when_is_understood() {
        let cases: [(Pairs<'_>, Option<&str>); 20] = [
            (&[], None),
            (&[("retry-after", "30")], Some("08:00:30")),
            (&[("retry-after", "0.5")], Some("08:00:00.500")),
            (&[("retry-after", "Mon, 21 Sep 2026 08:10:00 GMT")], Some("08:10:00")),
            (&[("retry-after", "soon")], None),
            (&[("retry-after", "-5")], None),
            (&[("retry-after", "1e300")], None),
            (&[("retry-after-ms", "1500"), ("retry-after", "30")], Some("08:00:01.500")),
            (&[("x-ratelimit-reset-requests", "1m30s")], Some("08:01:30")),
            (&[("x-ratelimit-reset-tokens", "20ms")], Some("08:00:00.020")),
            (&[("x-ratelimit-reset-tokens", "6m0s"), ("x-ratelimit-reset-requests", "8.64s")], Some("08:00:08.640")),
            (
                &[
                    ("x-ratelimit-reset-tokens", "6m0s"),
                    ("x-ratelimit-remaining-tokens", "0"),
                    ("x-ratelimit-reset-requests", "8.64s"),
                    ("x-ratelimit-remaining-requests", "7"),
                ],
                Some("08:06:00"),
            ),
            (&[("anthropic-ratelimit-tokens-reset", "2026-09-21T08:00:45Z")], Some("08:00:45")),
            (
                &[
                    ("anthropic-ratelimit-requests-reset", "2026-09-21T08:02:00Z"),
                    ("anthropic-ratelimit-requests-remaining", "0"),
                    ("anthropic-ratelimit-tokens-reset", "2026-09-21T09:00:00Z"),
                    ("anthropic-ratelimit-tokens-remaining", "100"),
                ],
                Some("08:02:00"),
            ),
            (&[("anthropic-ratelimit-unified-reset", "1790000000")], Some("14:13:20")),
            (&[("x-ratelimit-reset", "60")], Some("08:01:00")),
            (&[("retry-after", "5"), ("x-ratelimit-reset-tokens", "6m0s")], Some("08:00:05")),
            (&[("retry-after", "soon"), ("x-ratelimit-reset-tokens", "1s")], Some("08:00:01")),
            (&[("x-ratelimit-reset-tokens", "5 parsecs")], None),
            (&[("x-ratelimit-reset-tokens", "")], None),
        ];
        for (pairs, expected) in cases {
            let expected = expected.map(|time| format!("2026-09-21T{time}Z").parse::<Timestamp>().unwrap());
            let found = until_ms(&headers(pairs), &now());
            assert_eq!(found, expected.map(|time| time.as_millisecond() as u64), "{pairs:?}");
        }
    }

    fn end(status: u16, pairs: Pairs<'_>, body: &Value) -> End {
        refused(status, &headers(pairs), body.to_string().as_bytes(), &now())
    }

    #[test]
    fn a_refusal_is_for_good_or_for_now_or_a_hold() {
        let error = |kind: &str, message: &str| json!({ "error": { "type": kind, "message": message } });
        let failed = |status, body: Value| match end(status, &[], &body) {
            End::Failed { error, retryable } => (retryable, error),
            other @ (End::Done { .. } | End::Limited { .. }) => panic!("{status}: {other:?}"),
        };
        for (status, retryable) in [
            (400, false),
            (401, false),
            (404, false),
            (408, true),
            (409, false),
            (422, false),
            (425, true),
            (500, true),
            (502, true),
            (503, true),
            (504, true),
        ] {
            let (found, words) = failed(status, error("x", "because"));
            assert_eq!(found, retryable, "{status}");
            assert!(words.contains(&format!("status {status}: because")), "{words}");
        }
        assert!(!failed(500, error("invalid_request_error", "no such model")).0);
        assert!(failed(401, json!({})).1.contains("`key`"));
        assert!(
            failed(400, error("invalid_request_error", "over the rate limit of words"))
                .1
                .contains("over the rate limit")
        );
        assert!(failed(500, json!("<html>")).1.ends_with("<html>"));
        let limited = |status, pairs: Pairs<'_>, body: Value| match end(status, pairs, &body) {
            End::Limited { reason, until_ms } => (until_ms, reason),
            other @ (End::Done { .. } | End::Failed { .. }) => panic!("{status}: {other:?}"),
        };
        let at = |seconds: u64| Some(now().timestamp().as_millisecond() as u64 + seconds * 1_000);
        assert_eq!(limited(429, &[("retry-after", "7")], json!({})).0, at(7));
        assert_eq!(limited(429, &[], json!({})).0, None);
        assert_eq!(limited(429, &[], error("rate_limit_error", "Please try again in 20s.")).0, at(20));
        assert_eq!(limited(529, &[], error("overloaded_error", "Overloaded")).0, None);
        assert_eq!(limited(503, &[("retry-after", "2")], json!({})).0, at(2));
        assert_eq!(limited(503, &[], error("x", "The engine is currently overloaded")).0, None);
        let usage = json!({ "error": { "type": "usage_limit_reached", "message": "m", "resets_at": 1_790_000_000 } });
        assert_eq!(limited(403, &[], usage).0, Some(1_790_000_000_000));
    }

    #[test]
    fn a_redirect_names_where_it_points_and_no_more() {
        let End::Failed { error, retryable: false } =
            redirected(307, &headers(&[("location", "https://evil.example/x?token=1")]))
        else {
            panic!("it is an error for good")
        };
        assert!(error.contains("https://evil.example/x;") && !error.contains("token"), "{error}");
    }

    #[test]
    fn a_long_message_is_repeated_in_part() {
        let body = "x y\n".repeat(1_000);
        let End::Failed { error, .. } =
            refused(400, &HeaderMap::new(), json!({ "message": body }).to_string().as_bytes(), &now())
        else {
            panic!("it is an error")
        };
        assert!(error.len() < 500 && !error.contains('\n'), "{error}");
    }
}
