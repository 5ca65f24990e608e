//! Gemini CLI: `init`, `message`, `tool_use`, `tool_result`, `error`, `result`. The exit code can be 0 where the result is an error.

use super::{Event, Said, Stop, limit, number, text};
use jiff::Zoned;
use serde_json::Value;

pub(super) fn read(value: &Value, said: &mut Said, now: &Zoned) -> Option<Vec<Event>> {
    Some(match text(value, "/type")? {
        "init" => {
            said.model = text(value, "/model").map(str::to_owned);
            let id = text(value, "/session_id")?.to_owned();
            said.session = Some(id.clone());
            vec![Event::Session(id)]
        }
        "message" if text(value, "/role") == Some("user") => Vec::new(),
        "message" => {
            let words = text(value, "/content")?;
            if value["delta"] == true {
                said.text.push_str(words);
            } else {
                words.clone_into(&mut said.text);
            }
            vec![Event::Text(words.to_owned())]
        }
        "tool_use" => {
            // Only what comes after the last tool is the result.
            said.text.clear();
            let about = text(value, "/parameters/command").map(str::to_owned);
            let about = about.unwrap_or_else(|| value["parameters"].to_string());
            vec![Event::Tool { name: text(value, "/tool_name")?.to_owned(), about }]
        }
        "tool_result" => {
            let about = text(value, "/output").unwrap_or_default().to_owned();
            vec![Event::ToolEnded { ok: text(value, "/status") == Some("success"), about }]
        }
        "error" => vec![Event::Trouble(text(value, "/message").unwrap_or_default().to_owned())],
        "result" => {
            said.usage.input_tokens = number(value, "/stats/input_tokens");
            said.usage.cached_tokens = number(value, "/stats/cached");
            said.usage.output_tokens = number(value, "/stats/output_tokens");
            said.usage.turns += 1;
            said.stop = Some(if text(value, "/status") == Some("success") {
                Stop::Done
            } else {
                limit::stop(text(value, "/error/message").unwrap_or("it gave no reason"), now)
            });
            vec![Event::Used(said.usage)]
        }
        _ => return None,
    })
}

/// What it says to people when it tries again: `Attempt 1 failed with status 429. Retrying with backoff... …`.
pub(super) fn aside(line: &str, now: &Zoned) -> Vec<Event> {
    if !line.starts_with("Attempt ") || !line.contains(" failed") || !line.contains("Retrying") {
        return Vec::new();
    }
    vec![Event::Again(if line.contains("429") { limit::limited(line, now) } else { limit::stop(line, now) })]
}
