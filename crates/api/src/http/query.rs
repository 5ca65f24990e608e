//! Values in a query string.

use super::problem::Problem;
use crate::error::{Code, Error};
use axum::http::Uri;
use serde::{Deserialize, Deserializer, de};

/// The greatest whole number that every reader of JSON understands alike.
pub(super) const WHOLE_MAX: u64 = 9_007_199_254_740_991;

/// A whole number within bounds, as the document names them. Outside of them it is refused and not moved: a client that asks for a thousand
/// tasks and is given five hundred believes that there are no more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Whole<const MIN: u64, const MAX: u64>(pub(super) u64);

/// A position, an offset or a time.
pub(super) type Position = Whole<0, WHOLE_MAX>;

impl<const MIN: u64, const MAX: u64> Whole<MIN, MAX> {
    /// The number in this text.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
        let number = text.parse::<u64>().ok().filter(|number| is_plain && (MIN..=MAX).contains(number));
        number.map(Self).ok_or_else(|| format!("must be a whole number from {MIN} to {MAX}"))
    }

    /// As a number of things.
    pub(super) fn count(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

impl<'de, const MIN: u64, const MAX: u64> Deserialize<'de> for Whole<MIN, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}

/// Refuses a parameter that the operation does not have. One that is passed over in silence is one that somebody believes in.
pub(super) fn check(uri: &Uri, known: &[String]) -> Result<(), Problem> {
    if uri.query().is_none_or(str::is_empty) {
        return Ok(());
    }
    let given = axum::extract::Query::<Vec<(String, String)>>::try_from_uri(uri);
    let given = given.map_err(|_| Error::new(Code::Usage, "the query string cannot be read"))?;
    let Some((unknown, _)) = given.0.iter().find(|(name, _)| !known.contains(name)) else { return Ok(()) };
    let shown: String = unknown.chars().filter(|c| !c.is_control()).take(64).collect();
    let hint = match known {
        [] => "this operation has no query parameters".to_owned(),
        known => format!("query parameters of this operation: {}", known.join(", ")),
    };
    Err(Error::new(Code::Usage, format!("query string: unknown parameter `{shown}`")).hint(hint).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_taken_as_it_is_or_refused() {
        type Limit = Whole<1, 500>;
        assert_eq!(Limit::parse("500"), Ok(Whole(500)));
        for text in ["0", "501", "-1", "+1", "1.0", "ten", "", " 1", "99999999999999999999"] {
            assert_eq!(Limit::parse(text).unwrap_err(), "must be a whole number from 1 to 500", "{text}");
        }
        assert!(Position::parse("9007199254740991").is_ok() && Position::parse("9223372036854775808").is_err());
    }

    #[test]
    fn a_parameter_that_nobody_knows_is_refused_with_those_that_there_are() {
        let known = ["wait_ms".to_owned()];
        let told = |query: &str, known: &[String]| {
            let uri = format!("/api/v1/flows?{query}").parse().unwrap();
            check(&uri, known).map_err(|problem| (problem.error().message.clone(), problem.error().hints[0].clone()))
        };
        assert_eq!(told("", &[]), Ok(()));
        assert_eq!(told("wait_ms=1", &known), Ok(()));
        let (message, hint) = told("wait_ms=1&wait=2", &known).unwrap_err();
        assert_eq!(message, "query string: unknown parameter `wait`");
        assert_eq!(hint, "query parameters of this operation: wait_ms");
        let (message, hint) = told("a%0Ab", &[]).unwrap_err();
        assert_eq!(message, "query string: unknown parameter `ab`");
        assert_eq!(hint, "this operation has no query parameters");
    }
}
