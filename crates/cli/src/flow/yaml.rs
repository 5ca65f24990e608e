//! A flow in YAML.

use super::{bad_flow, beginning, place, unknown_field};
use crate::error::Error;
use relaymesh_core::task::request::Request;
use serde_saphyr::{DuplicateKeyPolicy, Error as YamlError, MergeKeyPolicy};

/// More nodes than the largest graph has: what an alias stands for counts each time.
const NODES_MAX: usize = 200_000;

/// Reads the request.
pub(super) fn parse(text: &str) -> Result<Request, Error> {
    let options = serde_saphyr::options! {
        duplicate_keys: DuplicateKeyPolicy::Error,
        merge_keys: MergeKeyPolicy::Error,
        strict_booleans: true,
        with_snippet: false,
        budget: serde_saphyr::budget! {
            max_documents: 1,
            max_depth: 64,
            max_nodes: NODES_MAX,
            max_events: 2 * NODES_MAX,
            max_aliases: 1_000,
            max_anchors: 1_000,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: NODES_MAX,
        },
    };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| bad(error.without_snippet(), text))
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
    } else {
        bad_flow(without_place(&error.to_string()))
    };
    said.at(found)
}

/// The library ends its messages with the place, which is shown in its own line here.
fn without_place(message: &str) -> &str {
    let first = message.lines().next().unwrap_or_default();
    first.rsplit_once(" at line ").map_or(first, |(message, _)| message)
}
