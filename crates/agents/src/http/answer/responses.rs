//! OpenAI's responses: `response.*` events, or one `response`.

use super::Answer;
use crate::tool::{Event, Usage, number, text};
use jiff::Zoned;
use serde_json::Value;

pub(super) fn read(value: &Value, answer: &mut Answer, now: &Zoned) -> Option<Vec<Event>> {
    if text(value, "/object") == Some("response") {
        return Some(ended(value, answer, now));
    }
    Some(match text(value, "/type")? {
        "response.output_text.delta" | "response.refusal.delta" => answer.say(text(value, "/delta")?),
        "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
            answer.think(text(value, "/delta")?);
            Vec::new()
        }
        "response.output_item.done" => {
            let item = value.get("item")?;
            let mut events = answer.thought_is_over();
            if text(item, "/type") == Some("function_call") {
                events.extend(answer.call(text(item, "/name").unwrap_or_default()));
            }
            events
        }
        "response.completed" | "response.incomplete" | "response.failed" => ended(value.get("response")?, answer, now),
        "error" => answer.fail(value, now),
        kind if kind.starts_with("response.") => Vec::new(),
        _ => return None,
    })
}

fn ended(response: &Value, answer: &mut Answer, now: &Zoned) -> Vec<Event> {
    answer.said.model = text(response, "/model").map(str::to_owned).or(answer.said.model.take());
    let mut events = answer.thought_is_over();
    let items = |value: &Value, name: &str| value.get(name).and_then(Value::as_array).cloned().unwrap_or_default();
    let output = items(response, "output");
    let parts = output.iter().flat_map(|item| items(item, "content"));
    let whole: String = parts.filter_map(|part| text(&part, "/text").map(str::to_owned)).collect();
    if answer.said.text.is_empty() {
        events.extend(answer.say(&whole));
    }
    if let Some(usage) = response.get("usage").filter(|usage| usage.is_object()) {
        events.extend(answer.used(Usage {
            input_tokens: number(usage, "/input_tokens"),
            cached_tokens: number(usage, "/input_tokens_details/cached_tokens"),
            output_tokens: number(usage, "/output_tokens"),
            turns: 1,
            cost_micros: None,
        }));
    }
    match text(response, "/status") {
        Some("completed") => {
            let call = output.iter().find(|item| text(item, "/type") == Some("function_call"));
            if let Some(name) = call.and_then(|call| text(call, "/name")).filter(|_| answer.call.is_none()) {
                events.extend(answer.call(name));
            }
            answer.end(if answer.call.is_some() { "tool_calls" } else { "stop" });
        }
        Some("incomplete") => answer.end(text(response, "/incomplete_details/reason").unwrap_or("length")),
        // Anything else is no end: it is still at work, or was called off.
        Some("failed") => events.extend(answer.fail(response, now)),
        _ => {}
    }
    events
}
