//! How a tool is run: its words on the command line, its prompt, and the conversation that it begins or goes on with.

use super::{Event, Said, Setup, Stop, Tool, Transcript, Usage, patience::Patience};
use crate::{
    end::{End, Ended},
    inference::Inference,
    output,
};
use jiff::Zoned;
use relaymesh_core::{content::Media, hash::Hash};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::{
    io::{self, Write as _},
    path::{Path, PathBuf},
};

/// What an agent is asked that goes on with a conversation. What it was asked first stands in there.
const GO_ON: &str =
    "This was interrupted. Look at what is done already, go on from there, and finish what you were asked.";

/// What a tool is told besides that cannot be told otherwise what its result must be like.
const IN_A_FORM: &str =
    "Your last message is read by a program. It must be JSON that satisfies this JSON schema, and nothing else:";

/// What aider is told: to ask nobody, and to say nothing about itself that is not asked for.
const AIDER: [&str; 7] = [
    "--yes-always",
    "--no-stream",
    "--no-pretty",
    "--no-check-update",
    "--no-show-release-notes",
    "--no-show-model-warnings",
    "--no-analytics",
];

/// What opencode is told: to say on stderr when its model fails it, which it tells nobody otherwise.
const OPENCODE: [&str; 6] = ["run", "--format", "json", "--print-logs", "--log-level", "ERROR"];

/// The longest line that is understood.
const LINE_BYTES_MAX: usize = 4 << 20;

impl Tool {
    /// The program's usual name.
    pub fn program(self) -> &'static str {
        match self {
            Self::Codex => "codex",
            Self::Claude => "claude",
            Self::Gemini => "gemini",
            Self::Opencode => "opencode",
            Self::Aider => "aider",
            Self::Generic => "generic",
        }
    }

    /// Who serves it, unless it is set up otherwise. `None`: there is no usual one.
    pub fn provider(self) -> Option<&'static str> {
        match self {
            Self::Codex => Some("openai"),
            Self::Claude => Some("anthropic"),
            Self::Gemini => Some("google"),
            Self::Opencode | Self::Aider | Self::Generic => None,
        }
    }

    /// Whether a conversation can be given an id before it begins.
    fn takes_an_id(self) -> bool {
        matches!(self, Self::Claude | Self::Gemini)
    }

    /// Whether it can be told what its result must be like other than in its prompt.
    fn takes_a_schema(self) -> bool {
        matches!(self, Self::Codex | Self::Claude)
    }

    /// The words after the program. All that are known here read their prompt from stdin.
    fn words(self, setup: &Setup, conversation: &Conversation, wanted: Option<&Wanted>) -> Vec<String> {
        if self == Self::Generic {
            return generic_words(setup, conversation);
        }
        let model = setup.model.as_deref();
        let id = conversation.id.as_deref();
        let goes_on = conversation.goes_on;
        let (begin, session, model_flag, end): (&[&str], Option<&str>, _, &[&str]) = match self {
            Self::Codex if goes_on => (&["exec", "resume"], None, "-m", &["--json", "--skip-git-repo-check"]),
            Self::Codex => (&["exec"], None, "-m", &["--json", "--skip-git-repo-check"]),
            Self::Claude => {
                let flag = if goes_on { "--resume" } else { "--session-id" };
                (&["-p", "--output-format", "stream-json", "--verbose"], Some(flag), "--model", &[])
            }
            Self::Gemini => {
                (&["-o", "stream-json", "--skip-trust"], Some(if goes_on { "-r" } else { "--session-id" }), "-m", &[])
            }
            Self::Opencode => (&OPENCODE, goes_on.then_some("--session"), "-m", &[]),
            Self::Aider => (&AIDER, None, "--model", &["--message-file", "/dev/stdin"]),
            Self::Generic => (&[], None, "", &[]),
        };
        let mut words: Vec<&str> = begin.to_vec();
        words.extend(session.zip(id).into_iter().flat_map(|(flag, id)| [flag, id]));
        words.extend(model.into_iter().flat_map(|model| [model_flag, model]));
        words.extend(end);
        let file = wanted.map(|wanted| wanted.file.display().to_string()).unwrap_or_default();
        match (self, wanted) {
            (Self::Codex, Some(_)) => words.extend(["--output-schema", &file]),
            (Self::Claude, Some(wanted)) => words.extend(["--json-schema", &wanted.schema]),
            (Self::Codex | Self::Claude | Self::Gemini | Self::Opencode | Self::Aider | Self::Generic, _) => {}
        }
        words.extend(setup.args.iter().map(String::as_str));
        if self == Self::Codex {
            words.extend(id.filter(|_| goes_on));
            words.push("-"); // the prompt is on stdin
        }
        words.into_iter().map(str::to_owned).collect()
    }
}

/// The words of a tool that is not known here. A prompt that is one of them comes later.
fn generic_words(setup: &Setup, conversation: &Conversation) -> Vec<String> {
    let mut words = setup.args.clone();
    if let (true, Some(id), Some(cli)) = (conversation.goes_on, &conversation.id, &setup.generic) {
        words.extend(cli.resume.iter().map(|word| word.replace("{session}", id)));
    }
    words
}

/// What a step wants its result to be like.
#[derive(Debug)]
pub(crate) struct Wanted {
    /// A JSON schema, as text.
    pub(crate) schema: String,
    /// The file that it is in, for tools that read it from one.
    pub(crate) file: PathBuf,
}

/// A run of a tool, from its words to its end.
#[derive(Debug)]
pub(crate) struct Run {
    conversation: Conversation,
    /// Where the conversation's id is kept for the next attempt.
    kept: PathBuf,
    transcript: Transcript,
    /// A line that has no end yet.
    line: Vec<u8>,
    /// The same of what it says beside its answers.
    aside: Vec<u8>,
    patience: Patience,
    is_heard: bool,
    asked: Inference,
    wanted: Option<Wanted>,
    /// What the conversation had used before this run, where the tool counts that too.
    before: Usage,
    /// What was told of last.
    told: Usage,
}

/// The conversation of a run.
#[derive(Debug, Default)]
struct Conversation {
    id: Option<String>,
    goes_on: bool,
}

/// What is kept of a conversation.
#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    id: String,
    /// Whether the tool has said that there is such a conversation.
    is_there: bool,
    /// What it had used when its last run ended, where the tool counts on over its runs.
    #[serde(default)]
    used: Usage,
}

impl Run {
    /// A run of this tool. It goes on with the conversation that is kept in the file, if there is one; otherwise it begins one, and its id is on
    /// the disk before the tool runs. `tag` is of this attempt and no other.
    pub(crate) fn new(setup: &Setup, kept: PathBuf, tag: &str) -> io::Result<Self> {
        let tool = setup.tool;
        let before = std::fs::read(&kept).ok().and_then(|bytes| serde_json::from_slice::<Kept>(&bytes).ok());
        let (conversation, before) = match before {
            Some(Kept { id, is_there: true, used }) if tool != Tool::Aider => {
                (Conversation { id: Some(id), goes_on: true }, used)
            }
            _ => (Conversation { id: tool.takes_an_id().then(|| id_of(tag)), goes_on: false }, Usage::default()),
        };
        if let (false, Some(id)) = (conversation.goes_on, &conversation.id) {
            keep(&kept, &Kept { id: id.clone(), is_there: false, used: Usage::default() })?;
        }
        let (conversation, transcript) = match &setup.generic {
            // Nobody has said how it goes on with a conversation.
            Some(generic) if generic.resume.is_empty() => {
                (Conversation::default(), Transcript::generic(generic.clone()))
            }
            Some(generic) => (conversation, Transcript::generic(generic.clone())),
            None => (conversation, Transcript::new(tool)),
        };
        Ok(Self {
            conversation,
            kept,
            transcript,
            line: Vec::new(),
            aside: Vec::new(),
            patience: Patience::default(),
            is_heard: false,
            asked: Inference::new(now_ms()),
            wanted: None,
            before,
            told: Usage::default(),
        })
    }

    /// Its result must be like this.
    pub(crate) fn want(&mut self, wanted: Wanted) {
        self.wanted = Some(wanted);
    }

    /// The file that the schema must be in before it starts, if it reads it from one.
    pub(crate) fn schema_file(&self) -> Option<&Wanted> {
        self.wanted.as_ref().filter(|_| self.transcript.tool == Tool::Codex)
    }

    /// What it is asked, for whoever looks at it later.
    pub(crate) fn asked(&mut self, prompt: &str, setup: &Setup, model: Option<String>) {
        let word = |name: &str, value: Value| (name.to_owned(), value);
        self.asked.prompt = prompt.into();
        self.asked.model = model.unwrap_or_default();
        self.asked.parameters = Map::from_iter([
            word("tool", self.transcript.tool.program().into()),
            word("args", setup.args.clone().into()),
            word("goes_on", self.conversation.goes_on.into()),
        ]);
    }

    /// What this run has used so far.
    fn used(&self) -> Usage {
        self.transcript.said().usage.since(self.before)
    }

    /// What it has used so far, if that has changed since the last call.
    pub(crate) fn newly_used(&mut self) -> Option<Usage> {
        let used = self.used();
        (std::mem::replace(&mut self.told, used) != used).then_some(used)
    }

    /// The words after the program.
    pub(crate) fn words(&self, setup: &Setup) -> Vec<String> {
        setup.tool.words(setup, &self.conversation, self.wanted.as_ref())
    }

    /// What the tool reads: the prompt that the input has.
    pub(crate) fn prompt(&self, input: &str) -> String {
        let prompt = if self.conversation.goes_on { GO_ON.to_owned() } else { prompt(input) };
        match self.wanted.as_ref().filter(|_| !self.transcript.tool.takes_a_schema()) {
            Some(Wanted { schema, .. }) => in_a_form(&prompt, schema),
            None => prompt,
        }
    }

    /// Takes in what it said, and gives lines for people.
    pub(crate) fn take_in(&mut self, bytes: &[u8]) -> Vec<String> {
        let mut told = Vec::new();
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            if is_whole(&mut self.line, piece) {
                told.extend(self.end_line());
            }
        }
        told
    }

    /// Takes in what it said beside its answers, which people read as it is.
    pub(crate) fn take_in_aside(&mut self, bytes: &[u8]) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            if is_whole(&mut self.aside, piece) {
                let line = std::mem::take(&mut self.aside);
                let events = self.transcript.aside(String::from_utf8_lossy(&line).trim_end(), &Zoned::now());
                self.heed(&events);
            }
        }
    }

    /// Whether it is to be ended because it would try again and again.
    pub(crate) fn is_hopeless(&self) -> bool {
        self.patience.over().is_some()
    }

    fn end_line(&mut self) -> Vec<String> {
        let line = std::mem::take(&mut self.line);
        let events = self.transcript.line(&line, &Zoned::now());
        self.heed(&events);
        events.iter().filter_map(Event::for_people).collect()
    }

    /// Keeps the conversation's id once it is heard, and counts how often it tries again.
    fn heed(&mut self, events: &[Event]) {
        for event in events {
            self.patience.heed(event);
            if let Event::Session(id) = event {
                self.is_heard = true;
                // Without it a later attempt begins anew, which is no reason to end this one.
                let _ = keep(&self.kept, &Kept { id: id.clone(), is_there: true, used: self.before });
            }
        }
    }

    /// How it ended; `judged` is what its exit code alone says.
    pub(crate) fn judge(mut self, judged: End) -> Ended {
        if !self.line.is_empty() {
            self.end_line();
        }
        let events = self.transcript.close(&Zoned::now());
        self.heed(&events);
        if self.conversation.goes_on && !self.is_heard {
            // There is no such conversation any more. The next attempt begins a new one.
            let _ = std::fs::remove_file(&self.kept);
        }
        let said = self.transcript.said();
        let stop = self.patience.over().or(said.stop.as_ref());
        let mut end = end(said, stop, judged, self.transcript.is_plain());
        if let Some(Wanted { schema, .. }) = &self.wanted {
            end = crate::schema::held_to(schema, end);
        }
        self.ended(end)
    }

    /// It ended like this, whatever it said itself.
    pub(crate) fn ended(mut self, end: End) -> Ended {
        let usage = self.used();
        let is_counted_on = self.transcript.tool == Tool::Codex;
        let Said { text, structured, model, session, usage: all, .. } = self.transcript.finish();
        if let (true, true, Some(id)) = (is_counted_on, self.is_heard, session) {
            // Without it the next run's figures are too high, never too low.
            let _ = keep(&self.kept, &Kept { id, is_there: true, used: all });
        }
        self.asked.model = model.unwrap_or(self.asked.model);
        self.asked.output = structured.unwrap_or_else(|| text.into());
        self.asked.usage = usage;
        self.asked.ended_ms = now_ms();
        Ended { end, inference: Some(Box::new(self.asked)) }
    }
}

fn end(said: &Said, stop: Option<&Stop>, judged: End, is_plain: bool) -> End {
    let failed = |error: String| End::Failed { error, retryable: true };
    match (stop, judged) {
        (Some(Stop::Failed(why)), _) => failed(why.clone()),
        (Some(Stop::Limited { message, until_ms }), _) => {
            End::Limited { reason: format!("the provider refused the request: {message}"), until_ms: *until_ms }
        }
        (_, end @ End::Limited { .. }) => end,
        (_, End::Failed { error, retryable }) => End::Failed { error, retryable },
        (None, End::Done { .. }) if !is_plain => {
            failed("it exited with 0, but its output has no final event: the output was cut off".to_owned())
        }
        (Some(Stop::Done) | None, End::Done { .. }) => match &said.structured {
            Some(value) => End::Done { media: Media::Json, result: value.to_string().into_bytes() },
            None => End::Done { media: Media::Text, result: said.text.trim_end().as_bytes().to_vec() },
        },
    }
}

/// Adds a piece to a line; `true` once the line is whole.
fn is_whole(line: &mut Vec<u8>, piece: &[u8]) -> bool {
    let room = LINE_BYTES_MAX.saturating_sub(line.len());
    line.extend_from_slice(&piece[..piece.len().min(room)]);
    piece.ends_with(b"\n")
}

fn now_ms() -> u64 {
    u64::try_from(jiff::Timestamp::now().as_millisecond()).unwrap_or(0)
}

/// The prompt in an input: a text, or an object with a `prompt` and whatever belongs to it.
pub(crate) fn prompt(input: &str) -> String {
    match serde_json::from_str::<Value>(input) {
        Ok(Value::String(text)) => text,
        Ok(Value::Object(mut fields)) if fields.get("prompt").is_some_and(Value::is_string) => {
            let prompt = fields.remove("prompt").and_then(|prompt| prompt.as_str().map(str::to_owned));
            let prompt = prompt.unwrap_or_default();
            if fields.is_empty() { prompt } else { format!("{prompt}\n\n{}", Value::Object(fields)) }
        }
        _ => input.to_owned(),
    }
}

/// A prompt that says in words what the result must be like.
pub(crate) fn in_a_form(prompt: &str, schema: &str) -> String {
    format!("{prompt}\n\n{IN_A_FORM}\n{schema}")
}

/// An id in the form that tools expect (a UUID), the same for the same tag.
fn id_of(tag: &str) -> String {
    let hash = Hash::sha256(tag.as_bytes()).to_string();
    let hex: String = hash.chars().filter(char::is_ascii_hexdigit).take(32).collect();
    format!("{}-{}-8{}-8{}-{}", &hex[..8], &hex[8..12], &hex[13..16], &hex[17..20], &hex[20..32])
}

/// Durable before anybody counts on it.
fn keep(path: &Path, kept: &Kept) -> io::Result<()> {
    let new = path.with_added_extension("new");
    let mut file = output::create(&new)?;
    file.write_all(&serde_json::to_vec(kept)?)?;
    file.sync_all()?;
    std::fs::rename(&new, path)?;
    path.parent().map_or(Ok(()), |folder| std::fs::File::open(folder)?.sync_all())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(extra: &str) -> crate::Agent {
        let text = format!("[agents.a]\n{extra}\n");
        let agents = crate::Agents::parse(&text, Path::new("/nowhere")).unwrap();
        agents.get(&"a".parse().unwrap()).unwrap().clone()
    }

    fn codex() -> Setup {
        Setup { tool: Tool::Codex, model: None, args: Vec::new(), generic: None }
    }

    #[test]
    fn each_tool_gets_its_own_words_and_goes_on_where_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let cases = [
            (
                Tool::Codex,
                "exec -m m --json --skip-git-repo-check -x -",
                "exec resume -m m --json --skip-git-repo-check -x ID -",
            ),
            (
                Tool::Claude,
                "-p --output-format stream-json --verbose --session-id ID --model m -x",
                "-p --output-format stream-json --verbose --resume ID --model m -x",
            ),
            (
                Tool::Gemini,
                "-o stream-json --skip-trust --session-id ID -m m -x",
                "-o stream-json --skip-trust -r ID -m m -x",
            ),
            (
                Tool::Opencode,
                "run --format json --print-logs --log-level ERROR -m m -x",
                "run --format json --print-logs --log-level ERROR --session ID -m m -x",
            ),
        ];
        for (tool, first, later) in cases {
            let agent = agent(&format!("tool = \"{}\"\nmodel = \"m\"\nargs = [\"-x\"]", tool.program()));
            let (process, setup) = (agent.process().unwrap(), agent.tool().unwrap());
            assert_eq!((process.command.as_slice(), agent.terms.llm), (&[tool.program().to_owned()][..], true));
            let kept = folder.path().join(tool.program());
            let mut run = Run::new(setup, kept.clone(), "n/1.1").unwrap();
            let id = run.conversation.id.clone().unwrap_or_else(|| "ID".to_owned());
            assert_eq!(run.words(setup).join(" "), first.replace("ID", &id));
            assert_eq!(run.prompt("\"do it\""), "do it");
            // Nobody has said that there is such a conversation: the next attempt begins another.
            assert!(!Run::new(setup, kept.clone(), "n/1.2").unwrap().conversation.goes_on);
            let (kind, field) = match tool {
                Tool::Codex => ("thread.started", "thread_id"),
                Tool::Opencode => ("step_start", "sessionID"),
                Tool::Claude => ("system", "session_id"),
                Tool::Gemini | Tool::Aider | Tool::Generic => ("init", "session_id"),
            };
            let line = format!("{{\"type\":\"{kind}\",\"{field}\":\"{id}\"}}\n");
            run.take_in(line.as_bytes());
            let again = Run::new(setup, kept.clone(), "n/1.3").unwrap();
            assert_eq!(again.words(setup).join(" "), later.replace("ID", &id));
            assert_eq!(again.prompt("\"do it\""), GO_ON);
            // It says nothing of the conversation: it is gone, and the next attempt begins anew.
            again.judge(End::Failed { error: "no such conversation".to_owned(), retryable: true });
            assert!(!kept.exists());
        }
    }

    #[test]
    fn the_prompt_is_in_the_input() {
        let folder = tempfile::tempdir().unwrap();
        let run = Run::new(&codex(), folder.path().join("s"), "t").unwrap();
        for (input, prompt) in [
            ("\"say hello\"", "say hello"),
            ("{\"prompt\":\"say hello\"}", "say hello"),
            ("{\"prompt\":\"mend it\",\"file\":\"a.rs\"}", "mend it\n\n{\"file\":\"a.rs\"}"),
            ("{\"a\":1}", "{\"a\":1}"),
            ("null", "null"),
        ] {
            assert_eq!(run.prompt(input), prompt);
        }
    }

    #[test]
    fn an_id_looks_like_one_and_is_the_same_for_the_same_attempt() {
        let id = id_of("node/step.1");
        assert_eq!((id.len(), id.matches('-').count()), (36, 4));
        assert_eq!(id, id_of("node/step.1"));
        assert_ne!(id, id_of("node/step.2"));
    }

    #[test]
    fn what_a_run_said_of_its_end_counts_besides_its_exit_code() {
        let folder = tempfile::tempdir().unwrap();
        let done = || End::Done { media: Media::Json, result: b"null".to_vec() };
        let end = |name: &str, judged: End| {
            let mut run = Run::new(&codex(), folder.path().join("s"), "t").unwrap();
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("recorded/{name}.jsonl"));
            run.take_in(&std::fs::read(path).unwrap());
            let _ = std::fs::remove_file(folder.path().join("s"));
            run.judge(judged).end
        };
        assert_eq!(end("codex.say", done()), End::Done { media: Media::Text, result: b"Hello there".to_vec() });
        let exit = End::Failed { error: "exit code 1".to_owned(), retryable: true };
        assert_eq!(end("codex.say", exit.clone()), exit);
        let error = "stream disconnected before completion: error sending request".to_owned();
        assert_eq!(end("codex.cut", exit.clone()), End::Failed { error, retryable: true });
        let mut run = Run::new(&codex(), folder.path().join("s"), "t").unwrap();
        run.take_in(b"{\"type\":\"turn.started\"}\n");
        let End::Failed { error, .. } = run.judge(done()).end else { panic!("half a stream is no result") };
        assert!(error.contains("cut off"), "{error}");
    }
}
