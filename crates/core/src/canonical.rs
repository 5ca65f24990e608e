//! Canonical JSON (RFC 8785): one value, one sequence of bytes, so that a hash can stand for the value.
//!
//! The encoder is a library and passes the vectors of the RFC. What it does not do is refuse. RFC 8785 knows one
//! kind of number, the IEEE double, and a whole number beyond ±(2^53 − 1) is silently rounded to the next double:
//! two payloads, one fingerprint, and the second caller gets the first one's result. So every value is checked
//! before it is encoded, and every text before it is a value.
//!
//! The check is one rule on both sides: **a number that is written as plain digits lies within ±(2^53 − 1).** That
//! covers integers, and also doubles from 2^53 up to 10^21, because the RFC writes those as plain digits; from 10^21
//! on it writes an exponent, they can be nothing but doubles, and they pass. It follows that what [`to_vec`] gives
//! out [`parse`] takes back, and that a hash is only ever made of something that can be read again.
//!
//! The other leniencies of JSON parsers end here as well: of two equal keys the last one wins, or the first, or
//! both, depending on who reads; deep nesting is a cheap way to use up a stack. [`parse`] refuses both.

mod strict;

pub(crate) use strict::optional;
pub use strict::parse;

use serde::Serialize;
use serde_json::{Number, Value};
use sha2::{Digest, Sha256};

/// The greatest whole number that is not rounded and has no neighbour that is rounded to it: 2^53 − 1.
pub const MAX_SAFE_INTEGER: u64 = (1 << 53) - 1;

/// How many arrays and objects may be inside each other. `[[1]]` is two deep.
pub const MAX_DEPTH: usize = 64;

/// From here on RFC 8785 writes a number with an exponent.
const EXPONENT_FORM_MIN: f64 = 1e21;

/// Why a value has no canonical form, or a text is no value. The caller has to change what it sends.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A whole number that others would round.
    #[error("the number {found} at {at} is beyond ±9007199254740991 and would be rounded: send it as a string")]
    Integer {
        /// The number, cut at 40 characters.
        found: String,
        /// Where: a JSON pointer in backticks, `the top level`, or a line and a column.
        at: String,
    },
    /// The same key twice in one object.
    #[error("the key `{key}` occurs twice in one object, the second time at line {line} column {column}")]
    DuplicateKey {
        /// The key, cut at 40 characters.
        key: String,
        /// The line of the second one, from 1.
        line: usize,
        /// The column just after the second one.
        column: usize,
    },
    /// Too many arrays and objects inside each other.
    #[error("arrays and objects are nested more than {MAX_DEPTH} deep at {at}")]
    Depth {
        /// Where: a JSON pointer in backticks, or a line and a column.
        at: String,
    },
    /// The text is not JSON, is more than one JSON value, or has a number too great for a double.
    #[error("not valid JSON: {message}")]
    Syntax {
        /// What the parser found, with line and column.
        message: String,
    },
    /// The encoder failed on a value that passed the check: a defect in RelayMesh.
    #[error("the canonical form could not be written: {message}")]
    Encode {
        /// What the encoder said.
        message: String,
    },
}

/// The canonical bytes of a value.
pub fn to_vec(value: &Value) -> Result<Vec<u8>, Error> {
    check(value)?;
    encode(value)
}

/// SHA-256 of the canonical bytes: the fingerprint of a request.
pub fn sha256(value: &Value) -> Result<[u8; 32], Error> {
    Ok(Sha256::digest(to_vec(value)?).into())
}

/// SHA-256 of the canonical bytes of something that is not a [`Value`]. Its own numbers must be safe, see [`check_integer`],
/// and the values in it must have passed [`check`]: this does not look again.
pub(crate) fn sha256_of<T: Serialize>(checked: &T) -> Result<[u8; 32], Error> {
    Ok(Sha256::digest(encode(checked)?).into())
}

/// Whether a number of ours would survive: `at` says where it stands.
pub(crate) fn check_integer(number: u64, at: &str) -> Result<(), Error> {
    if number <= MAX_SAFE_INTEGER {
        return Ok(());
    }
    Err(Error::Integer { found: number.to_string(), at: at.to_owned() })
}

/// The encoder alone, without the check.
fn encode<T: Serialize>(value: &T) -> Result<Vec<u8>, Error> {
    serde_json_canonicalizer::to_vec(value).map_err(|error| Error::Encode { message: error.to_string() })
}

/// Whether a value has a canonical form that nothing else has.
pub(crate) fn check(value: &Value) -> Result<(), Error> {
    check_at(value, &mut Vec::new())
}

/// A step from a value to one inside it.
enum Step<'a> {
    Key(&'a str),
    Index(usize),
}

fn check_at<'a>(value: &'a Value, path: &mut Vec<Step<'a>>) -> Result<(), Error> {
    match value {
        Value::Null | Value::Bool(_) | Value::String(_) => Ok(()),
        Value::Number(number) if is_safe(number) => Ok(()),
        Value::Number(number) => Err(Error::Integer { found: number.to_string(), at: pointer(path) }),
        Value::Array(_) | Value::Object(_) if path.len() >= MAX_DEPTH => Err(Error::Depth { at: pointer(path) }),
        Value::Array(items) => {
            let mut items = items.iter().enumerate();
            items.try_for_each(|(index, item)| check_inside(Step::Index(index), item, path))
        }
        Value::Object(map) => map.iter().try_for_each(|(key, item)| check_inside(Step::Key(key), item, path)),
    }
}

fn check_inside<'a>(step: Step<'a>, value: &'a Value, path: &mut Vec<Step<'a>>) -> Result<(), Error> {
    path.push(step);
    check_at(value, path)?;
    path.pop();
    Ok(())
}

/// Whether the canonical form is either within the bound or not plain digits.
fn is_safe(number: &Number) -> bool {
    if let Some(integer) = number.as_i128() {
        return integer.unsigned_abs() <= MAX_SAFE_INTEGER.into();
    }
    // Every double from 2^53 on is a whole number, and 2^53 − 1 is the last one before it.
    number.as_f64().is_some_and(|float| float.abs() <= MAX_SAFE_INTEGER as f64 || float.abs() >= EXPONENT_FORM_MIN)
}

/// The JSON pointer (RFC 6901) of a path, for people: long keys are cut, and so is a long path.
fn pointer(path: &[Step<'_>]) -> String {
    if path.is_empty() {
        return "the top level".to_owned();
    }
    let steps = path.iter().map(|step| match step {
        Step::Key(key) => format!("/{}", cut(key).replace('~', "~0").replace('/', "~1")),
        Step::Index(index) => format!("/{index}"),
    });
    format!("`{:.200}`", steps.collect::<String>())
}

fn cut(text: &str) -> String {
    text.chars().take(40).collect()
}

#[cfg(test)]
mod tests;
