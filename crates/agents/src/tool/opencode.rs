//! opencode: `step_start`, `text`, `reasoning`, `tool_use`, `step_finish`, `error`. A run ends with a step whose reason is not its tools.
//! That it was turned away or cut off it says in its log alone, which comes by stderr, and then tries again for ever.

use super::{Event, Said, Stop, limit, number, text};
use jiff::Zoned;
use serde_json::Value;

pub(super) fn read(value: &Value, said: &mut Said, now: &Zoned) -> Option<Vec<Event>> {
    let mut events = Vec::new();
    if let Some(id) = text(value, "/sessionID").filter(|id| said.session.as_deref() != Some(*id)) {
        said.session = Some(id.to_owned());
        events.push(Event::Session(id.to_owned()));
    }
    match text(value, "/type")? {
        "step_start" => {}
        "text" => {
            text(value, "/part/text")?.clone_into(&mut said.text);
            events.push(Event::Text(said.text.clone()));
        }
        "reasoning" => events.push(Event::Thought(text(value, "/part/text")?.to_owned())),
        "tool_use" => {
            let state = value.pointer("/part/state")?;
            let about = text(state, "/input/command").or_else(|| text(state, "/title")).unwrap_or_default().to_owned();
            let came = text(state, "/output").or_else(|| text(state, "/error")).unwrap_or_default().to_owned();
            events.push(Event::Tool { name: text(value, "/part/tool")?.to_owned(), about });
            events.push(Event::ToolEnded { ok: text(state, "/status") == Some("completed"), about: came });
        }
        "step_finish" => {
            let cached = number(value, "/part/tokens/cache/read");
            said.usage.cached_tokens += cached;
            said.usage.input_tokens += number(value, "/part/tokens/input") + cached;
            said.usage.output_tokens += number(value, "/part/tokens/output") + number(value, "/part/tokens/reasoning");
            said.usage.turns += 1;
            let cost =
                value.pointer("/part/cost").and_then(Value::as_f64).map(|dollars| (dollars * 1e6).round() as u64);
            said.usage.cost_micros = said.usage.cost_micros.unwrap_or(0).checked_add(cost.unwrap_or(0));
            if text(value, "/part/reason") != Some("tool-calls") {
                said.stop = Some(Stop::Done);
            }
            events.push(Event::Used(said.usage));
        }
        "error" => {
            let message = text(value, "/error/data/message").or_else(|| text(value, "/error/name"));
            let message = message.unwrap_or("it gave no reason");
            said.stop = Some(match number(value, "/error/data/statusCode") {
                429 | 529 => limit::limited(message, now),
                _ => limit::stop(message, now),
            });
            events.push(Event::Trouble(message.to_owned()));
        }
        _ => return None,
    }
    Some(events)
}

/// A line of its log: `… message="stream error" … session.id=ses_1 small=false … error.error="AI_APICallError: …"`.
pub(super) fn aside(line: &str, said: &mut Said, now: &Zoned) -> Vec<Event> {
    // The small model is asked for a title, and nothing waits for that.
    if !line.contains(" message=\"stream error\" ") || !line.contains(" small=false ") {
        return Vec::new();
    }
    let mut events = Vec::new();
    let id = line.split_once(" session.id=").and_then(|(_, rest)| rest.split_whitespace().next());
    if let Some(id) = id.filter(|id| said.session.as_deref() != Some(*id)) {
        said.session = Some(id.to_owned());
        events.push(Event::Session(id.to_owned()));
    }
    let words = line.split_once(" error.error=").map_or(line, |(_, words)| words.trim_end());
    let words = serde_json::from_str::<String>(words).unwrap_or_else(|_| words.to_owned());
    events.push(Event::Again(limit::stop(&words, now)));
    events
}
