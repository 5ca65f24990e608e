//! The arguments that every command has, and those that several share.

use crate::{
    client::Submission,
    commands::{
        Command,
        reach::{Reach, local_only},
    },
    error::{Code, Error},
    flow::Flow,
    remote::{self, Remote},
};
use clap::{Args, Parser};
use relaymesh_core::{
    id::RequestId,
    name::Name,
    task::{key::GivenKey, spec::IdempotencyKey},
    trace,
};
use relaymesh_daemon::{Home, Started};
use relaymesh_runtime::driver::Caller;
use std::{path::PathBuf, sync::Arc};

/// Where the token for a daemon elsewhere is, unless in a file.
const TOKEN_VARIABLE: &str = "RELAYMESH_TOKEN";

const AFTER_HELP: &str = "\
Try it:
  relaymesh demo                                           run a small flow of agents
  relaymesh submit --agent echo --input '\"hello\"' --wait   run one agent
  relaymesh run flow.yaml --watch                          run a flow (see `relaymesh run --help`)
  relaymesh task list                                      list tasks
  relaymesh log verify                                     check the store for corruption

Results go to stdout, messages to stderr. `--json` prints JSON.

Exit codes:
  0 success      2 usage        3 not found             4 refused       5 in use
  6 damaged      7 disk full    8 outcome unknown       9 I/O error
  10 task failed                11 task cancelled       12 task not ended    130 interrupted";

/// A durable, local-first runtime for AI agents: submit a flow of steps, and it runs to its end, even after a crash.
#[derive(Debug, Parser)]
#[command(name = "relaymesh", version, after_help = AFTER_HELP, max_term_width = 110, propagate_version = true)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What every command knows.
#[derive(Debug, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Global {
    /// Root folder, with the log, settings and agents
    #[arg(long, global = true, value_name = "DIR", env = "RELAYMESH_ROOT", default_value = "./.relaymesh")]
    root: PathBuf,
    /// Namespace of a team or project; `default` if not given
    #[arg(long, global = true, value_name = "NS", env = "RELAYMESH_NAMESPACE")]
    namespace: Option<Name>,
    /// Use a remote daemon at this URL: https://HOST:PORT
    #[arg(long, global = true, value_name = "URL", env = "RELAYMESH_URL")]
    url: Option<String>,
    /// File with the token for the remote daemon; RELAYMESH_TOKEN holds the token itself
    #[arg(long, global = true, value_name = "FILE", env = "RELAYMESH_TOKEN_FILE")]
    token_file: Option<PathBuf>,
    /// CA certificates (PEM) to trust for the remote daemon, instead of the system's
    #[arg(long, global = true, value_name = "FILE", env = "RELAYMESH_CA")]
    ca: Option<PathBuf>,
    /// Print JSON on stdout, and errors as JSON on stderr
    #[arg(long, global = true)]
    json: bool,
    /// Run in this process instead of using the daemon
    #[arg(long, global = true, env = "RELAYMESH_NO_DAEMON", value_parser = clap::builder::FalseyValueParser::new())]
    no_daemon: bool,
}

/// The same, ready for use.
#[derive(Debug, Clone)]
pub(crate) struct Context {
    pub(crate) root: PathBuf,
    pub(crate) namespace: Name,
    /// The same if somebody named one; for commands that are about all of them otherwise.
    pub(crate) namespace_given: Option<Name>,
    pub(crate) json: bool,
    pub(crate) no_daemon: bool,
    /// The daemon elsewhere that it is about, instead of the root.
    pub(crate) remote: Option<Arc<Remote>>,
    /// Who asks; it stands on the log.
    pub(crate) caller: Caller,
}

impl Context {
    /// The root, and who asks there.
    pub(crate) fn home(&self) -> Home {
        Home { root: self.root.clone(), caller: self.caller.clone() }
    }

    /// The root's daemon, started from this program if there is none; `extra` are more arguments for it.
    pub(crate) fn daemon(&self, extra: &[String]) -> Result<Started, Error> {
        let failed = |error| Error::new(Code::DaemonFailed, format!("cannot start the daemon: {error}"));
        relaymesh_daemon::start(&std::env::current_exe().map_err(failed)?, &self.home(), extra)
    }
}

impl Global {
    /// What the command gets to see; before it is known where the daemon is.
    pub(crate) fn context(&self) -> Context {
        Context {
            root: self.root.clone(),
            namespace: self.namespace.clone().unwrap_or_else(|| fixed("default")),
            namespace_given: self.namespace.clone(),
            json: self.json,
            no_daemon: self.no_daemon,
            remote: None,
            caller: caller(),
        }
    }

    /// The daemon elsewhere that a command with this reach is about, if it is about one.
    pub(crate) fn remote(&self, reach: Reach) -> Result<Option<Arc<Remote>>, Error> {
        // An empty variable is none.
        let url = self.url.as_deref().filter(|url| !url.is_empty());
        match (reach, url) {
            (Reach::Program, _) | (_, None) => Ok(None),
            (Reach::Here, Some(url)) => Err(local_only(url)),
            (Reach::Anywhere, Some(url)) => {
                let remote = Remote::new(url, &self.token()?, self.ca.as_deref(), asked_in())?;
                Ok(Some(Arc::new(remote)))
            }
        }
    }

    /// The token. Never from the arguments: everybody on a machine can read those.
    fn token(&self) -> Result<String, Error> {
        let text = match &self.token_file {
            Some(file) => String::from_utf8_lossy(&remote::read_file(file)?).into_owned(),
            None => std::env::var(TOKEN_VARIABLE).unwrap_or_default(),
        };
        match text.trim() {
            "" => {
                let error = Error::new(Code::NotAuthenticated, "no token is given for the remote daemon");
                Err(error.hint(format!("set {TOKEN_VARIABLE}, or name a file with `--token-file`")))
            }
            token => Ok(token.to_owned()),
        }
    }
}

fn fixed(text: &str) -> Name {
    text.parse().expect("a literal name")
}

/// Whoever runs this in a trace of their own goes on in it; an agent does.
fn asked_in() -> Option<trace::Context> {
    std::env::var("TRACEPARENT").ok()?.parse().ok()
}

/// The login name, if it is a name; the source is this program.
fn caller() -> Caller {
    let login = ["USER", "LOGNAME"].iter().find_map(|variable| std::env::var(variable).ok()?.parse().ok());
    Caller { asked_in: asked_in(), ..Caller::new(login.unwrap_or_else(|| fixed("local")), fixed("cli")) }
}

/// What makes a submit the same as another one (D5).
#[derive(Debug, Args)]
pub(crate) struct Key {
    /// Idempotency key: a second submit with this key returns the same task
    #[arg(long, value_name = "KEY", conflicts_with_all = ["request_id", "new"])]
    key: Option<GivenKey>,
    /// Request id, as an idempotency key: repeat it when you repeat the submit
    #[arg(long, value_name = "REQ", conflicts_with = "new")]
    request_id: Option<RequestId>,
    /// Run again even if an equal request was submitted before
    #[arg(long)]
    new: bool,
}

impl Key {
    /// A key that no other submit has.
    pub(crate) fn anew() -> Self {
        Self { key: None, request_id: None, new: true }
    }

    /// The flow, ready to be submitted. What its steps do not say about retries is no part of the fingerprint, so a submit that is
    /// repeated after agents or settings have changed is still the same task.
    pub(crate) fn submission(&self, flow: Flow, context: &Context) -> Result<Submission, Error> {
        let fresh = self.new.then(|| RequestId::new(crate::time::now_ms(), rand::random()));
        let id = self.request_id.or(fresh).map(IdempotencyKey::RequestId);
        let key = self.key.clone().map(IdempotencyKey::Given).or(id);
        let trace_id = context.caller.trace_id(rand::random());
        let prepared = flow.prepare(&context.namespace, key.clone(), trace_id)?;
        Ok(Submission { namespace: context.namespace.clone(), request: flow.request, prepared, key })
    }
}
