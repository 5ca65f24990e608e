//! Values with expressions in them: `${{ … }}` in any text of an input.
//!
//! A text that is one expression becomes what the expression comes to, whatever that is. In a longer text each is written
//! out: texts as they are, `null` as nothing, the rest as JSON. `$${{` is a `${{` that is meant.

use super::{Error, EvalError, Expr, References, Values};
use serde_json::Value;

const OPEN: &str = "${{";
const CLOSE: &str = "}}";
const MEANT: &str = "$${{";

/// An expression that cannot be read, and where it stands.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}`: {error}")]
pub struct BadTemplate {
    /// The expression, or what there is of it; cut at 160 characters.
    pub text: String,
    /// Why not.
    pub error: Error,
}

enum Part<'a> {
    Text(&'a str),
    Meant,
    Expr(Expr),
}

/// Whether there is anything to fill in.
pub fn is_template(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
        Value::String(text) => text.contains(OPEN),
        Value::Array(items) => items.iter().any(is_template),
        Value::Object(map) => map.values().any(is_template),
    }
}

/// The value with every `${{` meant as it stands.
pub fn literal(value: Value) -> Value {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => value,
        Value::String(text) if text.contains(OPEN) => Value::String(text.replace(OPEN, MEANT)),
        Value::String(_) => value,
        Value::Array(items) => Value::Array(items.into_iter().map(literal).collect()),
        Value::Object(map) => Value::Object(map.into_iter().map(|(key, item)| (key, literal(item))).collect()),
    }
}

/// Everything that the value refers to.
pub fn references(value: &Value, found: &mut References) -> Result<(), BadTemplate> {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
        Value::String(text) => {
            for part in parts(text)? {
                if let Part::Expr(expr) = part {
                    found.extend(expr.references());
                }
            }
            Ok(())
        }
        Value::Array(items) => items.iter().try_for_each(|item| references(item, found)),
        Value::Object(map) => map.values().try_for_each(|item| references(item, found)),
    }
}

/// The value with everything filled in. At most `max` bytes are filled in.
pub fn fill(value: Value, values: &Values, max: usize) -> Result<Value, EvalError> {
    let mut room = Room { left: max, max };
    fill_in(value, values, &mut room)
}

/// How much may still be filled in.
struct Room {
    left: usize,
    max: usize,
}

fn fill_in(value: Value, values: &Values, room: &mut Room) -> Result<Value, EvalError> {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => Ok(value),
        Value::String(text) if text.contains(OPEN) => fill_text(&text, values, room),
        Value::String(_) => Ok(value),
        Value::Array(items) => {
            items.into_iter().map(|item| fill_in(item, values, room)).collect::<Result<_, _>>().map(Value::Array)
        }
        Value::Object(map) => {
            let filled = map.into_iter().map(|(key, item)| Ok((key, fill_in(item, values, room)?)));
            filled.collect::<Result<_, _>>().map(Value::Object)
        }
    }
}

fn fill_text(text: &str, values: &Values, room: &mut Room) -> Result<Value, EvalError> {
    let parts = parts(text).map_err(|error| EvalError(error.to_string()))?;
    if let [Part::Expr(expr)] = &parts[..] {
        let value = expr.eval(values)?;
        take(room, size(&value))?;
        return Ok(value);
    }
    let mut filled = String::new();
    for part in parts {
        match part {
            Part::Text(text) => filled.push_str(text),
            Part::Meant => filled.push_str(OPEN),
            Part::Expr(expr) => {
                let value = expr.eval(values)?;
                take(room, size(&value))?;
                match value {
                    Value::Null => {}
                    Value::String(text) => filled.push_str(&text),
                    other @ (Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
                        filled.push_str(&other.to_string());
                    }
                }
            }
        }
    }
    Ok(Value::String(filled))
}

/// A long result that is referred to a thousand times must not become a thousand copies.
fn take(room: &mut Room, size: usize) -> Result<(), EvalError> {
    let max = room.max;
    room.left = room.left.checked_sub(size).ok_or_else(|| {
        EvalError(format!("the value to fill in is longer than {max} bytes: pass the path of a file instead"))
    })?;
    Ok(())
}

fn size(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) => 5,
        Value::Number(_) => 8,
        Value::String(text) => text.len() + 2,
        Value::Array(items) => 2 + items.iter().map(|item| size(item) + 1).sum::<usize>(),
        Value::Object(map) => 2 + map.iter().map(|(key, item)| key.len() + 4 + size(item)).sum::<usize>(),
    }
}

fn parts(text: &str) -> Result<Vec<Part<'_>>, BadTemplate> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(OPEN) {
        let is_meant = rest[..at].ends_with('$');
        let before = if is_meant { &rest[..at - 1] } else { &rest[..at] };
        if !before.is_empty() {
            parts.push(Part::Text(before));
        }
        rest = &rest[at + OPEN.len()..];
        if is_meant {
            parts.push(Part::Meant);
            continue;
        }
        let end = closing(rest).ok_or_else(|| {
            let message = "`}}` is missing; to write a literal `${{`, use `$${{`".to_owned();
            bad(rest, Error { at: rest.chars().count() + 1, message })
        })?;
        let inner = &rest[..end];
        parts.push(Part::Expr(Expr::parse(inner).map_err(|error| bad(inner, error))?));
        rest = &rest[end + CLOSE.len()..];
    }
    if !rest.is_empty() {
        parts.push(Part::Text(rest));
    }
    Ok(parts)
}

/// Where the expression ends: at the first `}}` that is not in quotes.
fn closing(text: &str) -> Option<usize> {
    let mut quote = None;
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match (quote, c) {
            _ if escaped => escaped = false,
            (Some(_), '\\') => escaped = true,
            (Some(open), c) if c == open => quote = None,
            (None, '\'' | '"') => quote = Some(c),
            (None, '}') if text[at..].starts_with(CLOSE) => return Some(at),
            _ => {}
        }
    }
    None
}

fn bad(text: &str, error: Error) -> BadTemplate {
    BadTemplate { text: text.trim().chars().take(160).collect(), error }
}

/// The expression of a `when` or a `foreach`, which may stand in `${{ }}` or without.
pub fn bare(text: &str) -> Result<Expr, BadTemplate> {
    let trimmed = text.trim();
    let inner = match trimmed.strip_prefix(OPEN) {
        Some(rest) if closing(rest).is_some_and(|end| end + CLOSE.len() == rest.len()) => {
            &rest[..rest.len() - CLOSE.len()]
        }
        Some(_) | None => trimmed,
    };
    Expr::parse(inner).map_err(|error| bad(inner, error))
}
