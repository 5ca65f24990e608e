//! A flow in YAML.

use super::{bad_flow, beginning, place, unknown_field};
use crate::error::Error;
use relaymesh_core::task::request::Request;
use serde_json::Value;
use serde_saphyr::{DuplicateKeyPolicy, Error as YamlError, MergeKeyPolicy, budget::BudgetBreach};
use std::collections::BTreeSet;

/// More nodes than the largest graph has: what an alias stands for counts each time.
const NODES_MAX: usize = 200_000;
const DEPTH_MAX: usize = 64;
const ALIASES_MAX: usize = 1_000;

/// 2^63: no integer that fits becomes a double from here on.
const I64_BOUND: f64 = 9_223_372_036_854_775_808.0;

/// Where to see what a flow looks like.
const EXAMPLE: &str = "a flow is a mapping with `name` and `steps`: `relaymesh flow --help` shows one";

/// Reads the request.
pub fn parse(text: &str) -> Result<Request, Error> {
    let options = serde_saphyr::options! {
        duplicate_keys: DuplicateKeyPolicy::Error,
        merge_keys: MergeKeyPolicy::Error,
        strict_booleans: true,
        with_snippet: false,
        budget: serde_saphyr::budget! {
            max_documents: 1,
            max_depth: DEPTH_MAX,
            max_nodes: NODES_MAX,
            max_events: 2 * NODES_MAX,
            max_aliases: ALIASES_MAX,
            max_anchors: ALIASES_MAX,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: NODES_MAX,
        },
    };
    if text.trim().is_empty() {
        return Err(bad_flow("the flow is empty").hint(EXAMPLE));
    }
    let request: Request =
        serde_saphyr::from_str_with_options(text, options).map_err(|error| bad(error.without_snippet(), text))?;
    check_rounded(&request, text)?;
    Ok(request)
}

/// Finds integers of so many digits that the library made doubles of them. What is left of one looks like `1e23`, so the
/// text is searched for digits that have become one of the doubles in the request.
fn check_rounded(request: &Request, text: &str) -> Result<(), Error> {
    let mut doubles = BTreeSet::new();
    let values = request.steps.iter().flat_map(|step| step.input.iter().chain(&step.foreach)).chain(&request.input);
    values.for_each(|value| large_doubles(value, &mut doubles));
    if doubles.is_empty() {
        return Ok(());
    }
    let is_number = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '+' | '-' | '.' | '\'' | '"');
    for (number, line) in text.lines().enumerate() {
        for literal in line.split(|c: char| !is_number(c)) {
            let digits = literal.trim_start_matches(['+', '-']);
            let is_whole = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
            let became = digits.parse::<f64>().ok().filter(|_| is_whole);
            if became.is_some_and(|double| doubles.contains(&double.to_bits())) {
                let before = line.split(literal).next().unwrap_or_default();
                let message = format!("the number {literal} would be rounded: write it in quotes, as a string");
                return Err(bad_flow(&message).at(place(text, number + 1, before.chars().count() + 1)));
            }
        }
    }
    Ok(())
}

/// The magnitudes (as bits) of the doubles that may have been integers of too many digits.
fn large_doubles(value: &Value, found: &mut BTreeSet<u64>) {
    match value {
        Value::Number(number) => {
            let double = number.as_f64().map(f64::abs).filter(|double| number.is_f64() && *double >= I64_BOUND);
            found.extend(double.map(f64::to_bits));
        }
        Value::Array(items) => items.iter().for_each(|item| large_doubles(item, found)),
        Value::Object(map) => map.values().for_each(|item| large_doubles(item, found)),
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

fn bad(error: &YamlError, text: &str) -> Error {
    let number = |wide: u64| usize::try_from(wide).unwrap_or(usize::MAX);
    let found = error.location().and_then(|at| place(text, number(at.line()), number(at.column())));
    let said = if let YamlError::SerdeUnknownField { field, expected, .. } = error {
        unknown_field(field, expected)
    } else if let YamlError::DuplicateMappingKey { key: Some(key), .. } = error {
        bad_flow(&format!("the key `{}` occurs twice in one mapping", beginning(key)))
    } else if let YamlError::MergeKeyNotAllowed { .. } = error {
        bad_flow("merge keys (`<<`) are not allowed in a flow")
    } else if let YamlError::Budget { breach, .. } = error {
        bad_flow(&too_much(breach))
    } else {
        let message = error.to_string();
        match without_place(&message) {
            "expected mapping start" => bad_flow("expected a mapping").hint(EXAMPLE),
            said if said.starts_with("tabs ") => bad_flow(said).hint("indent YAML with spaces, not tabs"),
            said => bad_flow(said),
        }
    };
    said.at(found)
}

/// What there is too much of. The library has more bounds than are set here; none of them is smaller.
fn too_much(breach: &BudgetBreach) -> String {
    if let BudgetBreach::Documents { .. } = breach {
        "a file can contain only one flow, but another document begins here".to_owned()
    } else if let BudgetBreach::Depth { .. } = breach {
        format!("lists and mappings are nested more than {DEPTH_MAX} deep")
    } else if let BudgetBreach::Aliases { .. } | BudgetBreach::Anchors { .. } = breach {
        format!("there are more than {ALIASES_MAX} anchors or aliases")
    } else {
        format!("the flow is too large: the maximum is {NODES_MAX} values and keys")
    }
}

/// The library ends its messages with the place, which is shown in its own line here.
fn without_place(message: &str) -> &str {
    let first = message.lines().next().unwrap_or_default();
    first.rsplit_once(" at line ").map_or(first, |(message, _)| message)
}
