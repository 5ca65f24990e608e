//! Agent tools: programs that talk to a language model and say in lines of JSON what they do.
//!
//! Each has its own words for the same few things. Here they become one set of [`Event`]s, and at the end one [`Said`]. A line that is
//! not understood is kept as such and never an error: these tools change weekly.

mod aider;
mod claude;
mod codex;
mod event;
mod gemini;
mod generic;
pub(crate) mod limit;
mod opencode;
mod patience;
mod run;
#[cfg(test)]
mod tests;

pub use event::{Event, Said, Stop, Usage};
pub use generic::{Generic, Output, Prompt, Uses};
pub(crate) use run::{Run, Wanted, in_a_form, prompt};

use jiff::Zoned;
use relaymesh_core::canonical;
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
    /// aider: it says plain words, which are understood all the same.
    Aider,
    /// Any other, as its entry says.
    Generic,
}

/// An agent tool, as an agent uses it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setup {
    /// Which tool.
    pub tool: Tool,
    /// The model, as the tool calls it.
    pub model: Option<String>,
    /// More words for the tool.
    pub args: Vec<String>,
    /// How [`Tool::Generic`] is understood; the others are known.
    pub generic: Option<Box<Generic>>,
}

impl Setup {
    /// The model that a run uses, if that is known before it says so; `config` is the tool's own configuration.
    pub(crate) fn used_model(&self, config: impl FnOnce() -> Option<String>) -> Option<String> {
        match self.tool {
            Tool::Codex if self.model.is_none() => codex::model(&self.args, &config().unwrap_or_default()),
            Tool::Codex | Tool::Claude | Tool::Gemini | Tool::Opencode | Tool::Aider | Tool::Generic => {
                self.model.clone()
            }
        }
    }

    /// Whether its prompt is its last word, where others can see it.
    pub(crate) fn is_prompted_by_argument(&self) -> bool {
        self.generic.as_ref().is_some_and(|generic| generic.prompt == Prompt::Argument)
    }
}

/// Takes in what a tool says, line by line.
#[derive(Debug)]
pub struct Transcript {
    tool: Tool,
    /// How a tool is understood that is not known here.
    generic: Box<Generic>,
    /// What it said, of one whose words are one value in many lines.
    whole: Vec<u8>,
    aider: aider::Reader,
    said: Said,
}

impl Transcript {
    /// Of a run of this tool.
    pub fn new(tool: Tool) -> Self {
        Self {
            tool,
            generic: Box::default(),
            whole: Vec::new(),
            aider: aider::Reader::default(),
            said: Said::default(),
        }
    }

    /// Of a run of a tool that is not known here.
    pub fn generic(generic: Box<Generic>) -> Self {
        Self { generic, ..Self::new(Tool::Generic) }
    }

    /// Whether it says plain words, and so nothing about its end.
    pub(crate) fn is_plain(&self) -> bool {
        self.tool == Tool::Generic && self.generic.output == Output::Text
    }

    /// Takes in one line; `now` is for words like "try again at 3 PM".
    pub fn line(&mut self, line: &[u8], now: &Zoned) -> Vec<Event> {
        if self.tool == Tool::Aider {
            return self.aider.read(&String::from_utf8_lossy(line), &mut self.said, now);
        }
        if line.trim_ascii().is_empty() {
            return Vec::new();
        }
        if self.tool == Tool::Generic && self.generic.output == Output::Json {
            self.whole.extend_from_slice(line);
            return Vec::new();
        }
        if self.is_plain() {
            let text = String::from_utf8_lossy(line.trim_ascii_end()).into_owned();
            self.said.text.push_str(&text);
            self.said.text.push('\n');
            return vec![Event::Text(text)];
        }
        let Ok(value) = serde_json::from_slice::<Value>(line) else {
            self.said.unknown += 1;
            return vec![Event::Unknown(String::from_utf8_lossy(line).into_owned())];
        };
        self.document(&value, line, now)
    }

    /// Takes in one line of what it says beside its answers: some tell only there that they try again.
    pub fn aside(&mut self, line: &str, now: &Zoned) -> Vec<Event> {
        match self.tool {
            Tool::Gemini => gemini::aside(line, now),
            Tool::Opencode => opencode::aside(line, &mut self.said, now),
            Tool::Codex | Tool::Claude | Tool::Aider | Tool::Generic => Vec::new(),
        }
    }

    /// There are no more lines: one whose words are one value has said it now.
    pub fn close(&mut self, now: &Zoned) -> Vec<Event> {
        let whole = std::mem::take(&mut self.whole);
        if whole.is_empty() {
            return Vec::new();
        }
        match serde_json::from_slice::<Value>(&whole) {
            Ok(value) => self.document(&value, &whole, now),
            Err(_) => {
                self.said.unknown += 1;
                vec![Event::Unknown(String::from_utf8_lossy(&whole).into_owned())]
            }
        }
    }

    /// A value and its text. A result in it obeys the rule for results: no key twice, no number that would be rounded.
    fn document(&mut self, value: &Value, text: &[u8], now: &Zoned) -> Vec<Event> {
        let had_result = self.said.structured.is_some();
        let events = self.value(value, now);
        if let (false, true, Err(error)) = (had_result, self.said.structured.is_some(), canonical::validate(text)) {
            self.said.structured = None;
            self.said.stop = Some(Stop::Failed(format!("its result is JSON that programs read differently: {error}")));
        }
        events
    }

    fn value(&mut self, value: &Value, now: &Zoned) -> Vec<Event> {
        let read = match self.tool {
            Tool::Codex => codex::read(value, &mut self.said, now),
            Tool::Claude => claude::read(value, &mut self.said, now),
            Tool::Gemini => gemini::read(value, &mut self.said, now),
            Tool::Opencode => opencode::read(value, &mut self.said, now),
            Tool::Generic => self.generic.read(value, &mut self.said, now),
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

/// No run uses more of anything; what a tool says beyond it is taken for this much, so that sums of such numbers are numbers.
const NUMBER_MAX: u64 = 1 << 40;

/// The number at this place; 0 if there is none.
pub(crate) fn number(value: &Value, pointer: &str) -> u64 {
    value.pointer(pointer).and_then(Value::as_u64).unwrap_or(0).min(NUMBER_MAX)
}
