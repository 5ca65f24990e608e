//! An entry of `agents.toml` as it stands in the file, and how it becomes an [`Agent`]: the one place that knows which fields belong to
//! which kind of agent.

use super::{http, process};
use crate::{
    agent::{Agent, Audit, Kind, Terms},
    budgets::AgentBudgets,
    confine::Confine,
    http::{Api, address::Allowed},
    limits::Limits,
    rules::{Confirm, Retry},
    tool::{Generic, Tool},
};
use relaymesh_core::{name::Name, task::request::duration};
use serde::Deserialize;
use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::Arc,
};

/// Attempts at once of an agent that does not say.
const CONCURRENCY: usize = 4;

/// The fields of an entry. `None`: it is not there.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Entry {
    pub(super) command: Option<Vec<String>>,
    pub(super) tool: Option<Tool>,
    pub(super) model: Option<String>,
    pub(super) args: Option<Vec<String>>,
    provider: Option<Name>,
    concurrency: Option<usize>,
    pub(super) env: Option<Vec<String>>,
    pub(super) set: Option<BTreeMap<String, String>>,
    #[serde(default)]
    pub(super) secrets: BTreeMap<String, Name>,
    #[serde(default)]
    input_secrets: BTreeSet<Name>,
    #[serde(default)]
    llm: bool,
    pub(super) grace_ms: Option<u64>,
    pub(super) output_bytes_max: Option<u64>,
    pub(super) confine: Option<Confine>,
    pub(super) writable: Option<Vec<String>>,
    pub(super) limits: Option<Limits>,
    pub(super) result: Option<ResultForm>,
    #[serde(default)]
    inbox: bool,
    #[serde(default)]
    about: String,
    #[serde(default)]
    budget: AgentBudgets,
    #[serde(default)]
    audit: Audit,
    pub(super) url: Option<String>,
    pub(super) api: Option<Api>,
    pub(super) key: Option<Name>,
    pub(super) key_header: Option<String>,
    pub(super) headers: Option<BTreeMap<String, String>>,
    pub(super) system: Option<String>,
    pub(super) max_tokens: Option<u64>,
    pub(super) allow: Option<Allowed>,
    #[serde(default, deserialize_with = "duration")]
    pub(super) connect_timeout: Option<u64>,
    #[serde(default, deserialize_with = "duration")]
    pub(super) first_byte_timeout: Option<u64>,
    #[serde(default, deserialize_with = "duration")]
    pub(super) idle_timeout: Option<u64>,
    kind: Option<Sort>,
    #[serde(default, alias = "timeout_ms", deserialize_with = "duration")]
    timeout: Option<u64>,
    #[serde(default)]
    retry: Retry,
    pub(super) folder: Option<PathBuf>,
    #[serde(default)]
    confirm: Confirm,
    #[serde(default)]
    labels: BTreeMap<Name, String>,
    pub(super) cli: Option<Box<Generic>>,
}

/// What a result is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum ResultForm {
    /// Text, whatever it looks like.
    Text,
}

/// What sort of agent an entry describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Sort {
    /// Any command: input on stdin, result on stdout.
    Script,
    /// An agent tool.
    Cli,
    /// A server that is reached by HTTP.
    Http,
    /// Nothing runs here.
    Inbox,
    /// One that needs no entry.
    Builtin,
}

/// The sorts that start a program.
const PROCESSES: &[Sort] = &[Sort::Script, Sort::Cli];
/// The sorts that run something.
const RUNS: &[Sort] = &[Sort::Script, Sort::Cli, Sort::Http];
const TOOLS: &[Sort] = &[Sort::Cli];
const HTTP: &[Sort] = &[Sort::Http];

impl Entry {
    /// The agent that this entry describes; paths are relative to `root`. The error is for people.
    pub(super) fn check(mut self, name: &Name, root: &Path) -> Result<Agent, String> {
        let sort = self.sort();
        self.refuse_misplaced(sort)?;
        self.check_kind(sort)?;
        let kind = match sort {
            Sort::Http => Kind::Http(Arc::new(http::read(&mut self)?)),
            Sort::Inbox => Kind::Inbox,
            Sort::Script | Sort::Cli | Sort::Builtin => Kind::Process(Arc::new(process::read(&mut self, root)?)),
        };
        let terms = self.terms(name, &kind)?;
        Ok(Agent { terms, kind })
    }

    fn sort(&self) -> Sort {
        if self.inbox {
            Sort::Inbox
        } else if self.url.is_some() {
            Sort::Http
        } else if self.tool.is_some() || self.cli.is_some() {
            Sort::Cli
        } else {
            Sort::Script
        }
    }

    /// The fields that only some sorts of agents have: whether each is there, and which those are.
    fn owned(&self) -> [(&'static str, bool, &'static [Sort]); 28] {
        let list = |list: &Option<Vec<String>>| list.as_ref().is_some_and(|list| !list.is_empty());
        let table = |table: &Option<BTreeMap<String, String>>| table.as_ref().is_some_and(|table| !table.is_empty());
        [
            ("command", list(&self.command), PROCESSES),
            ("tool", self.tool.is_some(), TOOLS),
            ("model", self.model.is_some(), &[Sort::Cli, Sort::Http]),
            ("args", list(&self.args), TOOLS),
            ("cli", self.cli.is_some(), TOOLS),
            ("env", list(&self.env), PROCESSES),
            ("set", table(&self.set), PROCESSES),
            ("grace_ms", self.grace_ms.is_some(), PROCESSES),
            ("confine", self.confine.is_some(), PROCESSES),
            ("writable", list(&self.writable), PROCESSES),
            ("limits", self.limits.is_some(), PROCESSES),
            ("folder", self.folder.is_some(), PROCESSES),
            ("result", self.result.is_some(), &[Sort::Script]),
            ("output_bytes_max", self.output_bytes_max.is_some(), RUNS),
            ("secrets", !self.secrets.is_empty(), RUNS),
            ("input_secrets", !self.input_secrets.is_empty(), RUNS),
            ("url", self.url.is_some(), HTTP),
            ("api", self.api.is_some(), HTTP),
            ("key_header", self.key_header.is_some(), HTTP),
            ("key", self.key.is_some(), HTTP),
            ("headers", table(&self.headers), HTTP),
            ("system", self.system.is_some(), HTTP),
            ("max_tokens", self.max_tokens.is_some(), HTTP),
            ("allow", self.allow.as_ref().is_some_and(|allow| !allow.is_empty()), HTTP),
            ("connect_timeout", self.connect_timeout.is_some(), HTTP),
            ("first_byte_timeout", self.first_byte_timeout.is_some(), HTTP),
            ("idle_timeout", self.idle_timeout.is_some(), HTTP),
            ("concurrency", self.concurrency.is_some(), RUNS),
        ]
    }

    /// A field of another sort of agent is a mistake: it would have no effect.
    fn refuse_misplaced(&self, sort: Sort) -> Result<(), String> {
        let Some((field, _, owners)) =
            self.owned().into_iter().find(|(_, is_there, owners)| *is_there && !owners.contains(&sort))
        else {
            return Ok(());
        };
        Err(match sort {
            Sort::Inbox => format!("an agent with `inbox` runs nothing: remove `{field}`"),
            Sort::Http => format!("`{field}` is only for agents that are processes, but this one has a `url`"),
            Sort::Script | Sort::Cli | Sort::Builtin if owners == HTTP => {
                format!("`{field}` is only for agents with a `url`")
            }
            Sort::Script | Sort::Builtin => format!("`{field}` is only for agents with a `tool`"),
            Sort::Cli => format!("`{field}` is only for agents without a `tool`"),
        })
    }

    fn check_kind(&self, sort: Sort) -> Result<(), String> {
        match self.kind {
            Some(Sort::Builtin) => Err("`kind`: built-in agents need no entry".to_owned()),
            Some(said) if said != sort => {
                let (said, is) = (format!("{said:?}").to_lowercase(), format!("{sort:?}").to_lowercase());
                Err(format!("`kind` is `{said}`, but the other fields describe the kind `{is}`"))
            }
            Some(_) | None => Ok(()),
        }
    }

    fn terms(self, name: &Name, kind: &Kind) -> Result<Terms, String> {
        self.confirm.check()?;
        if self.retry.max_attempts == Some(0) {
            return Err("`retry`: `max_attempts` must be at least 1".to_owned());
        }
        if self.timeout == Some(0) {
            return Err("`timeout` must be more than 0".to_owned());
        }
        if self.concurrency == Some(0) {
            return Err("`concurrency` must be at least 1".to_owned());
        }
        let usual = match kind {
            // Two at once in one folder would step on each other.
            Kind::Process(process) if process.folder.is_some() => Some(1),
            Kind::Process(_) | Kind::Http(_) => Some(CONCURRENCY),
            Kind::Inbox => None,
        };
        let (provider, llm) = match kind {
            Kind::Process(process) => match process.tool() {
                Some(setup) => (setup.tool.provider().map(str::to_owned), true),
                None => (None, self.llm),
            },
            Kind::Http(http) => (Some(http.provider()), self.llm || http.api != Api::Json),
            Kind::Inbox => (None, self.llm),
        };
        let provider = self.provider.map(|provider| provider.to_string()).or(provider);
        Ok(Terms {
            about: self.about,
            labels: self.labels,
            concurrency: self.concurrency.or(usual),
            timeout_ms: self.timeout,
            retry: self.retry,
            confirm: self.confirm,
            budget: self.budget,
            audit: self.audit,
            provider: provider.unwrap_or_else(|| format!("agent {name}")),
            llm,
            secrets: self.secrets,
            input_secrets: self.input_secrets,
        })
    }
}
