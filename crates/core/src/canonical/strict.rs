//! The parser for text from outside: JSON, less what two readers could understand differently.
//!
//! The grammar is left to `serde_json`. On top of it come three refusals: a second equal key and too deep nesting
//! are noticed while the value is built, and integers of more than 64 bits by a look at the literals of the text, because
//! the parser has made doubles of them by then.

use super::{Error, MAX_DEPTH, cut};
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use std::{collections::BTreeSet, fmt};

/// Reads a text from outside. What it accepts has a fingerprint, and `serde_json` writes it with the same numbers.
pub fn parse(bytes: &[u8]) -> Result<Value, Error> {
    read(bytes, |guard, deserializer| Strict(guard).deserialize(deserializer))
}

/// Whether [`parse`] accepts the text. Builds no value, because a result may be as long as content can be.
pub fn validate(bytes: &[u8]) -> Result<(), Error> {
    read(bytes, |guard, deserializer| Look(guard).deserialize(deserializer))
}

type Text<'de> = serde_json::Deserializer<serde_json::de::SliceRead<'de>>;

fn read<'de, T>(
    bytes: &'de [u8],
    read: impl FnOnce(Guard<'_>, &mut Text<'de>) -> serde_json::Result<T>,
) -> Result<T, Error> {
    let mut refusal = None;
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let parsed = read(Guard { depth: 0, refusal: &mut refusal }, &mut deserializer)
        .and_then(|found| deserializer.end().map(|()| found));
    let found = parsed.map_err(|error| {
        let (line, column) = (error.line(), error.column());
        match refusal {
            Some(Refusal::DuplicateKey(key)) => Error::DuplicateKey { key: cut(&key), line, column },
            Some(Refusal::Depth) => Error::Depth { at: format!("line {line} column {column}") },
            None => Error::Syntax { message: error.to_string() },
        }
    })?;
    check_literals(bytes)?;
    Ok(found)
}

/// For a field that holds any value: refuses a key that stands twice and nesting that is too deep, whatever the language
/// of the text. Two keys of YAML can become one here: `1` and `"1"`.
pub(crate) fn optional<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    let value = Strict(Guard { depth: 0, refusal: &mut None }).deserialize(deserializer)?;
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
                if whole && literal.parse::<i64>().is_err() && literal.parse::<u64>().is_err() {
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

/// What is refused while a text is read. It leaves a note, because the parser's own error is only a text.
struct Guard<'a> {
    /// How many arrays and objects are open.
    depth: usize,
    refusal: &'a mut Option<Refusal>,
}

impl Guard<'_> {
    fn inside(&mut self) -> Guard<'_> {
        Guard { depth: self.depth + 1, refusal: self.refusal }
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

/// Builds a [`Value`].
struct Strict<'a>(Guard<'a>);

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
        self.0.open()?;
        let mut array = Vec::new();
        while let Some(item) = items.next_element_seed(Strict(self.0.inside()))? {
            array.push(item);
        }
        Ok(Value::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut entries: A) -> Result<Value, A::Error> {
        self.0.open()?;
        let mut map = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            if map.contains_key(&key) {
                return Err(self.0.refuse(Refusal::DuplicateKey(key)));
            }
            let value = entries.next_value_seed(Strict(self.0.inside()))?;
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}

/// Builds nothing; it remembers the keys of the objects that are open.
struct Look<'a>(Guard<'a>);

impl<'de> DeserializeSeed<'de> for Look<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Look<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<(), A::Error> {
        self.0.open()?;
        while items.next_element_seed(Look(self.0.inside()))?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut entries: A) -> Result<(), A::Error> {
        self.0.open()?;
        let mut keys = BTreeSet::new();
        while let Some(key) = entries.next_key::<String>()? {
            if keys.contains(&key) {
                return Err(self.0.refuse(Refusal::DuplicateKey(key)));
            }
            keys.insert(key);
            entries.next_value_seed(Look(self.0.inside()))?;
        }
        Ok(())
    }
}
