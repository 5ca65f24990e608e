//! One op as somebody reads it who asks who did what.

use crate::{output, time};
use relaymesh_api::view::entry::about;
pub(super) use relaymesh_api::view::entry::to_json;
use relaymesh_core::op::Op;
use serde_json::Value;

/// How much of a hash people are shown.
const HASH_CHARS: usize = 12;

/// The op for people: one line.
pub(super) fn to_text(op: &Op) -> String {
    let header = &op.header;
    let (time, kind) = (time::rfc3339(header.hlc.wall_ms), format!("{:?}", op.body.kind()));
    let who = format!("{}/{}", header.author, header.source);
    let about = about(&op.body);
    let said = about.iter().filter(|(_, value)| !value.is_null());
    let about: Vec<String> = said.map(|(name, value)| format!("{name}={}", plain(value))).collect();
    let line = format!(
        "{:>8}  {time}  {who:<16}  {:<10}  {kind:<18}  {}  {}",
        op.pos,
        header.namespace,
        header.scope,
        about.join(" ")
    );
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
