//! What an expression comes to.

use super::{Function, Key, Node, Operator, Root};
use crate::{name::Name, task::Status};
use serde_json::{Number, Value};
use std::{borrow::Cow, cmp::Ordering, collections::BTreeMap};

/// The most fields of an object that an error names.
const FIELDS_TOLD_MAX: usize = 12;

/// 2^64: integers are smaller.
const INTEGER_BOUND: f64 = 18_446_744_073_709_551_616.0;

/// How much of a path an error names, in bytes.
const PATH_TOLD_MAX: usize = 200;

/// Everything that an expression may refer to.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Values {
    /// What the task was given; `null` if nothing.
    pub input: Value,
    /// What steps made, by name. Those that no expression names need not be there.
    pub steps: BTreeMap<Name, StepValue>,
    /// The item of a `foreach` and its place.
    pub item: Option<(u16, Value)>,
}

/// What a step made.
#[derive(Debug, Clone, PartialEq)]
pub struct StepValue {
    /// Its result; `null` for a step that was skipped.
    pub result: Value,
    /// How it ended.
    pub status: Status,
}

/// Why an expression comes to nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct EvalError(pub String);

/// Whether a condition with this value holds: `null`, `false`, `0`, and what is empty do not.
pub fn is_true(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(is) => *is,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(map) => !map.is_empty(),
    }
}

pub(super) fn eval<'a>(node: &'a Node, values: &'a Values) -> Result<Cow<'a, Value>, EvalError> {
    match node {
        Node::Value(value) => Ok(Cow::Borrowed(value)),
        Node::List(items) => {
            let items: Result<Vec<Value>, EvalError> =
                items.iter().map(|item| Ok(eval(item, values)?.into_owned())).collect();
            Ok(Cow::Owned(Value::Array(items?)))
        }
        Node::Path { root, keys } => path(root, keys, values),
        Node::Not(of) => Ok(truth(!is_true(&*eval(of, values)?))),
        Node::Binary(operator, left, right) => binary(*operator, left, right, values),
        Node::Call(function, arguments) => call(*function, arguments, values),
    }
}

fn truth<'a>(is: bool) -> Cow<'a, Value> {
    Cow::Owned(Value::Bool(is))
}

pub(super) fn path<'a>(root: &Root, keys: &[Key], values: &'a Values) -> Result<Cow<'a, Value>, EvalError> {
    let step =
        |name: &Name| values.steps.get(name).ok_or_else(|| EvalError(format!("nothing is known of step `{name}`")));
    let no_item = || EvalError("`item` and `index` have a meaning only in a step with `foreach`".to_owned());
    let mut found = match root {
        Root::Input => Cow::Borrowed(&values.input),
        Root::Result(name) => Cow::Borrowed(&step(name)?.result),
        Root::Status(name) => Cow::Owned(Value::from(step(name)?.status.as_str())),
        Root::Item => Cow::Borrowed(&values.item.as_ref().ok_or_else(no_item)?.1),
        Root::Index => Cow::Owned(Value::from(values.item.as_ref().ok_or_else(no_item)?.0)),
    };
    let mut told = root.to_string();
    for key in keys {
        let Cow::Borrowed(value) = found else { return Err(EvalError(format!("{told} has no fields or items"))) };
        found = Cow::Borrowed(inside(value, key, &told)?);
        if told.len() < PATH_TOLD_MAX {
            told.push_str(&key.to_string());
        }
    }
    Ok(found)
}

fn inside<'a>(value: &'a Value, key: &Key, told: &str) -> Result<&'a Value, EvalError> {
    match (value, key) {
        (Value::Null, _) => Ok(&Value::Null),
        (Value::Object(map), Key::Field(field)) => map.get(field).ok_or_else(|| {
            let more = if map.len() > FIELDS_TOLD_MAX { ", …" } else { "" };
            let known: Vec<String> = map.keys().take(FIELDS_TOLD_MAX).map(|key| short(key)).collect();
            EvalError(format!("{told} has no `{}`; it has: {}{more}", short(field), known.join(", ")))
        }),
        (Value::Array(items), Key::At(at)) => items
            .get(*at)
            .ok_or_else(|| EvalError(format!("{told} has {} items, so [{at}] does not exist", items.len()))),
        (other, key) => Err(EvalError(format!("{told} is {}; it has no {key}", kind(other)))),
    }
}

fn binary<'a>(
    operator: Operator,
    left: &'a Node,
    right: &'a Node,
    values: &'a Values,
) -> Result<Cow<'a, Value>, EvalError> {
    let left = eval(left, values)?;
    match operator {
        Operator::Or => return if is_true(&left) { Ok(left) } else { eval(right, values) },
        Operator::And => return if is_true(&left) { eval(right, values) } else { Ok(left) },
        Operator::Equal
        | Operator::Unequal
        | Operator::Less
        | Operator::LessOrEqual
        | Operator::Greater
        | Operator::GreaterOrEqual => {}
    }
    let right = eval(right, values)?;
    Ok(truth(match operator {
        Operator::Equal => equal(&left, &right),
        Operator::Unequal => !equal(&left, &right),
        Operator::Less => order(&left, &right)?.is_lt(),
        Operator::LessOrEqual => order(&left, &right)?.is_le(),
        Operator::Greater => order(&left, &right)?.is_gt(),
        Operator::GreaterOrEqual => order(&left, &right)?.is_ge(),
        Operator::Or | Operator::And => is_true(&right),
    }))
}

/// `1` and `1.0` are one number.
fn equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => compare(left, right) == Some(Ordering::Equal),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| equal(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            let same = |(key, value): (&String, &Value)| right.get(key).is_some_and(|other| equal(value, other));
            left.len() == right.len() && left.iter().all(same)
        }
        (left, right) => left == right,
    }
}

fn compare(left: &Number, right: &Number) -> Option<Ordering> {
    match (left.as_i128(), right.as_i128()) {
        (Some(left), Some(right)) => Some(left.cmp(&right)),
        (Some(left), None) => compare_with_double(left, right.as_f64()?),
        (None, Some(right)) => compare_with_double(right, left.as_f64()?).map(Ordering::reverse),
        (None, None) => left.as_f64()?.partial_cmp(&right.as_f64()?),
    }
}

/// Exactly: 2^53 + 1 as a double would be 2^53.
fn compare_with_double(integer: i128, double: f64) -> Option<Ordering> {
    if double.abs() >= INTEGER_BOUND {
        return 0.0.partial_cmp(&double); // beyond every integer of 64 bits
    }
    let whole = double.trunc();
    let order = integer.cmp(&(whole as i128));
    if order.is_eq() { whole.partial_cmp(&double) } else { Some(order) }
}

fn order(left: &Value, right: &Value) -> Result<Ordering, EvalError> {
    let found = match (left, right) {
        (Value::Number(left), Value::Number(right)) => compare(left, right),
        (Value::String(left), Value::String(right)) => Some(left.cmp(right)),
        _ => None,
    };
    found.ok_or_else(|| {
        EvalError(format!("{} and {} cannot be compared: compare two numbers or two strings", kind(left), kind(right)))
    })
}

fn call<'a>(function: Function, arguments: &'a [Node], values: &'a Values) -> Result<Cow<'a, Value>, EvalError> {
    let found = eval(&arguments[0], values);
    match function {
        Function::Has => Ok(truth(found.is_ok_and(|value| !value.is_null()))),
        Function::Default => match found {
            Ok(value) if !value.is_null() => Ok(value),
            Ok(_) | Err(_) => eval(&arguments[1], values),
        },
        Function::Length => {
            let found = found?;
            let length = match &*found {
                Value::String(text) => text.chars().count(),
                Value::Array(items) => items.len(),
                Value::Object(map) => map.len(),
                other @ (Value::Null | Value::Bool(_) | Value::Number(_)) => {
                    return Err(EvalError(format!("{} has no length", kind(other))));
                }
            };
            Ok(Cow::Owned(Value::from(length)))
        }
        Function::Contains => {
            let (found, part) = (found?, eval(&arguments[1], values)?);
            match (&*found, &*part) {
                (Value::Array(items), part) => Ok(truth(items.iter().any(|item| equal(item, part)))),
                (Value::String(text), Value::String(part)) => Ok(truth(text.contains(part.as_str()))),
                (Value::Object(map), Value::String(part)) => Ok(truth(map.contains_key(part))),
                (found, part) => Err(EvalError(format!("{} cannot contain {}", kind(found), kind(part)))),
            }
        }
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// As much of a word as an error repeats.
pub(super) fn short(text: &str) -> String {
    text.chars().take(40).collect()
}

impl std::fmt::Display for Root {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Input => f.write_str("input"),
            Self::Result(step) => write!(f, "steps.{step}.result"),
            Self::Status(step) => write!(f, "steps.{step}.status"),
            Self::Item => f.write_str("item"),
            Self::Index => f.write_str("index"),
        }
    }
}

impl std::fmt::Display for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Field(field) => write!(f, ".{}", short(field)),
            Self::At(at) => write!(f, "[{at}]"),
        }
    }
}
