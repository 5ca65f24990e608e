//! One op as somebody reads it who asks who did what.

use crate::{output, time};
use relaymesh_api::view::entry::Shown;
use serde_json::Value;

/// How much of a hash people are shown.
const HASH_CHARS: usize = 12;

/// The op for people: one line.
pub(super) fn to_text(entry: &Shown) -> String {
    let Shown { pos, at_ms, namespace, kind, scope, .. } = entry;
    let (time, who) = (time::rfc3339(*at_ms), format!("{}/{}", entry.author, entry.source));
    let said = entry.about.iter().filter(|(_, value)| !value.is_null());
    let about: Vec<String> = said.map(|(name, value)| format!("{name}={}", plain(value))).collect();
    let line = format!("{pos:>8}  {time}  {who:<16}  {namespace:<10}  {kind:<18}  {scope}  {}", about.join(" "));
    line.trim_end().to_owned()
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) if !text.contains([' ', '\n']) => output::clean(text),
        Value::String(text) => format!("{:?}", output::clean(text)),
        Value::Object(named) if named.contains_key("hash") => {
            let hash: String = named["hash"].as_str().unwrap_or_default().chars().take(HASH_CHARS).collect();
            format!("{hash}…({} bytes)", named["len"])
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}
