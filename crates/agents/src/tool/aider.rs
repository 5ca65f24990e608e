//! aider says plain words, and ends with 0 whatever happened. So its words are read: what it writes before and after the model's answer, the line
//! with the tokens, and errors in the words of its library. An error that it tries again after is no end.

use super::{Event, Said, Stop, limit};
use jiff::Zoned;

/// How lines begin that aider writes about itself.
const ABOUT_ITSELF: [&str; 12] = [
    "Aider v",
    "Model:",
    "Main model:",
    "Weak model:",
    "Editor model:",
    "Git repo:",
    "Repo-map:",
    "Added ",
    "Git repository created",
    "Update git ",
    "HTTPSConnectionPool(",
    "Use /help ",
];

/// What it adds to errors that may be anything.
const ANY_TROUBLE: &str = "The API provider's servers are down or overloaded.";

/// What is known between two lines.
#[derive(Debug, Default)]
pub(super) struct Reader {
    /// The words of an error whose end has not come.
    error: Option<String>,
    /// Whether it has said everything about itself.
    has_begun: bool,
    /// Whether the answer is over.
    is_answered: bool,
}

impl Reader {
    /// Takes in one line.
    pub(super) fn read(&mut self, line: &str, said: &mut Said, now: &Zoned) -> Vec<Event> {
        let line = line.trim_end();
        if let Some(used) = line.strip_prefix("Tokens: ").and_then(|words| used(words, said)) {
            self.is_answered = true;
            said.stop = Some(Stop::Done);
            return vec![used];
        }
        if line.starts_with("litellm.") || self.error.is_some() {
            return self.trouble(line, said, now);
        }
        let tool = |name: &str, about: &str| Event::Tool { name: name.to_owned(), about: about.to_owned() };
        if let Some(file) = line.strip_prefix("Applied edit to ") {
            return vec![tool("edit", file)];
        }
        if let Some(commit) = line.strip_prefix("Commit ").filter(|_| self.is_answered) {
            return vec![tool("commit", commit)];
        }
        let is_about_itself = ABOUT_ITSELF.iter().any(|words| line.starts_with(words));
        if is_about_itself && !self.is_answered && !self.has_begun {
            if line.starts_with("Repo-map:") {
                // The last of what it says about itself; a long line of that was wrapped, and its rest is no answer.
                said.text.clear();
                self.has_begun = true;
            }
            let model = line.strip_prefix("Model: ").or_else(|| line.strip_prefix("Main model: "));
            said.model =
                model.and_then(|words| words.split_whitespace().next()).map(str::to_owned).or(said.model.take());
            return Vec::new();
        }
        if self.is_answered {
            // It lists the files that it is about to change. Another answer may follow.
            return Vec::new();
        }
        said.text.push_str(line);
        said.text.push('\n');
        if line.trim().is_empty() { Vec::new() } else { vec![Event::Text(line.to_owned())] }
    }

    /// Errors are wrapped like everything else: all lines up to an empty one are one.
    fn trouble(&mut self, line: &str, said: &mut Said, now: &Zoned) -> Vec<Event> {
        if line.starts_with("Retrying in ") {
            let error = self.error.take().unwrap_or_default();
            said.stop = None;
            return vec![Event::Trouble(format!("{error}; {line}")), Event::Again(stop(&error, now))];
        }
        if line.trim().is_empty() {
            self.error = None;
            return Vec::new();
        }
        let error = match self.error.take() {
            Some(before) => format!("{before} {line}"),
            None => line.to_owned(),
        };
        said.stop = Some(stop(&error, now));
        self.error = Some(error);
        Vec::new()
    }
}

/// How it ended with this error. What aider adds for people says of every broken connection that the provider may be overloaded.
fn stop(error: &str, now: &Zoned) -> Stop {
    match limit::stop(&error.replace(ANY_TROUBLE, ""), now) {
        Stop::Limited { until_ms, .. } => Stop::Limited { message: error.to_owned(), until_ms },
        Stop::Done | Stop::Failed(_) => Stop::Failed(error.to_owned()),
    }
}

/// "1.2k sent, 345 received. Cost: $0.01 message, $0.02 session."
fn used(words: &str, said: &mut Said) -> Option<Event> {
    let number = |text: &str| -> Option<u64> {
        let (digits, times) = match text.strip_suffix('k') {
            Some(digits) => (digits, 1_000.0),
            None => (text, 1.0),
        };
        Some((digits.replace(',', "").parse::<f64>().ok()? * times).round() as u64)
    };
    let part = |mark: &str| {
        let before = &words[..words.find(mark)?];
        before.trim_end().rsplit([' ', '$']).next().map(|text| text.trim_start_matches('~').to_owned())
    };
    let (sent, received) =
        (part(" sent").and_then(|text| number(&text))?, part(" received").and_then(|text| number(&text))?);
    said.usage.input_tokens += sent;
    said.usage.cached_tokens += part(" cache hit").and_then(|text| number(&text)).unwrap_or(0);
    said.usage.output_tokens += received;
    said.usage.turns += 1;
    if let Some(dollars) = part(" session").and_then(|text| text.parse::<f64>().ok()) {
        said.usage.cost_micros = Some((dollars * 1e6).round() as u64);
    }
    Some(Event::Used(said.usage))
}
