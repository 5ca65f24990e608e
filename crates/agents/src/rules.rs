//! What an agent's entry says about every step of it: how long, how often, and whether a person is asked first (R27).
//!
//! The tempting place for the last is the command that submits. But tasks come by other ways too, so the node itself puts the question on the
//! log when a step is submitted, and looks again when the step begins: whoever agreed has agreed to this program, not to what stands in
//! `agents.toml` a day later.

use crate::agent::{Agent, Kind, Process};
use relaymesh_core::{
    backoff::Backoff,
    content::ContentRef,
    hash::Hash,
    name::Name,
    task::{
        request::duration,
        spec::{Ask, RetryPolicy, StepSpec},
    },
};
use serde::Deserialize;

/// How many characters of an input a question shows.
const SHOWN_CHARS_MAX: usize = 240;

/// How many characters of a command a question shows.
const COMMAND_CHARS_MAX: usize = 400;

/// How often and how soon a failed step is tried again, if the step does not say.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Retry {
    /// Attempts in all.
    pub max_attempts: Option<u32>,
    /// Time before the second attempt, in milliseconds.
    #[serde(alias = "base_backoff_ms", deserialize_with = "duration")]
    pub base_backoff: Option<u64>,
    /// The longest time between two attempts, in milliseconds.
    #[serde(alias = "max_backoff_ms", deserialize_with = "duration")]
    pub max_backoff: Option<u64>,
}

impl Retry {
    /// What holds for a step of the agent that says nothing, if `otherwise` holds for an agent that says nothing.
    pub fn policy(self, otherwise: RetryPolicy) -> RetryPolicy {
        RetryPolicy {
            max_attempts: self.max_attempts.unwrap_or(otherwise.max_attempts),
            backoff: Backoff {
                base_ms: self.base_backoff.unwrap_or(otherwise.backoff.base_ms),
                max_ms: self.max_backoff.unwrap_or(otherwise.backoff.max_ms),
            },
        }
    }
}

/// Whether a person is asked before a step of the agent begins.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged, expecting = "`confirm` must be true, false, or a list of words")]
pub enum Confirm {
    /// Always, or never.
    Each(bool),
    /// If one of these words stands in the input, in capitals or not.
    Words(Vec<String>),
}

impl Default for Confirm {
    fn default() -> Self {
        Self::Each(false)
    }
}

impl Confirm {
    /// Whether a step with this input needs a person. Of an input that is not known it is assumed.
    fn asks(&self, input: Option<&[u8]>) -> bool {
        match (self, input) {
            (Self::Each(always), _) => *always,
            (Self::Words(words), None) => !words.is_empty(),
            (Self::Words(words), Some(input)) => {
                let text = String::from_utf8_lossy(input).to_lowercase();
                words.iter().any(|word| text.contains(&word.to_lowercase()))
            }
        }
    }

    pub(crate) fn check(&self) -> Result<(), String> {
        match self {
            Self::Words(words) if words.is_empty() => {
                Err("`confirm` is an empty list: use true, false, or words".to_owned())
            }
            Self::Words(words) if words.iter().any(|word| word.trim().is_empty()) => {
                Err("a word of `confirm` is empty".to_owned())
            }
            Self::Words(_) | Self::Each(_) => Ok(()),
        }
    }
}

impl Agent {
    /// Adds to a step that is submitted what this agent asks of every step: its time, and the question to a person. `input` is what it is
    /// given, if that is known by now.
    pub fn impose(&self, name: &Name, step: &mut StepSpec, input: Option<&[u8]>) {
        step.timeout_ms = step.timeout_ms.or(self.terms.timeout_ms);
        let known = input.filter(|_| !step.is_templated() && step.foreach().is_none());
        if !self.terms.confirm.asks(known) {
            return;
        }
        let given = match (&step.input, known) {
            (Some(content), Some(bytes)) => shown(content, bytes),
            (Some(content), None) if step.is_templated() => {
                format!("with an input that is worked out from {}", shown(content, input.unwrap_or_default()))
            }
            (Some(content), None) => format!("with an input of {} bytes, {}", content.len, content.hash),
            (None, _) => "with what the steps before it deliver".to_owned(),
        };
        let each = step.foreach().map(|list| format!(", once for each of {}", cut(list, SHOWN_CHARS_MAX)));
        let question = format!("{} {given}{}", self.runs(name), each.unwrap_or_default());
        let (before, deadline_ms) = match step.approve.take() {
            Some(Ask { text, deadline_ms }) => (format!("{text} — "), deadline_ms),
            None => (String::new(), None),
        };
        step.approve = Some(Ask { text: format!("{before}{question}"), deadline_ms });
    }

    /// Whether a step may begin to which somebody has said yes when they were asked this. The error says why not.
    pub fn may_begin(&self, name: &Name, asked: Option<&str>, input: Option<&[u8]>) -> Result<(), String> {
        if !self.terms.confirm.asks(input) {
            return Ok(());
        }
        match asked {
            Some(text) if text.contains(&self.runs(name)) => Ok(()),
            Some(_) => Err(format!(
                "the definition of agent `{name}` has changed since the approval: submit the task again for a new approval"
            )),
            None => Err(format!(
                "agent `{name}` now needs an approval, but this task was submitted before that: submit it again"
            )),
        }
    }

    /// Exactly what runs, in one line.
    fn runs(&self, name: &Name) -> String {
        match &self.kind {
            Kind::Process(process) => format!("Agent {name} runs {}", cut(&line(process), COMMAND_CHARS_MAX)),
            Kind::Http(http) => {
                let shown = http.shown_url();
                // What is hidden counts all the same: agreed is agreed to this very url.
                let hidden = if shown == http.text {
                    String::new()
                } else {
                    format!(" ({:.8})", Hash::sha256(http.text.as_bytes()).to_string())
                };
                format!("Agent {name} asks {}{hidden}", cut(&shown, COMMAND_CHARS_MAX))
            }
            Kind::Inbox => format!("Agent {name} is asked in its inbox"),
        }
    }
}

/// The command line, as a shell would have to be told it.
fn line(process: &Process) -> String {
    let args = process.tool().map_or(&[][..], |setup| &setup.args);
    let words: Vec<String> = process.command.iter().chain(args).map(|word| quoted(word)).collect();
    words.join(" ")
}

/// A word as a shell would have to be told it, so that nobody takes two words for one.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '/' | ':' | '=' | ',' | '@' | '+');
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

fn shown(content: &ContentRef, bytes: &[u8]) -> String {
    let text = cut(&String::from_utf8_lossy(bytes), SHOWN_CHARS_MAX);
    format!("with {text} ({} bytes, {})", content.len, content.hash)
}

fn cut(text: &str, chars_max: usize) -> String {
    match text.char_indices().nth(chars_max) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Agents;
    use relaymesh_core::task::request::Request;
    use serde_json::json;
    use std::path::Path;

    fn agent(extra: &str) -> (Name, Agent) {
        let name: Name = "deploy".parse().unwrap();
        let text = format!("[agents.deploy]\ncommand = [\"ship it\", \"--prod\"]\n{extra}\n");
        let agent = Agents::parse(&text, Path::new("/nowhere")).unwrap().get(&name).unwrap().clone();
        (name, agent)
    }

    fn step(input: &str) -> StepSpec {
        let name: Name = "deploy".parse().unwrap();
        let request = Request::single(name.clone(), Some(serde_json::from_str(input).unwrap()));
        request.prepare(&name, None, 0).unwrap().schedule.steps.remove(0)
    }

    #[test]
    fn a_query_is_not_shown_and_agreed_to_all_the_same() {
        let read = |query: &str| {
            let name: Name = "hook".parse().unwrap();
            let text = format!("[agents.hook]\nurl = \"https://a.example/b{query}\"\nconfirm = true\n");
            let agent = Agents::parse(&text, Path::new("/nowhere")).unwrap().get(&name).unwrap().clone();
            let mut imposed = step("1");
            agent.impose(&name, &mut imposed, Some(b"1"));
            (name, agent, imposed.approve.unwrap().text)
        };
        let ((name, agent, asked), (_, other, _)) = (read("?channel=hush-hush"), read("?channel=another"));
        assert_eq!(agent.http().unwrap().shown_url(), "https://a.example/b?***");
        assert!(asked.starts_with("Agent hook asks https://a.example/b?*** (") && !asked.contains("hush"), "{asked}");
        assert_eq!(agent.may_begin(&name, Some(&asked), None), Ok(()));
        assert!(other.may_begin(&name, Some(&asked), None).is_err(), "it is another url");
        assert!(read("").2.starts_with("Agent hook asks https://a.example/b with 1"));
    }

    #[test]
    fn a_person_is_asked_exactly_what_runs_with_what() {
        let (name, agent) = agent("confirm = true\ntimeout = \"10m\"");
        let mut imposed = step(r#"{"to":"prod"}"#);
        agent.impose(&name, &mut imposed, Some(br#"{"to":"prod"}"#));
        let text = imposed.approve.unwrap().text;
        assert!(text.starts_with(r#"Agent deploy runs 'ship it' --prod with {"to":"prod"} (13 bytes, "#), "{text}");
        assert!(text.contains(&step(r#"{"to":"prod"}"#).input.unwrap().hash.to_string()), "{text}");
        assert_eq!(imposed.timeout_ms, Some(600_000));
        assert_eq!(agent.may_begin(&name, Some(&text), None), Ok(()));
        assert!(agent.may_begin(&name, None, None).unwrap_err().contains("was submitted before that: submit it again"));
        let Kind::Process(process) = &agent.kind else { panic!("{agent:?}") };
        let mut process = process.as_ref().clone();
        process.command.push("--really".to_owned());
        let other = Agent { kind: Kind::Process(process.into()), ..agent };
        assert!(other.may_begin(&name, Some(&text), None).unwrap_err().contains("has changed"));
    }

    #[test]
    fn rules_say_when_and_what_is_not_known_is_asked() {
        let (name, agent) = agent("confirm = [\"PROD\"]");
        let asks = |input: &str| {
            let mut step = step(input);
            agent.impose(&name, &mut step, Some(input.as_bytes()));
            step.approve.is_some()
        };
        assert!(asks(r#"{"to":"prod"}"#) && !asks(r#"{"to":"test"}"#));
        let mut later = step(r#"{"to":"test"}"#);
        agent.impose(&name, &mut later, None);
        assert!(later.approve.unwrap().text.contains("with an input of 13 bytes, "), "long inputs are not looked into");
    }

    #[test]
    fn the_steps_own_question_and_limits_stay() {
        let (name, agent) = agent("confirm = true\ntimeout = 5\nretry = { max_attempts = 2, base_backoff = \"1s\" }");
        let mut imposed = step("1");
        imposed.approve = Some(Ask { text: "Really?".to_owned(), deadline_ms: Some(7) });
        imposed.timeout_ms = Some(9);
        agent.impose(&name, &mut imposed, Some(b"1"));
        let ask = imposed.approve.unwrap();
        assert!(ask.text.starts_with("Really? — Agent deploy runs "), "{}", ask.text);
        assert_eq!((ask.deadline_ms, imposed.timeout_ms), (Some(7), Some(9)));
        let otherwise = RetryPolicy { max_attempts: 9, backoff: Backoff { base_ms: 1, max_ms: 77 } };
        let policy = agent.terms.retry.policy(otherwise);
        assert_eq!((policy.max_attempts, policy.backoff), (2, Backoff { base_ms: 1_000, max_ms: 77 }));
        assert_eq!(json!(Retry::default().policy(otherwise)), json!(otherwise));
    }
}
