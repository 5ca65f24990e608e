//! A tool that is not known here, by what its entry says about it: how it is given its prompt, and where in its output things are.

use super::{Event, Said, Stop, limit};
use jiff::Zoned;
use serde::Deserialize;
use serde_json::Value;

/// How a tool is understood.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Generic {
    /// How it gets its prompt.
    pub prompt: Prompt,
    /// What it says.
    pub output: Output,
    /// Where its words are: a JSON pointer (RFC 6901) into each value, as are all that follow.
    pub text: Option<String>,
    /// Where the conversation's id is.
    pub session: Option<String>,
    /// The words that go on with a conversation; `{session}` is its id.
    pub resume: Vec<String>,
    /// Where an error is, if it has one.
    pub error: Option<String>,
    /// Where the model's name is.
    pub model: Option<String>,
    /// Where it says what it has used.
    pub usage: Uses,
}

/// Where it says what it has used.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Uses {
    /// Tokens that went in.
    pub input: Option<String>,
    /// Those of them that were cached.
    pub cached: Option<String>,
    /// Tokens that came out.
    pub output: Option<String>,
    /// Money, in dollars.
    pub cost: Option<String>,
}

/// How a tool gets its prompt.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Prompt {
    /// On stdin, where nobody else sees it.
    #[default]
    Stdin,
    /// As its last word. Everybody on this machine sees it as long as it runs.
    Argument,
}

/// What a tool says.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Output {
    /// Words for people: all of them are the result.
    #[default]
    Text,
    /// One JSON value, at its end.
    Json,
    /// A JSON value in each line.
    Jsonl,
}

impl Generic {
    pub(crate) fn check(&self) -> Result<(), String> {
        let named = [
            ("text", &self.text),
            ("session", &self.session),
            ("error", &self.error),
            ("model", &self.model),
            ("usage.input", &self.usage.input),
            ("usage.cached", &self.usage.cached),
            ("usage.output", &self.usage.output),
            ("usage.cost", &self.usage.cost),
        ];
        let said = named.iter().filter_map(|(name, pointer)| Some((name, pointer.as_deref()?)));
        for (name, pointer) in said.clone() {
            if !pointer.is_empty() && !pointer.starts_with('/') {
                return Err(format!("`cli`: `{name}` must be a JSON pointer, beginning with `/`"));
            }
        }
        if self.output == Output::Text && said.count() > 0 {
            return Err("`cli`: plain text has no JSON pointers; set `output = \"json\"` or \"jsonl\"".to_owned());
        }
        if self.output != Output::Text && self.text.is_none() {
            return Err("`cli`: `text` is missing: the JSON pointer to the answer".to_owned());
        }
        if !self.resume.is_empty()
            && (self.session.is_none() || !self.resume.iter().any(|word| word.contains("{session}")))
        {
            return Err("`cli`: `resume` needs `session`, and `{session}` in one of its arguments".to_owned());
        }
        Ok(())
    }

    /// Takes in one value. `None`: it says nothing that is looked for.
    pub(super) fn read(&self, value: &Value, said: &mut Said, now: &Zoned) -> Option<Vec<Event>> {
        let at = |pointer: &Option<String>| {
            pointer.as_deref().and_then(|pointer| value.pointer(pointer)).filter(|found| !found.is_null())
        };
        let number = |pointer| at(pointer).and_then(Value::as_u64);
        let mut events = Vec::new();
        if let Some(id) = at(&self.session).map(words).filter(|id| said.session.as_ref() != Some(id)) {
            said.session = Some(id.clone());
            events.push(Event::Session(id));
        }
        if let Some(model) = at(&self.model) {
            said.model = Some(words(model));
        }
        if let Some(found) = at(&self.text) {
            let text = words(found);
            said.text.clone_from(&text);
            said.structured = (found.is_object() || found.is_array()).then(|| found.clone());
            said.stop.get_or_insert(Stop::Done);
            events.push(Event::Text(text));
        }
        let used = [number(&self.usage.input), number(&self.usage.cached), number(&self.usage.output)];
        let cost = at(&self.usage.cost).and_then(Value::as_f64);
        if used.iter().any(Option::is_some) || cost.is_some() {
            let usage = &mut said.usage;
            usage.input_tokens = used[0].unwrap_or(usage.input_tokens);
            usage.cached_tokens = used[1].unwrap_or(usage.cached_tokens);
            usage.output_tokens = used[2].unwrap_or(usage.output_tokens);
            usage.cost_micros = cost.map(|dollars| (dollars * 1e6).round() as u64).or(usage.cost_micros);
            usage.turns += 1;
            events.push(Event::Used(*usage));
        }
        if let Some(error) = at(&self.error).filter(|error| **error != Value::Bool(false)) {
            let message = words(error);
            said.stop = Some(limit::stop(&message, now));
            events.push(Event::Trouble(message));
        }
        (!events.is_empty()).then_some(events)
    }
}

/// A text as it is, anything else as JSON.
fn words(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
