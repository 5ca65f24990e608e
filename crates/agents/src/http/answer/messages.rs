//! Anthropic's messages: `message_start`, `content_block_*`, `message_delta`, `message_stop`, or one `message`.

use super::Answer;
use crate::tool::{Event, Usage, number, text};
use jiff::Zoned;
use serde_json::Value;

pub(super) fn read(value: &Value, answer: &mut Answer, now: &Zoned) -> Option<Vec<Event>> {
    Some(match text(value, "/type")? {
        "message_start" => {
            answer.said.model = text(value, "/message/model").map(str::to_owned);
            used(value.pointer("/message/usage"), answer)
        }
        "content_block_start" => part(value.get("content_block")?, answer),
        "content_block_delta" => {
            let delta = value.get("delta")?;
            answer.think(text(delta, "/thinking").unwrap_or_default());
            answer.say(text(delta, "/text").unwrap_or_default())
        }
        "content_block_stop" => answer.thought_is_over(),
        "message_delta" => {
            answer.reason = text(value, "/delta/stop_reason").map(str::to_owned).or(answer.reason.take());
            used(value.get("usage"), answer)
        }
        "message_stop" => {
            // Without a reason it is not known to be whole.
            if let Some(reason) = answer.reason.take() {
                answer.end(&reason);
            }
            Vec::new()
        }
        "ping" => Vec::new(),
        "error" => answer.fail(value, now),
        "message" => {
            answer.said.model = text(value, "/model").map(str::to_owned);
            let parts = value.get("content")?.as_array()?;
            let mut events: Vec<Event> = parts.iter().flat_map(|content| part(content, answer)).collect();
            events.extend(answer.thought_is_over());
            answer.end(text(value, "/stop_reason")?);
            events.extend(used(value.get("usage"), answer));
            events
        }
        _ => return None,
    })
}

fn part(content: &Value, answer: &mut Answer) -> Vec<Event> {
    match text(content, "/type") {
        Some("tool_use" | "server_tool_use") => answer.call(text(content, "/name").unwrap_or_default()),
        Some("thinking") => {
            answer.think(text(content, "/thinking").unwrap_or_default());
            Vec::new()
        }
        _ => answer.say(text(content, "/text").unwrap_or_default()),
    }
}

/// Counts are sums so far; what is not said again stays.
fn used(usage: Option<&Value>, answer: &mut Answer) -> Vec<Event> {
    let Some(usage) = usage else { return Vec::new() };
    let before = answer.said.usage;
    let cached_tokens = number(usage, "/cache_read_input_tokens").max(before.cached_tokens);
    let places = ["/input_tokens", "/cache_creation_input_tokens", "/cache_read_input_tokens"];
    let input_tokens = places.iter().fold(0, |sum: u64, place| sum.saturating_add(number(usage, place)));
    answer.used(Usage {
        input_tokens: input_tokens.max(before.input_tokens),
        cached_tokens,
        output_tokens: number(usage, "/output_tokens").max(before.output_tokens),
        turns: 1,
        cost_micros: None,
    })
}
