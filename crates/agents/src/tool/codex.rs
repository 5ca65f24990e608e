//! Codex CLI: `thread.started`, `turn.*`, `item.*`, `error`.

use super::{Event, Said, Stop, limit, number, text};
use jiff::Zoned;
use serde_json::Value;

pub(super) fn read(value: &Value, said: &mut Said, now: &Zoned) -> Option<Vec<Event>> {
    Some(match text(value, "/type")? {
        "thread.started" => {
            let id = text(value, "/thread_id")?.to_owned();
            said.session = Some(id.clone());
            vec![Event::Session(id)]
        }
        "turn.started" => Vec::new(),
        "turn.completed" => {
            // What it says here is the sum of the thread so far.
            said.usage.input_tokens = number(value, "/usage/input_tokens");
            said.usage.cached_tokens = number(value, "/usage/cached_input_tokens");
            said.usage.output_tokens = number(value, "/usage/output_tokens");
            said.usage.turns += 1;
            said.stop = Some(Stop::Done);
            vec![Event::Used(said.usage)]
        }
        "turn.failed" => {
            let message = text(value, "/error/message").unwrap_or("it gave no reason");
            said.stop = Some(limit::stop(message, now));
            vec![Event::Trouble(message.to_owned())]
        }
        // The end of the turn says it again, and says whether it was the end.
        "error" => vec![Event::Trouble(text(value, "/message")?.to_owned())],
        "item.started" => item(value, said, false)?,
        "item.updated" => Vec::new(),
        "item.completed" => item(value, said, true)?,
        _ => return None,
    })
}

fn item(value: &Value, said: &mut Said, is_over: bool) -> Option<Vec<Event>> {
    let item = value.get("item")?;
    let field = |name: &str| item.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (name, about) = match (text(item, "/type")?, is_over) {
        ("agent_message", true) => {
            said.text = field("text");
            return Some(vec![Event::Text(said.text.clone())]);
        }
        ("reasoning", true) => return Some(vec![Event::Thought(field("text"))]),
        ("error", true) => return Some(vec![Event::Trouble(field("message"))]),
        ("agent_message" | "reasoning" | "error", false) => return Some(Vec::new()),
        ("command_execution", _) => ("command".to_owned(), field("command")),
        ("file_change", _) => ("file change".to_owned(), paths(item)),
        ("mcp_tool_call", _) => (format!("{}.{}", field("server"), field("tool")), item["arguments"].to_string()),
        ("web_search", _) => ("web search".to_owned(), field("query")),
        ("todo_list", _) => return Some(Vec::new()),
        _ => return None,
    };
    if !is_over {
        return Some(vec![Event::Tool { name, about }]);
    }
    let ok = item.get("exit_code").and_then(Value::as_i64).unwrap_or(0) == 0 && field("status") != "failed";
    let came = if name == "command" { field("aggregated_output") } else { about.clone() };
    let ended = Event::ToolEnded { ok, about: came };
    // File changes and searches are told of once, when they are over.
    let began = (name == "file change" || name == "web search").then_some(Event::Tool { name, about });
    Some(began.into_iter().chain([ended]).collect())
}

fn paths(item: &Value) -> String {
    let changes = item["changes"].as_array().map(Vec::as_slice).unwrap_or_default();
    changes.iter().filter_map(|change| text(change, "/path")).collect::<Vec<_>>().join(", ")
}
