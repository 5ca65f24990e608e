//! `relaymesh up`

use crate::{args::Context, error::Error, exit::Exit, output};
use relaymesh_daemon::{Form, Level, Manner};
use serde_json::json;

const EXAMPLES: &str = "\
Examples:
  relaymesh up               run until Ctrl-C; the log goes to stderr
  relaymesh up --log-level debug --log-format json
  relaymesh up --set queue_capacity=500 --set lease_timeout_ms=30000
  relaymesh up --detach      run in the background; the log goes to daemon.log in the root
  relaymesh status           show its state
  relaymesh down             stop it; no work is lost";

/// Run the daemon in the foreground
///
/// A root has at most one daemon. Commands that need one start it in the background.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Run in the background
    #[arg(long)]
    detach: bool,
    /// Set a setting for this daemon; overrides the file and the environment (repeatable)
    #[arg(long, value_name = "NAME=VALUE", value_parser = pair)]
    set: Vec<(String, String)>,
    /// Log level
    #[arg(long, value_enum, value_name = "LEVEL", env = "RELAYMESH_LOG_LEVEL", default_value = "info")]
    log_level: Level,
    /// Log format
    #[arg(long, value_enum, value_name = "FORM", env = "RELAYMESH_LOG_FORMAT", default_value = "human")]
    log_format: Form,
    /// Same as --log-level debug
    #[arg(long)]
    verbose: bool,
    /// Started by another command, which waits for the outcome
    #[arg(long, hide = true, conflicts_with = "detach")]
    child: bool,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Exit, Error> {
    let level = if args.verbose { Level::Debug } else { args.log_level };
    let form = if context.json { Form::Json } else { args.log_format };
    if !args.detach {
        let manner = Manner { is_child: args.child, form, level, flags: args.set.clone() };
        return relaymesh_daemon::run(&context.home(), manner).map(|()| Exit::Done);
    }
    let mut extra =
        vec![format!("--log-level={}", level.as_str()), format!("--log-format={}", args.log_format.as_str())];
    extra.extend(args.set.iter().map(|(name, value)| format!("--set={name}={value}")));
    let started = context.daemon(&extra)?;
    if started.was_there && !args.set.is_empty() {
        output::note("note: a daemon is already running and keeps its settings; --set applies only to a new one");
    }
    let pid = started.client.pid();
    if context.json {
        output::value(&json!({ "pid": pid, "was_there": started.was_there }));
    } else {
        let how = if started.was_there { "is already running" } else { "is running" };
        output::line(&format!("the daemon {how} (pid {pid})"));
    }
    Ok(Exit::Done)
}

/// The two halves of `name=value`.
fn pair(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or_else(|| "use NAME=VALUE".to_owned())?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}
