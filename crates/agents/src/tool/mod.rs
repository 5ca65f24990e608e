//! Agent tools: programs that talk to a language model and say in lines of JSON what they do.
//!
//! Each has its own words for the same few things. Here they become one set of [`Event`]s, and at the end one [`Said`]. A line that is
//! not understood is kept as such and never an error: these tools change weekly.

mod claude;
mod codex;
mod event;
mod gemini;
pub(crate) mod limit;
mod opencode;
mod run;
#[cfg(test)]
mod tests;

pub use event::{Event, Said, Stop, Usage};
pub(crate) use run::{Run, prompt};

use jiff::Zoned;
use serde::Deserialize;
use serde_json::Value;

/// The tools whose words are understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tool {
    /// Codex CLI, `codex exec --json`.
    Codex,
    /// Claude Code, `claude -p --output-format stream-json`.
    Claude,
    /// Gemini CLI, `gemini -o stream-json`.
    Gemini,
    /// opencode, `opencode run --format json`.
    Opencode,
    /// aider: it says plain text.
    Aider,
}

/// Takes in what a tool says, line by line.
#[derive(Debug)]
pub struct Transcript {
    tool: Tool,
    said: Said,
}

impl Transcript {
    /// Of a run of this tool.
    pub fn new(tool: Tool) -> Self {
        Self { tool, said: Said::default() }
    }

    /// Takes in one line; `now` is for words like "try again at 3 PM".
    pub fn line(&mut self, line: &[u8], now: &Zoned) -> Vec<Event> {
        if line.trim_ascii().is_empty() {
            return Vec::new();
        }
        if self.tool == Tool::Aider {
            let text = String::from_utf8_lossy(line.trim_ascii_end()).into_owned();
            self.said.text.push_str(&text);
            self.said.text.push('\n');
            return vec![Event::Text(text)];
        }
        let Ok(value) = serde_json::from_slice::<Value>(line) else {
            self.said.unknown += 1;
            return vec![Event::Unknown(String::from_utf8_lossy(line).into_owned())];
        };
        let read = match self.tool {
            Tool::Codex => codex::read(&value, &mut self.said, now),
            Tool::Claude => claude::read(&value, &mut self.said, now),
            Tool::Gemini => gemini::read(&value, &mut self.said, now),
            Tool::Opencode => opencode::read(&value, &mut self.said, now),
            Tool::Aider => None,
        };
        read.unwrap_or_else(|| {
            self.said.unknown += 1;
            vec![Event::Unknown(value.to_string())]
        })
    }

    /// Everything that was said so far.
    pub fn said(&self) -> &Said {
        &self.said
    }

    /// Everything that was said.
    pub fn finish(mut self) -> Said {
        self.said.text.truncate(self.said.text.trim_end().len());
        self.said
    }
}

/// The text at this place, or none.
pub(crate) fn text<'a>(value: &'a Value, pointer: &str) -> Option<&'a str> {
    value.pointer(pointer)?.as_str()
}

/// The number at this place; 0 if there is none.
pub(crate) fn number(value: &Value, pointer: &str) -> u64 {
    value.pointer(pointer).and_then(Value::as_u64).unwrap_or(0)
}
