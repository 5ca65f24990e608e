//! Claude Code: `system`, `assistant`, `user`, `result`, `rate_limit_event`.

use super::{Event, Said, Stop, limit, number, text};
use jiff::Zoned;
use serde_json::Value;

pub(super) fn read(value: &Value, said: &mut Said, now: &Zoned) -> Option<Vec<Event>> {
    let mut events = Vec::new();
    if let Some(id) = text(value, "/session_id").filter(|id| said.session.as_deref() != Some(*id)) {
        said.session = Some(id.to_owned());
        events.push(Event::Session(id.to_owned()));
    }
    match text(value, "/type")? {
        "system" => said.model = text(value, "/model").map(str::to_owned).or(said.model.take()),
        "assistant" => {
            for part in parts(value) {
                events.push(assistant(part)?);
            }
            // Words of the tool itself are no answer of the model.
            if text(value, "/message/model") != Some("<synthetic>") {
                said.usage.turns += 1;
            }
        }
        "user" => events.extend(parts(value).iter().filter_map(result)),
        "rate_limit_event" => {
            let info = value.get("rate_limit_info")?;
            if text(info, "/status") == Some("rejected") {
                let until_ms =
                    info.get("resetsAt").and_then(Value::as_u64).and_then(|seconds| seconds.checked_mul(1_000));
                let what = text(info, "/rateLimitType").unwrap_or("usage");
                said.stop = Some(Stop::Limited { message: format!("{what} limit reached"), until_ms });
            }
        }
        "result" => {
            ended(value, said, now);
            events.push(Event::Used(said.usage));
        }
        _ => return None,
    }
    Some(events)
}

fn parts(value: &Value) -> &[Value] {
    value.pointer("/message/content").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

fn assistant(part: &Value) -> Option<Event> {
    Some(match text(part, "/type")? {
        "text" => Event::Text(text(part, "/text")?.to_owned()),
        "thinking" => Event::Thought(text(part, "/thinking")?.to_owned()),
        "redacted_thinking" => Event::Thought(String::new()),
        "tool_use" | "server_tool_use" => {
            let input = part.get("input").cloned().unwrap_or_default();
            let short = ["command", "file_path", "path", "pattern", "url", "query", "prompt"];
            let about = short.iter().find_map(|name| input.get(name)?.as_str().map(str::to_owned));
            Event::Tool { name: text(part, "/name")?.to_owned(), about: about.unwrap_or_else(|| input.to_string()) }
        }
        _ => return None,
    })
}

fn result(part: &Value) -> Option<Event> {
    (text(part, "/type")? == "tool_result").then(|| {
        let content = part.get("content").cloned().unwrap_or_default();
        let about = content.as_str().map_or_else(|| content.to_string(), str::to_owned);
        Event::ToolEnded { ok: part["is_error"] != true, about }
    })
}

fn ended(value: &Value, said: &mut Said, now: &Zoned) {
    said.usage.cached_tokens = number(value, "/usage/cache_read_input_tokens");
    said.usage.input_tokens = number(value, "/usage/input_tokens")
        + number(value, "/usage/cache_creation_input_tokens")
        + said.usage.cached_tokens;
    said.usage.output_tokens = number(value, "/usage/output_tokens");
    said.usage.turns = number(value, "/num_turns");
    said.usage.cost_micros = value["total_cost_usd"].as_f64().map(|dollars| (dollars * 1e6).round() as u64);
    said.structured = value.get("structured_output").filter(|value| !value.is_null()).cloned();
    let words = text(value, "/result").unwrap_or_default();
    let is_error = value["is_error"] == true || text(value, "/subtype") != Some("success");
    if !is_error {
        said.text = words.to_owned();
        said.stop = Some(Stop::Done);
    } else if matches!(said.stop, Some(Stop::Limited { until_ms: Some(_), .. })) {
        // It was told before, with its end.
    } else {
        let message = if words.is_empty() { text(value, "/subtype").unwrap_or("it gave no reason") } else { words };
        said.stop = Some(match number(value, "/api_error_status") {
            429 | 529 => limit::limited(message, now),
            _ => limit::stop(message, now),
        });
    }
}
