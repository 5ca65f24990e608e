//! What people may write in short: a duration with its unit, a question without its deadline.

use crate::task::spec::Ask;
use serde::{
    Deserialize, Deserializer,
    de::{Error, MapAccess, Visitor, value::MapAccessDeserializer},
};
use std::fmt;

/// Units of time, in milliseconds. `ms` before `m` and `s`: the first that fits is taken.
const UNITS: [(&str, u64); 5] = [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];

/// A duration in milliseconds, as people write one.
pub fn duration<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    deserializer.deserialize_any(Duration)
}

struct Duration;

impl Visitor<'_> for Duration {
    type Value = Option<u64>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("milliseconds, or a duration like 500ms, 30s, 5m, 2h")
    }

    fn visit_unit<E: Error>(self) -> Result<Option<u64>, E> {
        Ok(None)
    }

    fn visit_none<E: Error>(self) -> Result<Option<u64>, E> {
        Ok(None)
    }

    fn visit_u64<E: Error>(self, ms: u64) -> Result<Option<u64>, E> {
        Ok(Some(ms))
    }

    fn visit_i64<E: Error>(self, ms: i64) -> Result<Option<u64>, E> {
        u64::try_from(ms).map(Some).map_err(|_| E::custom(format!("{ms} is less than nothing")))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Option<u64>, E> {
        let text = text.trim();
        let number = |(unit, ms): (&str, u64)| text.strip_suffix(unit)?.trim().parse::<u64>().ok()?.checked_mul(ms);
        let found = text.parse().ok().or_else(|| UNITS.into_iter().find_map(number));
        found.map(Some).ok_or_else(|| {
            let shown: String = text.chars().take(40).collect();
            E::custom(format!("`{shown}` is not a duration: write milliseconds, or 500ms, 30s, 5m, 2h"))
        })
    }
}

/// An ask.
pub(super) fn ask<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Ask>, D::Error> {
    deserializer.deserialize_any(Question)
}

struct Question;

impl<'de> Visitor<'de> for Question {
    type Value = Option<Ask>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a question, or {text, deadline}")
    }

    fn visit_unit<E: Error>(self) -> Result<Option<Ask>, E> {
        Ok(None)
    }

    fn visit_none<E: Error>(self) -> Result<Option<Ask>, E> {
        Ok(None)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Option<Ask>, E> {
        Ok(Some(Ask { text: text.to_owned(), deadline_ms: None }))
    }

    fn visit_map<M: MapAccess<'de>>(self, map: M) -> Result<Option<Ask>, M::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Whole {
            text: String,
            #[serde(default, alias = "deadline", deserialize_with = "duration")]
            deadline_ms: Option<u64>,
        }
        let Whole { text, deadline_ms } = Whole::deserialize(MapAccessDeserializer::new(map))?;
        Ok(Some(Ask { text, deadline_ms }))
    }
}
