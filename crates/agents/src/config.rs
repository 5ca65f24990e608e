//! `agents.toml`: the agents of a root.
//!
//! ```toml
//! [agents.upper]
//! command = ["python3", "upper.py"]    # never a shell; a word that names a file beside agents.toml becomes its full path
//! concurrency = 4                      # attempts at once
//! env = ["OPENAI_API_KEY"]             # let through besides PATH, HOME, LANG, TZ, TMPDIR, USER
//! set = { LANG = "C" }                 # set
//! secrets = { API_KEY = "openai" }     # set to secrets of these names
//! input_secrets = ["mail"]             # others that {"$secret": "mail"} in its input may name
//! llm = true                           # shares the places of `llm_parallel_limit`
//! writable = ["out", "~/.cache/upper"] # where it may write besides its own folder; `confine = false` lets it write everywhere
//! limits = { processes = 64 }          # and file_bytes, open_files, memory_bytes
//! result = "text"                      # its result is text, also if it looks like JSON
//! timeout = "10m"                      # for steps that say none
//! retry = { max_attempts = 2, base_backoff = "1s", max_backoff = "1m" }    # the same
//! folder = "../app"                    # works there, not in a folder of its own; then one attempt at once unless `concurrency` says more
//! confirm = true                       # a person is asked before every step; ["prod", "delete"]: if its input has one of these words
//! labels = { team = "a" }              # for people and `agent list --label`
//! kind = "script"                      # or cli: may be said, and is then checked
//!
//! [agents.coder]
//! tool = "codex"                       # or claude, gemini, opencode, aider: what it says is understood, and conversations go on
//! model = "gpt-5-codex"                # as the tool calls it
//! provider = "openai"                  # held together with all others of it; without it, as the tool has it
//! args = ["-s", "workspace-write"]     # more words for it; `command` names another program, if it is not on PATH
//!
//! [agents.reviewer]
//! inbox = true                         # runs nothing here: its steps and messages wait in its inbox, and its answers complete them
//! [agents.other]                       # a tool that is not known here
//! command = ["other", "run"]
//! cli = { prompt = "stdin", output = "jsonl", text = "/message", session = "/id", error = "/error" }
//! ```
//!
//! One with a `url` is reached by HTTP instead: [`crate::http::config`].

use crate::{
    budgets::{AgentBudgets, Budgets},
    confine::{self, Confine},
    env,
    http::{Api, Http, address},
    limits::Limits,
    rules::{Confirm, Retry},
    tool::{Generic, Tool},
    workspace::Workspaces,
};
use relaymesh_core::{name::Name, task::request::duration};
use serde::Deserialize;
use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    path::{Path, PathBuf},
};

/// The file's name in the root.
pub const FILE: &str = "agents.toml";

/// What an agent gets of the daemon's environment unless it asks for more.
pub const ENVIRONMENT: [&str; 7] = ["PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR", "USER"];

/// The variable that holds the key to all secrets.
pub const KEY_VARIABLE: &str = "RELAYMESH_SECRET_KEY";

/// The agents of a root, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Agents {
    scripts: BTreeMap<Name, Script>,
    budgets: Budgets,
    workspaces: Workspaces,
}

/// An agent of one's own: a command, a tool, or somebody who is reached by HTTP.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// The program and its arguments.
    #[serde(default)]
    pub command: Vec<String>,
    /// The agent tool that it is, if it is one.
    pub tool: Option<Tool>,
    /// The model that the tool uses.
    pub model: Option<String>,
    /// More words for the tool.
    #[serde(default)]
    pub args: Vec<String>,
    /// Who serves it. All agents of a provider are held together when it turns one of them away.
    pub provider: Option<Name>,
    /// Attempts at once.
    #[serde(default = "unsaid")]
    pub concurrency: usize,
    /// Names of variables that it gets from the daemon's environment.
    #[serde(default)]
    pub env: Vec<String>,
    /// Variables that are set for it.
    #[serde(default)]
    pub set: BTreeMap<String, String>,
    /// Variables that are set to secrets, with the secrets' names.
    #[serde(default)]
    pub secrets: BTreeMap<String, Name>,
    /// Other secrets that its input may name.
    #[serde(default)]
    pub input_secrets: BTreeSet<Name>,
    /// Whether it uses a language model, and so shares the places of all that do.
    #[serde(default)]
    pub llm: bool,
    /// How long it has between SIGTERM and SIGKILL.
    #[serde(default = "default_grace_ms")]
    pub grace_ms: u64,
    /// The longest result.
    #[serde(default = "default_output_bytes_max")]
    pub output_bytes_max: u64,
    /// How much of it is confined.
    #[serde(default)]
    pub confine: Confine,
    /// Where it may write besides its folder; full paths, once it is read.
    #[serde(default)]
    pub writable: Vec<String>,
    /// Whether the root is in one of those.
    #[serde(skip)]
    pub opens_root: bool,
    /// What it may use of the machine.
    #[serde(default)]
    pub limits: Limits,
    /// What its result is, if it is not to be found out.
    pub result: Option<Kind>,
    /// Whether it runs nothing here: what is for it waits in its inbox until somebody takes and answers it.
    #[serde(default)]
    pub inbox: bool,
    /// What it is for, for people.
    #[serde(default)]
    pub about: String,
    /// What it may use.
    #[serde(default)]
    pub budget: AgentBudgets,
    /// What is kept of what its model was asked and said.
    #[serde(default)]
    pub audit: Audit,
    /// Where it is reached, if that is by HTTP. This and the next ten as they stand in the file.
    pub url: Option<String>,
    /// In which words it is spoken to.
    pub api: Option<Api>,
    /// The secret that is its key.
    pub key: Option<Name>,
    /// The header that the key goes into.
    pub key_header: Option<String>,
    /// Headers that are sent besides.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// What the model is told before anything else.
    pub system: Option<String>,
    /// The longest answer.
    pub max_tokens: Option<u64>,
    /// Addresses that may be reached though they are not public.
    #[serde(default)]
    pub allow: address::Allowed,
    /// How long a connection may take, in milliseconds.
    #[serde(default, deserialize_with = "duration")]
    pub connect_timeout: Option<u64>,
    /// How long the answer may take to begin.
    #[serde(default, deserialize_with = "duration")]
    pub first_byte_timeout: Option<u64>,
    /// How long it may stop in the middle.
    #[serde(default, deserialize_with = "duration")]
    pub idle_timeout: Option<u64>,
    /// What the fields from `url` on come to.
    #[serde(skip)]
    pub http: Option<Http>,
    /// What sort of agent it is, if that is said.
    pub kind: Option<Sort>,
    /// How long an attempt may take if its step does not say, in milliseconds.
    #[serde(default, alias = "timeout_ms", deserialize_with = "duration")]
    pub timeout: Option<u64>,
    /// How often and how soon a step is tried again that does not say.
    #[serde(default)]
    pub retry: Retry,
    /// Where it works, if not in a folder of its own. A full path, once it is read.
    pub folder: Option<PathBuf>,
    /// Whether a person is asked first.
    #[serde(default)]
    pub confirm: Confirm,
    /// What people sort it by.
    #[serde(default)]
    pub labels: BTreeMap<Name, String>,
    /// How a tool is understood that is not known here.
    pub cli: Option<Box<Generic>>,
}

/// What is kept of what a model was asked and said (L11).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Audit {
    /// All of it.
    #[default]
    Full,
    /// Hashes of the prompt and the output, and everything else.
    Hashes,
    /// Nothing.
    Off,
}

/// What a result is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Text, whatever it looks like.
    Text,
}

/// What is wrong with an entry that has both.
const RUNS_NOTHING: &str = "with `inbox` it runs nothing: leave `command` and `tool` out";
/// What sort of agent it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Sort {
    /// Any command: input on stdin, result on stdout.
    Script,
    /// A tool that talks to a language model.
    Cli,
    /// Somebody who is reached by HTTP.
    Http,
    /// One of those that are there without being written down.
    Builtin,
}

/// What a tool may say in all.
const TOOL_OUTPUT_BYTES: u64 = 64 << 20;

/// Attempts at once of an agent that does not say.
const CONCURRENCY: usize = 4;

/// What stands for nothing until the entry is checked.
fn unsaid() -> usize {
    usize::MAX
}

fn default_grace_ms() -> u64 {
    5_000
}

fn default_output_bytes_max() -> u64 {
    relaymesh_core::content::CONTENT_BYTES_MAX as u64
}

/// Why the file cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    /// What is wrong.
    pub message: String,
    /// Line and column, both from 1, where it is known.
    pub place: Option<(usize, usize)>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    agents: BTreeMap<String, toml::Spanned<Script>>,
    #[serde(default)]
    budgets: Budgets,
    #[serde(default)]
    workspaces: Workspaces,
}

impl Agents {
    /// The agents of this root. Without a file there are none.
    pub fn read(root: &Path) -> Result<Self, Error> {
        let path = root.join(FILE);
        match std::fs::read_to_string(&path) {
            Ok(text) => Self::parse(&text, root),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(Error { message: format!("cannot read {}: {error}", path.display()), place: None }),
        }
    }

    /// The agents in this text; files are looked for in `folder`.
    pub fn parse(text: &str, folder: &Path) -> Result<Self, Error> {
        let file: File = toml::from_str(text).map_err(|error| {
            let place = error.span().map(|span| place(text, span.start));
            Error { message: error.message().to_owned(), place }
        })?;
        let mut scripts = BTreeMap::new();
        for (name, script) in file.agents {
            let at = place(text, script.span().start);
            let wrong = |message: String| Error { message, place: Some(at) };
            let script = checked(script.into_inner(), folder).map_err(|why| wrong(format!("agent `{name}`: {why}")))?;
            scripts.insert(name.parse::<Name>().map_err(|error| wrong(error.to_string()))?, script);
        }
        Ok(Self { scripts, budgets: file.budgets, workspaces: file.workspaces })
    }

    /// The agent of this name.
    pub fn get(&self, name: &Name) -> Option<&Script> {
        self.scripts.get(name)
    }

    /// Who serves this agent: as it says, or as its tool or its url has it, or nobody else's provider.
    pub fn provider(name: &Name, script: &Script) -> String {
        let usual = script.tool.and_then(Tool::provider).map(str::to_owned);
        let usual = usual.or_else(|| script.http.as_ref().map(Http::provider));
        script.provider.as_ref().map(Name::to_string).or(usual).unwrap_or_else(|| format!("agent {name}"))
    }

    /// Where working trees are made, and how long they stay.
    pub fn workspaces(&self) -> &Workspaces {
        &self.workspaces
    }

    /// The budgets that are nobody's own.
    pub fn budgets(&self) -> &Budgets {
        &self.budgets
    }

    /// All of them, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&Name, &Script)> {
        self.scripts.iter()
    }
}

fn checked(mut script: Script, folder: &Path) -> Result<Script, String> {
    script.http = Http::read(&mut script)?;
    if script.inbox {
        let runs_nothing = script.command.is_empty() && script.tool.is_none() && script.http.is_none();
        return if runs_nothing { Ok(script) } else { Err(RUNS_NOTHING.to_owned()) };
    }
    if script.cli.is_some() && script.tool.is_some_and(|tool| tool != Tool::Generic) {
        return Err("`cli` says how a tool is understood, and this `tool` is known; leave one of them out".to_owned());
    }
    if script.cli.is_some() || script.tool == Some(Tool::Generic) {
        script.tool = Some(Tool::Generic);
        script.cli.get_or_insert_default().check()?;
    }
    ruled(&mut script, folder)?;
    match script.tool {
        _ if script.http.is_some() => {}
        Some(Tool::Generic) if script.command.is_empty() => {
            return Err("`command` names no program".to_owned());
        }
        Some(tool) => {
            if script.command.is_empty() {
                script.command.push(tool.program().to_owned());
            }
            // All of them do, and what they say while they work is longer than what comes of it.
            script.llm = true;
            script.output_bytes_max = script.output_bytes_max.max(TOOL_OUTPUT_BYTES);
        }
        None if script.model.is_some() || !script.args.is_empty() => {
            return Err("`model` and `args` are for agents with a `tool`".to_owned());
        }
        None => {}
    }
    if script.http.is_none() && script.command.first().is_none_or(String::is_empty) {
        return Err("`command` names no program, and there is no `tool` and no `url`".to_owned());
    }
    if script.concurrency == 0 {
        return Err("`concurrency` is at least 1".to_owned());
    }
    passed_on(&script)?;
    script.limits.check()?;
    opened(&mut script, folder)?;
    for word in &mut script.command {
        if let Some(path) = beside(word, folder) {
            *word = path.display().to_string();
        }
    }
    Ok(script)
}

/// Whether what it is to be given can be given, and may be.
fn passed_on(script: &Script) -> Result<(), String> {
    let bad = |name: &str| name.is_empty() || name.contains(['=', '\0']);
    if let Some(name) = script.env.iter().chain(script.set.keys()).chain(script.secrets.keys()).find(|name| bad(name)) {
        return Err(format!("`{name}` is not the name of a variable"));
    }
    if let Some(name) = script.set.keys().find(|name| script.secrets.contains_key(*name)) {
        return Err(format!("`{name}` stands in `set` and in `secrets`"));
    }
    if script.env.iter().any(|name| name == KEY_VARIABLE) {
        return Err(format!("`{KEY_VARIABLE}` opens all secrets and is passed on to nobody"));
    }
    if script
        .command
        .iter()
        .chain(&script.args)
        .chain(&script.model)
        .chain(script.set.values())
        .any(|word| word.contains('\0'))
    {
        return Err("a zero byte cannot be passed on".to_owned());
    }
    if let Some(name) = script.env.iter().find(|name| env::is_banned(name)) {
        return Err(format!(
            "`{name}` changes what programs run or whom they talk to, and is not passed on from the daemon; give it a value under `set` if you mean it"
        ));
    }
    Ok(())
}

/// Makes the words of `writable` full paths, and looks whether the root is in one of them.
fn opened(script: &mut Script, root: &Path) -> Result<(), String> {
    let real = |path: &Path| path.canonicalize().or_else(|_| std::path::absolute(path));
    let root_at = real(root).map_err(|error| error.to_string())?;
    let mut paths = Vec::new();
    for word in &script.writable {
        let path = confine::expand(word, script, root)?;
        script.opens_root |= real(&path).is_ok_and(|path| root_at.starts_with(path));
        paths.push(path.into_os_string().into_string().map_err(|_| format!("`{word}` in `writable` is not UTF-8"))?);
    }
    script.writable = paths;
    Ok(())
}

/// What its entry says about all of its steps.
fn ruled(script: &mut Script, folder: &Path) -> Result<(), String> {
    let is = match script.tool {
        _ if script.http.is_some() => Sort::Http,
        Some(_) => Sort::Cli,
        None => Sort::Script,
    };
    match script.kind {
        Some(Sort::Builtin) => return Err("`kind`: builtin agents are there without being written down".to_owned()),
        Some(said) if said != is => {
            let (said, is) = (format!("{said:?}").to_lowercase(), format!("{is:?}").to_lowercase());
            return Err(format!("`kind` is `{said}`, and this is an agent of the kind `{is}`"));
        }
        Some(_) | None => {}
    }
    script.confirm.check()?;
    if script.retry.max_attempts == Some(0) {
        return Err("`retry`: `max_attempts` is at least 1".to_owned());
    }
    if script.timeout == Some(0) {
        return Err("`timeout` is more than nothing".to_owned());
    }
    if script.concurrency == unsaid() {
        // Two at once in one folder would step on each other.
        script.concurrency = if script.folder.is_some() { 1 } else { CONCURRENCY };
    }
    if let Some(path) = &script.folder {
        let full = std::path::absolute(folder.join(path)).map_err(|error| format!("`folder`: {error}"))?;
        if !full.is_dir() {
            return Err(format!("`folder`: there is no folder {}", full.display()));
        }
        script.folder = Some(full);
    }
    Ok(())
}

/// The file beside `agents.toml` that this word names. An agent works in a folder of its own, so the name alone would not do.
fn beside(word: &str, folder: &Path) -> Option<PathBuf> {
    let path = Path::new(word);
    let plain =
        path.components().all(|part| matches!(part, std::path::Component::Normal(_) | std::path::Component::CurDir));
    let found = std::path::absolute(folder).ok()?.join(path);
    (plain && !word.is_empty() && found.is_file()).then_some(found)
}

fn place(text: &str, at: usize) -> (usize, usize) {
    let before = &text.as_bytes()[..at.min(text.len())];
    let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
    let start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1);
    (line, String::from_utf8_lossy(&before[start..]).chars().count() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_beside_becomes_a_full_path_and_other_words_stay() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.py"), "").unwrap();
        let text = "[agents.a]\ncommand = [\"python3\", \"a.py\", \"../a.py\", \"b.py\"]\n";
        let agents = Agents::parse(text, folder.path()).unwrap();
        let script = agents.get(&"a".parse().unwrap()).unwrap();
        let full = folder.path().join("a.py").display().to_string();
        assert_eq!(script.command, ["python3", full.as_str(), "../a.py", "b.py"]);
        assert_eq!((script.concurrency, script.grace_ms), (4, 5_000));
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        let cases = [
            ("[agents.a]\ncomand = []\n", (2, 1), "unknown field `comand`"),
            ("[agents.a]\ncommand = []\n", (1, 1), "names no program"),
            ("[agents.a]\ncommand = [\"x\"]\nconcurrency = 0\n", (1, 1), "at least 1"),
            ("[agents.\"a b\"]\ncommand = [\"x\"]\n", (1, 1), "is not a name"),
            ("[agents.a]\ncommand = [\"x\"]\nenv = [\"A=B\"]\n", (1, 1), "`A=B` is not the name of a variable"),
            ("[agents.a]\ncommand = \"rm -rf\"\n", (2, 11), "expected a sequence"),
            ("[agents.a]\ncommand = [\"x\"]\nenv = [\"RELAYMESH_SECRET_KEY\"]\n", (1, 1), "passed on to nobody"),
            (
                "[agents.a]\ncommand = [\"x\"]\nset = {A = \"1\"}\nsecrets = {A = \"b\"}\n",
                (1, 1),
                "in `set` and in `secrets`",
            ),
            ("[agents.a]\ncommand = [\"x\"]\nsecrets = {A = \"b c\"}\n", (3, 16), "is not a name"),
            ("[agents.a]\ncommand = [\"x\"]\nenv = [\"LD_PRELOAD\"]\n", (1, 1), "under `set` if you mean it"),
            ("[agents.a]\ncommand = [\"x\"]\nlimits = {processes = 0}\n", (1, 1), "at least 1"),
            ("[agents.a]\ncommand = [\"x\"]\nlimits = {procs = 1}\n", (3, 11), "unknown field `procs`"),
            ("[agents.a]\ncommand = [\"x\"]\nconfine = \"reads\"\n", (3, 11), "true, false or \"writes\""),
            ("[agents.a]\ncommand = [\"x\"]\nwritable = [\"~bob\"]\n", (1, 1), "another user's home folder"),
            ("[agents.a]\ninbox = true\ncommand = [\"x\"]\n", (1, 1), "it runs nothing"),
            ("[agents.a]\ncommand = [\"x\"]\nkind = \"cli\"\n", (1, 1), "this is an agent of the kind `script`"),
            ("[agents.a]\ncommand = [\"x\"]\nkind = \"shell\"\n", (3, 8), "unknown variant `shell`"),
            ("[agents.a]\ncommand = [\"x\"]\ntimeout = \"soon\"\n", (3, 11), "is not a duration"),
            ("[agents.a]\ncommand = [\"x\"]\nretry = {max_attempts = 0}\n", (1, 1), "at least 1"),
            ("[agents.a]\ncommand = [\"x\"]\nretry = {attempts = 2}\n", (3, 10), "unknown field `attempts`"),
            ("[agents.a]\ncommand = [\"x\"]\nfolder = \"gone\"\n", (1, 1), "there is no folder /nowhere/gone"),
            ("[agents.a]\ncommand = [\"x\"]\nconfirm = \"yes\"\n", (3, 11), "true, false, or a list of words"),
            ("[agents.a]\ncommand = [\"x\"]\nconfirm = []\n", (1, 1), "an empty list"),
            ("[agents.a]\ntool = \"codex\"\ncli = {}\n", (1, 1), "leave one of them out"),
            ("[agents.a]\ncommand = [\"x\"]\ncli = { text = \"message\" }\n", (1, 1), "begins with `/`"),
            ("[agents.a\n", (1, 10), ""),
        ];
        for (text, place, words) in cases {
            let error = Agents::parse(text, Path::new("/nowhere")).unwrap_err();
            assert_eq!(error.place, Some(place), "{text}: {error}");
            assert!(error.message.contains(words), "{text}: {error}");
        }
    }

    #[test]
    fn an_agent_that_works_in_one_folder_works_alone_unless_it_says_otherwise() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("app")).unwrap();
        let read = |more: &str| {
            let text =
                format!("[agents.a]\ncommand = [\"x\"]\nfolder = \"app\"\nlabels = {{ team = \"a\" }}\n{more}\n");
            Agents::parse(&text, folder.path()).unwrap().get(&"a".parse().unwrap()).unwrap().clone()
        };
        assert_eq!((read("").concurrency, read("").folder), (1, Some(folder.path().join("app"))));
        assert_eq!(read("concurrency = 3").concurrency, 3);
        assert_eq!(read("").labels.into_values().collect::<Vec<_>>(), ["a"]);
    }

    #[test]
    fn without_a_file_there_are_no_agents() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(Agents::read(folder.path()), Ok(Agents::default()));
    }
}
