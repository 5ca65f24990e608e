//! Codex CLI: `thread.started`, `turn.*`, `item.*`, `error`.

use super::{Event, Said, Stop, limit, number, text};
use jiff::Zoned;
use serde_json::Value;

/// The model that a run uses whose entry names none: what its words say, and otherwise its configuration (`config.toml`).
pub(super) fn model(words: &[String], config: &str) -> Option<String> {
    let value_of = |short: &str, long: &str| {
        let values = words.iter().zip(words.iter().skip(1).map(Some).chain([None])).filter_map(|(word, next)| {
            let joined = word.strip_prefix(long).and_then(|rest| rest.strip_prefix('='));
            joined.or_else(|| next.filter(|_| word == short || word == long).map(String::as_str))
        });
        values.last().map(str::to_owned)
    };
    let overridden = words.iter().rev().find_map(|word| {
        let (name, value) = word.strip_prefix("--config=").unwrap_or(word).split_once('=')?;
        (name.trim() == "model").then(|| value.trim().trim_matches('"').to_owned())
    });
    let config: toml::Table = toml::from_str(config).unwrap_or_default();
    let text = |table: &toml::Table, name: &str| Some(table.get(name)?.as_str()?.to_owned());
    let profile = value_of("-p", "--profile").or_else(|| text(&config, "profile"));
    let of_profile = || text(config.get("profiles")?.get(profile.as_deref()?)?.as_table()?, "model");
    value_of("-m", "--model").or(overridden).or_else(of_profile).or_else(|| text(&config, "model"))
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_is_what_the_words_say_then_the_profile_then_the_configuration() {
        let config = "model = \"usual\"\n[profiles.deep]\nmodel = \"thorough\"\n";
        for (words, config, expected) in [
            ("", config, Some("usual")),
            ("-s read-only", config, Some("usual")),
            ("--profile deep", config, Some("thorough")),
            ("-p nowhere", config, Some("usual")),
            ("-m given -p deep", config, Some("given")),
            ("--model=given", config, Some("given")),
            ("-c model=\"given\" -c other=1", config, Some("given")),
            ("", "profile = \"deep\"\n[profiles.deep]\nmodel = \"thorough\"\n", Some("thorough")),
            ("", "", None),
            ("-m", "this is = no [toml", None),
        ] {
            let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
            assert_eq!(model(&words, config).as_deref(), expected, "{words:?}");
        }
    }
}
