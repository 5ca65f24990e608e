//! What was answered: events of a stream, or one document, in one set of words for all apis.
//!
//! Each api says in its own way that it has come to its end. An answer without that is cut off, however well it reads, and never a result.

mod chat;
mod messages;
mod plain;
mod responses;
#[cfg(test)]
mod tests;

use super::{config::Api, limit::Refusal, sse};
use crate::{
    end::{self, End},
    tool::{Event, Said, Stop, Usage},
};
use jiff::Zoned;
use relaymesh_core::{canonical, content::Media};
use serde_json::Value;

/// Takes in an answer.
#[derive(Debug)]
pub struct Answer {
    api: Api,
    said: Said,
    /// A thought that is not over yet.
    thought: String,
    /// How it says that it ends, before it has.
    reason: Option<String>,
    /// The tool that it wants used.
    call: Option<String>,
    /// Whether another attempt would fail alike.
    is_for_good: bool,
}

impl Answer {
    /// To a request in the words of this api.
    pub fn new(api: Api) -> Self {
        let said = Said::default();
        Self { api, said, thought: String::new(), reason: None, call: None, is_for_good: false }
    }

    /// Takes in an event of its stream. Words come as they are said: a text is a piece, not a line.
    pub fn take_in(&mut self, message: &sse::Message, now: &Zoned) -> Vec<Event> {
        if self.api == Api::Json {
            return plain::event(message, self);
        }
        if message.data.trim() == "[DONE]" {
            // Some say no reason before it.
            self.said.stop.get_or_insert(Stop::Done);
            return Vec::new();
        }
        self.document(&message.data, now)
    }

    /// Takes in an answer that is one document.
    pub fn take_whole(&mut self, body: &[u8], now: &Zoned) -> Vec<Event> {
        self.document(&String::from_utf8_lossy(body), now)
    }

    fn document(&mut self, text: &str, now: &Zoned) -> Vec<Event> {
        let Ok(value) = serde_json::from_str::<Value>(text) else {
            self.said.unknown += 1;
            return vec![Event::Unknown(text.to_owned())];
        };
        let read = match self.api {
            Api::Chat => chat::read(&value, self, now),
            Api::Responses => responses::read(&value, self, now),
            Api::Messages => messages::read(&value, self, now),
            Api::Json => None,
        };
        read.unwrap_or_else(|| {
            self.said.unknown += 1;
            vec![Event::Unknown(text.to_owned())]
        })
    }

    /// What was said so far.
    pub fn said(&self) -> &Said {
        &self.said
    }

    /// Whether it has said how it ended; nothing that counts comes after that, but what it has used.
    pub fn is_over(&self) -> bool {
        self.said.stop.is_some()
    }

    /// How the attempt ended. `wants_json`: the answer was to be JSON.
    pub fn judge(&self, wants_json: bool) -> End {
        let failed = |error: String, retryable| End::Failed { error, retryable };
        match &self.said.stop {
            None => failed("the answer was cut off".to_owned(), true),
            Some(Stop::Failed(why)) => failed(why.clone(), !self.is_for_good),
            Some(Stop::Limited { message, until_ms }) => {
                End::Limited { reason: format!("the provider refused the request: {message}"), until_ms: *until_ms }
            }
            Some(Stop::Done) if self.api == Api::Json => end::of_output(self.said.text.clone().into_bytes(), false),
            Some(Stop::Done) if wants_json => match canonical::validate(self.said.text.as_bytes()) {
                Ok(()) => End::Done { media: Media::Json, result: self.said.text.clone().into_bytes() },
                Err(error) => failed(format!("it was asked for JSON and said something else: {error}"), true),
            },
            Some(Stop::Done) => End::Done { media: Media::Text, result: self.said.text.clone().into_bytes() },
        }
    }

    /// Words, after whatever it thought before them.
    fn say(&mut self, piece: &str) -> Vec<Event> {
        if piece.is_empty() {
            return Vec::new();
        }
        let mut events = self.thought_is_over();
        self.said.text.push_str(piece);
        events.push(Event::Text(piece.to_owned()));
        events
    }

    fn think(&mut self, piece: &str) {
        self.thought.push_str(piece);
    }

    fn thought_is_over(&mut self) -> Vec<Event> {
        let thought = std::mem::take(&mut self.thought);
        if thought.trim().is_empty() { Vec::new() } else { vec![Event::Thought(thought)] }
    }

    /// It wants a tool used. Nobody here does that.
    fn call(&mut self, name: &str) -> Vec<Event> {
        self.call.get_or_insert_with(|| name.to_owned());
        vec![Event::Tool { name: name.to_owned(), about: String::new() }]
    }

    fn used(&mut self, usage: Usage) -> Vec<Event> {
        let is_news = self.said.usage != usage;
        self.said.usage = usage;
        if is_news { vec![Event::Used(usage)] } else { Vec::new() }
    }

    /// It has ended for this reason, in the words of any api.
    fn end(&mut self, reason: &str) {
        let for_good = |why: String| Some(Stop::Failed(why));
        let stop = match reason {
            "length" | "max_tokens" | "max_output_tokens" => {
                for_good("its answer was longer than it may be; `max_tokens` says how long that is".to_owned())
            }
            "model_context_window_exceeded" => {
                for_good("its input and answer are longer than the model can take".to_owned())
            }
            "content_filter" | "refusal" => for_good(format!("it refuses ({reason})")),
            "tool_calls" | "function_call" | "tool_use" => {
                let name = self.call.as_deref().unwrap_or("a tool");
                for_good(format!("it wants `{name}` to be called, and there is nobody here who does that"))
            }
            "pause_turn" => for_good("it stops in the middle and wants to be asked again".to_owned()),
            _ => None,
        };
        self.is_for_good |= stop.is_some();
        self.said.stop = Some(stop.unwrap_or(Stop::Done));
    }

    /// It has ended with an error.
    fn fail(&mut self, error: &Value, now: &Zoned) -> Vec<Event> {
        let refusal = Refusal::of(error);
        self.is_for_good |= refusal.is_for_good();
        self.said.stop = Some(refusal.stop(now));
        vec![Event::Trouble(refusal.message)]
    }
}
