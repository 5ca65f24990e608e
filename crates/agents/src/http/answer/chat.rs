//! Chat completions: `choices[0].delta` in a stream, `choices[0].message` in one document.

use super::Answer;
use crate::tool::{Event, Usage, number, text};
use jiff::Zoned;
use serde_json::Value;

pub(super) fn read(value: &Value, answer: &mut Answer, now: &Zoned) -> Option<Vec<Event>> {
    if value.get("error").is_some_and(|error| !error.is_null()) {
        return Some(answer.fail(value, now));
    }
    let choices = value.get("choices")?.as_array()?;
    if let Some(model) = text(value, "/model") {
        answer.said.model = Some(model.to_owned());
    }
    let mut events = Vec::new();
    let first = choices.iter().find(|choice| number(choice, "/index") == 0);
    if let Some((choice, part)) =
        first.and_then(|choice| Some((choice, choice.get("delta").or(choice.get("message"))?)))
    {
        for name in ["/reasoning_content", "/reasoning"] {
            answer.think(text(part, name).unwrap_or_default());
        }
        for name in ["/content", "/refusal"] {
            events.extend(answer.say(text(part, name).unwrap_or_default()));
        }
        let calls = part.get("tool_calls").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        for name in calls.iter().filter_map(|call| text(call, "/function/name")) {
            events.extend(answer.call(name));
        }
        if let Some(reason) = text(choice, "/finish_reason") {
            events.extend(answer.thought_is_over());
            answer.end(reason);
        }
    }
    if let Some(usage) = value.get("usage").filter(|usage| usage.is_object()) {
        events.extend(answer.used(Usage {
            input_tokens: number(usage, "/prompt_tokens"),
            cached_tokens: number(usage, "/prompt_tokens_details/cached_tokens"),
            output_tokens: number(usage, "/completion_tokens"),
            turns: 1,
            cost_micros: None,
        }));
    }
    Some(events)
}
