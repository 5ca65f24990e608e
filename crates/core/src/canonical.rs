//! Canonical JSON (RFC 8785): one value, one sequence of bytes, so that a hash can stand for the value.
//!
//! RFC 8785 knows one kind of number, the IEEE double: a whole number beyond ±(2^53 − 1) is silently rounded to the next
//! double. Two payloads would have one fingerprint, and the second caller would get the first one's result. Databases and
//! clocks do use such numbers, so they are carried as they are, and there are two forms:
//!
//! - [`to_vec`] writes RFC 8785 to the letter, for what other programs read. It refuses every number that the RFC writes as
//!   plain digits beyond ±(2^53 − 1): such integers, and doubles from 2^53 up to 10^21. (From 10^21 on the RFC writes an
//!   exponent; that can be nothing but a double.) So [`parse`] takes back what it gives out.
//! - [`sha256`], the fingerprint, is over the same bytes, except that such an integer is `#` and its digits. No JSON text has
//!   a `#` outside of a string, so no other value has these bytes, and values without such integers hash as they always did.
//!
//! [`parse`] accepts integers of 64 bits. Longer ones no program reads alike, and they are refused, not rounded
//! (`docs/decisions/0040-…`). Numbers with a fraction or an exponent are doubles.
//!
//! The other leniencies of JSON parsers end here as well: of two equal keys the last one wins, or the first, or
//! both, depending on who reads; deep nesting is a cheap way to use up a stack. [`parse`] refuses both.

mod strict;
mod tagged;

pub(crate) use strict::optional;
pub use strict::{parse, validate};

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
    /// A whole number that would be rounded: of more than 64 bits, or beyond ±(2^53 − 1) where only RFC 8785 will do.
    #[error("the number {found} at {at} is too large and would be rounded: send it as a string")]
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

/// The canonical bytes of a value, after RFC 8785. Refuses what the RFC would round.
pub fn to_vec(value: &Value) -> Result<Vec<u8>, Error> {
    check_at(value, &mut Vec::new(), false)?;
    encode(value)
}

/// SHA-256 of the canonical bytes with tagged integers: the fingerprint of a value.
pub fn sha256(value: &Value) -> Result<[u8; 32], Error> {
    let numbers = check(value)?;
    sha256_of(value, numbers)
}

/// SHA-256 of the canonical bytes of something that is not a [`Value`]. Its own numbers must be safe, see [`check_integer`],
/// and the values in it must have passed [`check`], which said what numbers they have: this does not look again.
pub(crate) fn sha256_of<T: Serialize>(checked: &T, numbers: Numbers) -> Result<[u8; 32], Error> {
    let bytes = match numbers {
        Numbers::Safe => encode(checked)?,
        Numbers::Large => {
            let value = serde_json::to_value(checked).map_err(|error| Error::Encode { message: error.to_string() })?;
            tagged::to_vec(&value)?
        }
    };
    Ok(Sha256::digest(bytes).into())
}

/// What numbers a value has, for its fingerprint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Numbers {
    /// RFC 8785 keeps all of them apart.
    Safe,
    /// Some need a tag.
    Large,
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

/// Whether a value has a fingerprint that nothing else has, and what numbers it has.
pub(crate) fn check(value: &Value) -> Result<Numbers, Error> {
    check_at(value, &mut Vec::new(), true)
}

/// A step from a value to one inside it.
enum Step<'a> {
    Key(&'a str),
    Index(usize),
}

fn check_at<'a>(value: &'a Value, path: &mut Vec<Step<'a>>, takes_large: bool) -> Result<Numbers, Error> {
    match value {
        Value::Null | Value::Bool(_) | Value::String(_) => Ok(Numbers::Safe),
        Value::Number(number) if is_safe(number) => Ok(Numbers::Safe),
        Value::Number(_) if takes_large => Ok(Numbers::Large),
        Value::Number(number) => Err(Error::Integer { found: number.to_string(), at: pointer(path) }),
        Value::Array(_) | Value::Object(_) if path.len() >= MAX_DEPTH => Err(Error::Depth { at: pointer(path) }),
        Value::Array(items) => {
            let mut items = items.iter().enumerate().map(|(index, item)| (Step::Index(index), item));
            items.try_fold(Numbers::Safe, |found, inside| Ok(found.max(check_inside(inside, path, takes_large)?)))
        }
        Value::Object(map) => {
            let mut items = map.iter().map(|(key, item)| (Step::Key(key), item));
            items.try_fold(Numbers::Safe, |found, inside| Ok(found.max(check_inside(inside, path, takes_large)?)))
        }
    }
}

fn check_inside<'a>(
    (step, value): (Step<'a>, &'a Value),
    path: &mut Vec<Step<'a>>,
    takes_large: bool,
) -> Result<Numbers, Error> {
    path.push(step);
    let found = check_at(value, path, takes_large)?;
    path.pop();
    Ok(found)
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
