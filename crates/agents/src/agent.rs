//! What an agent is, once its entry in `agents.toml` is checked.
//!
//! What every agent has (how many attempts at once, retries, budgets) is in its [`Terms`]; what differs is in its [`Kind`]. A field that
//! means nothing for a kind of agent does not exist there: the entry that has it is refused when it is read ([`crate::config`]).

use crate::{
    budgets::AgentBudgets,
    confine::Confine,
    http::Http,
    limits::Limits,
    rules::{Confirm, Retry},
    tool,
};
use relaymesh_core::name::Name;
use serde::Deserialize;
use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    sync::Arc,
};

/// An agent of `agents.toml`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agent {
    /// What every kind of agent has.
    pub terms: Terms,
    /// What it is.
    pub kind: Kind,
}

/// What every kind of agent has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Terms {
    /// What it is for, for people.
    pub about: String,
    /// For people, to sort and filter agents.
    pub labels: BTreeMap<Name, String>,
    /// Attempts at once. `None`: no limit, as nothing runs here.
    pub concurrency: Option<usize>,
    /// How long an attempt may take if its step does not say.
    pub timeout_ms: Option<u64>,
    /// How often and how soon a step is tried again that does not say.
    pub retry: Retry,
    /// Whether a person is asked first.
    pub confirm: Confirm,
    /// What it may use.
    pub budget: AgentBudgets,
    /// What is kept of what its model was asked and said.
    pub audit: Audit,
    /// Who serves it. All agents of a provider are held together when it turns one of them away.
    pub provider: String,
    /// Whether it uses a language model, and so shares the places of all that do.
    pub llm: bool,
    /// Variables of a process, or headers of a request, that are set to secrets, with the secrets' names.
    pub secrets: BTreeMap<String, Name>,
    /// Other secrets that its input may name.
    pub input_secrets: BTreeSet<Name>,
}

/// What an agent can be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// A program that is started for each attempt: any command, or an agent tool.
    Process(Arc<Process>),
    /// A server that is reached by HTTP.
    Http(Arc<Http>),
    /// Nothing runs here: its steps and messages wait in its inbox until they are answered.
    Inbox,
}

/// A program that is started for each attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// The program and its arguments; there is at least the program.
    pub command: Vec<String>,
    /// Names of variables that it gets from the daemon's environment.
    pub env: Vec<String>,
    /// Variables that are set for it.
    pub set: BTreeMap<String, String>,
    /// Where it works, if not in a folder of its own: a full path.
    pub folder: Option<PathBuf>,
    /// The time between SIGTERM and SIGKILL.
    pub grace_ms: u64,
    /// The longest result.
    pub output_bytes_max: u64,
    /// How much of it is confined.
    pub confine: Confine,
    /// Where it may write besides its folder: full paths.
    pub writable: Vec<String>,
    /// Whether the root is in one of those.
    pub opens_root: bool,
    /// What it may use of the machine.
    pub limits: Limits,
    /// How it is given its input, and what its output means.
    pub protocol: Protocol,
}

/// How a process is given its input, and what its output means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Protocol {
    /// Input on stdin, the result on stdout.
    Plain {
        /// Whether the result is text, also if it looks like JSON.
        is_text: bool,
    },
    /// An agent tool: it is given a prompt, and says in lines what it does.
    Tool(tool::Setup),
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

impl Agent {
    /// Whether nothing runs here, and its steps and messages wait in its inbox.
    pub fn is_inbox(&self) -> bool {
        match &self.kind {
            Kind::Inbox => true,
            Kind::Process(_) | Kind::Http(_) => false,
        }
    }

    /// The program that is started for its attempts.
    pub fn process(&self) -> Option<&Process> {
        match &self.kind {
            Kind::Process(process) => Some(process),
            Kind::Http(_) | Kind::Inbox => None,
        }
    }

    /// The server that it is.
    pub fn http(&self) -> Option<&Http> {
        match &self.kind {
            Kind::Http(http) => Some(http),
            Kind::Process(_) | Kind::Inbox => None,
        }
    }

    /// The agent tool that it is.
    pub fn tool(&self) -> Option<&tool::Setup> {
        self.process().and_then(Process::tool)
    }

    /// The model that its entry names.
    pub fn model(&self) -> Option<&str> {
        match &self.kind {
            Kind::Process(process) => process.tool().and_then(|setup| setup.model.as_deref()),
            Kind::Http(http) => http.model.as_deref(),
            Kind::Inbox => None,
        }
    }

    /// The longest result.
    pub fn output_bytes_max(&self) -> Option<u64> {
        match &self.kind {
            Kind::Process(process) => Some(process.output_bytes_max),
            Kind::Http(http) => Some(http.output_bytes_max),
            Kind::Inbox => None,
        }
    }
}

impl Process {
    /// The agent tool that it is.
    pub fn tool(&self) -> Option<&tool::Setup> {
        match &self.protocol {
            Protocol::Tool(setup) => Some(setup),
            Protocol::Plain { .. } => None,
        }
    }
}
