//! `relaymesh lock`

use crate::{args::Context, error::Error, exit::Exit, output, time};
use clap::{Subcommand, ValueEnum};
use relaymesh_api::view::lock::{self, Released, Shown};
use relaymesh_core::{
    id::LeaseToken,
    lock::{Case, Key, Mode, RepositoryName, Work},
    name::Name,
    op::HeldLock,
};
use relaymesh_runtime::driver::LockCommand;
use serde_json::json;

const EXAMPLES: &str = "\
Examples:
  relaymesh lock acquire 'src/**' --repository app --purpose 'rename a module'
  relaymesh lock acquire README.md --repository app --shared
  relaymesh lock acquire 'src/**' --repository app --for long
  relaymesh lock release lea_01KH…:7 --repository app
  relaymesh lock list";

/// Acquire, renew and release locks on keys and path globs
///
/// Locks are advisory: they have no effect on a program that does not acquire them. Each has a fence, a number that
/// only grows, so that a resource can refuse a write with an older number. An expired lock blocks nobody.
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub(crate) enum Command {
    /// Acquire a lock, and print its proof, TOKEN:FENCE
    #[command(after_help = EXAMPLES)]
    Acquire(Acquire),
    /// Extend a lock
    #[command(after_help = EXAMPLES)]
    Renew {
        /// The TOKEN:FENCE that `acquire` printed
        #[arg(value_name = "HELD", value_parser = lock::held)]
        held: HeldLock,
        /// Repository
        #[arg(long, value_name = "NAME", default_value = "")]
        repository: RepositoryName,
        #[command(flatten)]
        lasts: Lasts,
    },
    /// Release a lock
    #[command(after_help = EXAMPLES)]
    Release {
        /// The TOKEN:FENCE that `acquire` printed
        #[arg(value_name = "HELD", value_parser = lock::held)]
        held: HeldLock,
        /// Repository
        #[arg(long, value_name = "NAME", default_value = "")]
        repository: RepositoryName,
    },
    /// List the locks of this namespace
    #[command(after_help = EXAMPLES)]
    List,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Acquire {
    /// Key, or path glob with `*`, `?` and `**`
    #[arg(value_name = "KEY")]
    key: Key,
    /// Repository
    #[arg(long, value_name = "NAME", default_value = "")]
    repository: RepositoryName,
    /// Shared mode: does not conflict with other shared locks
    #[arg(long)]
    shared: bool,
    /// Match case-insensitively
    #[arg(long)]
    fold_case: bool,
    /// Holder [default: your login name]
    #[arg(long, value_name = "NAME")]
    holder: Option<Name>,
    /// Token of a lock that you hold, to renew it or change its mode
    #[arg(long, value_name = "TOKEN")]
    token: Option<LeaseToken>,
    #[command(flatten)]
    lasts: Lasts,
    /// Purpose, shown in lists
    #[arg(long, value_name = "TEXT", default_value = "")]
    purpose: String,
}

/// How long a lock lasts, from now.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct Lasts {
    /// What the lock is for: 30 seconds for an edit, 5 minutes for long work
    #[arg(long = "for", value_name = "WORK", value_enum, default_value_t = For::Edit)]
    work: For,
    /// Duration of the lock, instead of `--for`
    #[arg(long, value_name = "MS", conflicts_with = "work")]
    ttl_ms: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum For {
    Edit,
    Long,
}

impl Lasts {
    fn ttl_ms(self) -> u64 {
        let work = match self.work {
            For::Edit => Work::Edit,
            For::Long => Work::Long,
        };
        self.ttl_ms.unwrap_or_else(|| work.ttl_ms())
    }
}

pub(crate) fn run(command: Command, context: &Context) -> Result<Exit, Error> {
    let namespace = context.namespace.clone();
    let command = match command {
        Command::List => return list(context),
        Command::Acquire(asked) => LockCommand::Acquire {
            namespace,
            repository: asked.repository,
            key: asked.key,
            mode: if asked.shared { Mode::Shared } else { Mode::Exclusive },
            case: if asked.fold_case { Case::Folded } else { Case::Sensitive },
            holder: asked.holder.unwrap_or_else(|| context.caller.author.clone()),
            token: asked.token,
            ttl_ms: asked.lasts.ttl_ms(),
            purpose: asked.purpose,
        },
        Command::Renew { held, repository, lasts } => {
            LockCommand::Renew { namespace, repository, held, ttl_ms: lasts.ttl_ms() }
        }
        Command::Release { held, repository } => LockCommand::Release { namespace, repository, held },
    };
    match context.client().lock(command)? {
        Some(held) if context.json => output::value(&json!(held)),
        Some(held) => {
            output::line(&held.held);
            output::note(&format!("held until {}", time::rfc3339(held.deadline_ms)));
        }
        None if context.json => output::value(&json!(Released { released: true })),
        None => output::note("released"),
    }
    Ok(Exit::Done)
}

/// Can be used while another process writes.
fn list(context: &Context) -> Result<Exit, Error> {
    let found = context.client().locks()?;
    let mut lines =
        vec![["REPOSITORY", "KEY", "MODE", "HOLDER", "FENCE", "UNTIL", "PURPOSE"].map(str::to_owned).to_vec()];
    for shown in &found {
        if context.json { output::line(&json!(shown).to_string()) } else { lines.push(line(shown)) }
    }
    if !context.json {
        output::rows(&lines);
    }
    Ok(Exit::Done)
}

fn line(lock: &Shown) -> Vec<String> {
    let over = if lock.deadline_ms <= time::now_ms() { " (over)" } else { "" };
    vec![
        output::clean(lock.repository.as_str()),
        output::clean(lock.key.as_str()),
        lock.mode.to_string(),
        lock.holder.to_string(),
        lock.fence.to_string(),
        format!("{}{over}", time::rfc3339(lock.deadline_ms)),
        output::short(&lock.purpose, 40),
    ]
}
