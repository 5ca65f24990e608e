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
//! kind = "script"                      # or cli, http, inbox: may be said, and is then checked
//!
//! [agents.coder]
//! tool = "codex"                       # or claude, gemini, opencode, aider: what it says is understood, and conversations go on
//! model = "gpt-5-codex"                # as the tool calls it
//! provider = "openai"                  # held together with all others of it; without it, as the tool has it
//! args = ["-s", "danger-full-access"]  # more arguments; its own sandbox cannot start inside the confinement. `command` names another program
//!
//! [agents.reviewer]
//! inbox = true                         # runs nothing here: its steps and messages wait in its inbox, and its answers complete them
//! [agents.other]                       # a tool that is not known here
//! command = ["other", "run"]
//! cli = { prompt = "stdin", output = "jsonl", text = "/message", session = "/id", error = "/error" }
//! ```
//!
//! One with a `url` is reached by HTTP instead: `config/http.rs` says what it can have. A field that another kind of agent has is refused.

mod entry;
mod http;
mod process;
#[cfg(test)]
mod tests;
mod unquoted;

use crate::{agent::Agent, budgets::Budgets, workspace::Workspaces};
use relaymesh_core::name::{Name, ParseError};
use serde::Deserialize;
use std::{collections::BTreeMap, io, path::Path};
use unquoted::unquoted;

/// The file's name in the root.
pub const FILE: &str = "agents.toml";

/// What an agent gets of the daemon's environment unless it asks for more.
pub const ENVIRONMENT: [&str; 7] = ["PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR", "USER"];

/// The variable that holds the key to all secrets.
pub const KEY_VARIABLE: &str = "RELAYMESH_SECRET_KEY";

/// The agents of a root, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Agents {
    by_name: BTreeMap<Name, Agent>,
    budgets: Budgets,
    workspaces: Workspaces,
}

/// What is wrong with a word that no program can be given.
const ZERO_BYTE: &str = "a zero byte cannot be passed on";

/// The longest result, as an entry has it.
fn result_bytes_max(said: Option<u64>) -> u64 {
    said.unwrap_or(relaymesh_core::content::CONTENT_BYTES_DEFAULT as u64)
}

/// Why the file cannot be used. It quotes no value of the file.
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
    agents: BTreeMap<String, toml::Spanned<entry::Entry>>,
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
            Error { message: unquoted(error.message(), text), place }
        })?;
        let mut by_name = BTreeMap::new();
        for (name, entry) in file.agents {
            let at = place(text, entry.span().start);
            let wrong = |message: String| Error { message: unquoted(&message, text), place: Some(at) };
            let known: Name = name.parse().map_err(|error: ParseError| wrong(error.to_string()))?;
            let agent = entry.into_inner().check(&known, folder);
            by_name.insert(known, agent.map_err(|why| wrong(format!("agent `{name}`: {why}")))?);
        }
        Ok(Self { by_name, budgets: file.budgets, workspaces: file.workspaces })
    }

    /// The agent of this name.
    pub fn get(&self, name: &Name) -> Option<&Agent> {
        self.by_name.get(name)
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
    pub fn iter(&self) -> impl Iterator<Item = (&Name, &Agent)> {
        self.by_name.iter()
    }
}

fn place(text: &str, at: usize) -> (usize, usize) {
    let before = &text.as_bytes()[..at.min(text.len())];
    let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
    let start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1);
    (line, String::from_utf8_lossy(&before[start..]).chars().count() + 1)
}
