//! What a tool says, in one set of words.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One thing that a tool said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "event", content = "what")]
pub enum Event {
    /// The conversation's id: with it a later run goes on where this one stopped.
    Session(String),
    /// Words for people.
    Text(String),
    /// What it thinks.
    Thought(String),
    /// It uses a tool of its own.
    Tool {
        /// Which.
        name: String,
        /// For what: the command, the file.
        about: String,
    },
    /// The tool has come to its end.
    ToolEnded {
        /// Whether it went well.
        ok: bool,
        /// What came of it.
        about: String,
    },
    /// What it has used so far, all in all.
    Used(Usage),
    /// Something went wrong; it may go on all the same.
    Trouble(String),
    /// It was turned away or cut off, and tries again by itself. Without that, this would have been its end.
    Again(Stop),
    /// A line that is not understood.
    Unknown(String),
}

impl Event {
    /// One line for people, if it says anything to them.
    pub fn for_people(&self) -> Option<String> {
        let first = |text: &str| text.trim().lines().next().unwrap_or_default().to_owned();
        Some(match self {
            Self::Session(_) | Self::Again(_) | Self::Unknown(_) => return None,
            Self::Text(text) => text.trim().to_owned(),
            Self::Thought(text) if text.trim().is_empty() => return None,
            Self::Thought(text) => format!("~ {}", first(text)),
            Self::Tool { name, about } => format!("> {name}: {}", first(about)),
            Self::ToolEnded { ok: true, about } => format!("< {}", first(about)),
            Self::ToolEnded { ok: false, about } => format!("< failed: {}", first(about)),
            Self::Used(used) => {
                let cost = used.cost_micros.filter(|cost| *cost > 0);
                let cost = cost.map_or_else(String::new, |cost| format!(", ${:.4}", cost as f64 / 1e6));
                let Usage { input_tokens, cached_tokens, output_tokens, turns, .. } = used;
                format!(
                    "used {input_tokens} tokens in ({cached_tokens} cached), {output_tokens} out, {turns} turns{cost}"
                )
            }
            Self::Trouble(text) => format!("! {}", first(text)),
        })
    }
}

/// What a run has used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens that went in, cached ones among them.
    pub input_tokens: u64,
    /// Those of them that were cached.
    pub cached_tokens: u64,
    /// Tokens that came out, those of its thoughts among them.
    pub output_tokens: u64,
    /// Answers of the model.
    pub turns: u64,
    /// Money, in millionths of a dollar, where the tool knows it.
    pub cost_micros: Option<u64>,
}

impl Usage {
    /// What was used since it stood at `before`.
    pub(crate) fn since(self, before: Self) -> Self {
        Self {
            input_tokens: self.input_tokens.saturating_sub(before.input_tokens),
            cached_tokens: self.cached_tokens.saturating_sub(before.cached_tokens),
            output_tokens: self.output_tokens.saturating_sub(before.output_tokens),
            // Nobody counts those, or the money, over several runs.
            turns: self.turns,
            cost_micros: self.cost_micros,
        }
    }
}

/// All that a run said.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Said {
    /// The conversation's id.
    pub session: Option<String>,
    /// The model that answered, where the tool says so.
    pub model: Option<String>,
    /// The last words: its result.
    pub text: String,
    /// The result in the form that it was asked for.
    pub structured: Option<Value>,
    /// What it has used.
    pub usage: Usage,
    /// How it ended. `None`: it said nothing about its end, so it was cut off.
    pub stop: Option<Stop>,
    /// Lines that were not understood.
    pub unknown: u32,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// By itself.
    Done,
    /// It failed, for the reason that it gave.
    Failed(String),
    /// Its provider has enough of it: the request was not even tried.
    Limited {
        /// In the provider's words.
        message: String,
        /// Until when, in milliseconds since 1970, if it said so.
        until_ms: Option<u64>,
    },
}
