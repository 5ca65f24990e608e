//! The parser for text from outside: JSON, less what two readers could understand differently.
//!
//! The grammar is left to `serde_json`. On top of it come three refusals: a second equal key and too deep nesting
//! are noticed while the value is built, and integers that others would round by a look at the finished value and
//! at the literals of the text.

use super::{Error, MAX_DEPTH, MAX_SAFE_INTEGER, check, cut};
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use std::fmt;

/// Reads a text from outside. Whatever it accepts, [`to_vec`](super::to_vec) accepts.
pub fn parse(bytes: &[u8]) -> Result<Value, Error> {
    let mut refusal = None;
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let strict = Strict { depth: 0, refusal: &mut refusal };
    let parsed = strict.deserialize(&mut deserializer).and_then(|value| deserializer.end().map(|()| value));
    let value = parsed.map_err(|error| {
        let (line, column) = (error.line(), error.column());
        match refusal {
            Some(Refusal::DuplicateKey(key)) => Error::DuplicateKey { key: cut(&key), line, column },
            Some(Refusal::Depth) => Error::Depth { at: format!("line {line} column {column}") },
            None => Error::Syntax { message: error.to_string() },
        }
    })?;
    check(&value)?;
    check_literals(bytes)?;
    Ok(value)
}

/// For a field that holds any value: refuses a key that stands twice and nesting that is too deep, whatever the language
/// of the text. Two keys of YAML can become one here: `1` and `"1"`.
pub(crate) fn optional<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    let value = Strict { depth: 0, refusal: &mut None }.deserialize(deserializer)?;
    Ok(Some(value).filter(|value| !value.is_null()))
}

/// Finds integers of so many digits that the parser made doubles of them: in the value they look like `1e30`.
fn check_literals(bytes: &[u8]) -> Result<(), Error> {
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let length = match byte {
            b'"' => string_length(&bytes[at..]),
            b'-' | b'0'..=b'9' => {
                let rest = &bytes[at..];
                let length =
                    rest.iter().take_while(|byte| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E'));
                let literal = String::from_utf8_lossy(&rest[..length.count()]);
                let digits = literal.trim_start_matches('-');
                let whole = digits.bytes().all(|byte| byte.is_ascii_digit());
                if whole && digits.parse().map_or(true, |number: u64| number > MAX_SAFE_INTEGER) {
                    return Err(Error::Integer { found: cut(&literal), at: line_and_column(&bytes[..at]) });
                }
                literal.len()
            }
            _ => 1,
        };
        at += length;
    }
    Ok(())
}

/// The bytes of the string literal that `text` starts with, both quotes included.
fn string_length(text: &[u8]) -> usize {
    let mut escaped = false;
    let end = text.iter().skip(1).position(|byte| {
        let closes = *byte == b'"' && !escaped;
        escaped = *byte == b'\\' && !escaped;
        closes
    });
    end.map_or(text.len(), |end| end + 2)
}

fn line_and_column(before: &[u8]) -> String {
    let lines = before.split(|byte| *byte == b'\n');
    let column = lines.clone().next_back().map_or(0, <[u8]>::len) + 1;
    format!("line {} column {column}", lines.count())
}

/// What the parser refuses although it is JSON.
enum Refusal {
    DuplicateKey(String),
    Depth,
}

/// Builds a [`Value`] and leaves a note when it gives up, because the parser's own error is only a text.
struct Strict<'a> {
    /// How many arrays and objects are open.
    depth: usize,
    refusal: &'a mut Option<Refusal>,
}

impl Strict<'_> {
    fn inside(&mut self) -> Strict<'_> {
        Strict { depth: self.depth + 1, refusal: self.refusal }
    }

    fn refuse<E: serde::de::Error>(&mut self, refusal: Refusal) -> E {
        let error = match &refusal {
            Refusal::DuplicateKey(key) => E::custom(format_args!("the key `{}` occurs twice in one object", cut(key))),
            Refusal::Depth => E::custom(format_args!("arrays and objects are nested more than {MAX_DEPTH} deep")),
        };
        *self.refusal = Some(refusal);
        error
    }

    fn open<E: serde::de::Error>(&mut self) -> Result<(), E> {
        if self.depth < MAX_DEPTH { Ok(()) } else { Err(self.refuse(Refusal::Depth)) }
    }
}

impl<'de> DeserializeSeed<'de> for Strict<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("number out of range"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<Value, A::Error> {
        self.open()?;
        let mut array = Vec::new();
        while let Some(item) = items.next_element_seed(self.inside())? {
            array.push(item);
        }
        Ok(Value::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut entries: A) -> Result<Value, A::Error> {
        self.open()?;
        let mut map = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            if map.contains_key(&key) {
                return Err(self.refuse(Refusal::DuplicateKey(key)));
            }
            let value = entries.next_value_seed(self.inside())?;
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}
