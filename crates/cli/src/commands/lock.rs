//! `relaymesh lock`

use crate::{args::Context, error::Error, exit::Exit, output, time};
use clap::Subcommand;
use relaymesh_api::view::lock::{self, Released, Shown};
use relaymesh_core::{
    id::LeaseToken,
    lock::{Case, EDIT_TTL_MS, Key, Mode, RepositoryName},
    name::Name,
    op::HeldLock,
};
use relaymesh_runtime::driver::LockCommand;
use serde_json::json;

const EXAMPLES: &str = "\
Examples:
  relaymesh lock acquire 'src/**' --repository app --purpose 'rename a module'
  relaymesh lock acquire README.md --repository app --shared
  relaymesh lock release lea_01KH…:7 --repository app
  relaymesh lock list";

/// Take, keep and give back locks on keys and path globs
///
/// Locks are advisory: they stop nobody who does not ask. Each has a fence, a number that only grows: whoever guards the
/// thing itself refuses a smaller one than it has seen. A lock that has run out is in nobody's way.
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub(crate) enum Command {
    /// Take a lock, and print what proves it: TOKEN:FENCE
    #[command(after_help = EXAMPLES)]
    Acquire(Acquire),
    /// Keep a lock longer
    #[command(after_help = EXAMPLES)]
    Renew {
        /// What `acquire` printed
        #[arg(value_name = "HELD", value_parser = lock::held)]
        held: HeldLock,
        /// In which repository
        #[arg(long, value_name = "NAME", default_value = "")]
        repository: RepositoryName,
        /// For how long from now
        #[arg(long, value_name = "MS", default_value_t = EDIT_TTL_MS)]
        ttl_ms: u64,
    },
    /// Give a lock back
    #[command(after_help = EXAMPLES)]
    Release {
        /// What `acquire` printed
        #[arg(value_name = "HELD", value_parser = lock::held)]
        held: HeldLock,
        /// In which repository
        #[arg(long, value_name = "NAME", default_value = "")]
        repository: RepositoryName,
    },
    /// Show every lock of this namespace
    #[command(after_help = EXAMPLES)]
    List,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Acquire {
    /// A key, or a path glob with `*`, `?` and `**`
    #[arg(value_name = "KEY")]
    key: Key,
    /// In which repository
    #[arg(long, value_name = "NAME", default_value = "")]
    repository: RepositoryName,
    /// Beside others that are shared, too
    #[arg(long)]
    shared: bool,
    /// Take upper and lower case for one
    #[arg(long)]
    fold_case: bool,
    /// For whom; without one, for you
    #[arg(long, value_name = "NAME")]
    holder: Option<Name>,
    /// The token of a lock that you hold, to renew it or to change its mode
    #[arg(long, value_name = "TOKEN")]
    token: Option<LeaseToken>,
    /// For how long
    #[arg(long, value_name = "MS", default_value_t = EDIT_TTL_MS)]
    ttl_ms: u64,
    /// What for, for people
    #[arg(long, value_name = "TEXT", default_value = "")]
    purpose: String,
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
            ttl_ms: asked.ttl_ms,
            purpose: asked.purpose,
        },
        Command::Renew { held, repository, ttl_ms } => LockCommand::Renew { namespace, repository, held, ttl_ms },
        Command::Release { held, repository } => LockCommand::Release { namespace, repository, held },
    };
    match context.client().lock(command)? {
        Some(held) if context.json => output::value(&json!(held)),
        Some(held) => {
            output::line(&held.held);
            output::note(&format!("yours until {}", time::rfc3339(held.deadline_ms)));
        }
        None if context.json => output::value(&json!(Released { released: true })),
        None => output::note("released"),
    }
    Ok(Exit::Done)
}

/// Works while another process writes.
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
