//! The four protocols that agent tools speak with models, as far as they use them. Each makes server-sent events, or one JSON object, of a turn.

pub(crate) mod chat;
pub(crate) mod gemini;
pub(crate) mod messages;
pub(crate) mod plain;
pub(crate) mod responses;

use serde_json::Value;

/// What one turn comes to: words, or the call of a tool.
pub(crate) enum Answer<'a> {
    /// In pieces.
    Text(&'a [&'a str]),
    Call(&'a str, &'a Value),
}

/// Tokens that every answer says it took.
pub(crate) const INPUT_TOKENS: u64 = 100;
pub(crate) const OUTPUT_TOKENS: u64 = 20;

/// An event with a name.
pub(crate) fn named(name: &str, mut data: Value) -> String {
    data["type"] = name.into();
    format!("event: {name}\ndata: {data}\n\n")
}

/// An event without one.
pub(crate) fn unnamed(data: &Value) -> String {
    format!("data: {data}\n\n")
}
