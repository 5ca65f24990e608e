//! `relaymesh up`

use crate::{args::Context, error::Error, exit::Exit, output};
use relaymesh_daemon::{Form, Level, Manner};
use serde_json::json;

const EXAMPLES: &str = "\
Examples:
  relaymesh up               here, until Ctrl-C; what happens is said on stderr
  relaymesh up --log-level debug --log-format json
  relaymesh up --set queue_capacity=500 --set lease_timeout_ms=30000
  relaymesh up --detach      by itself, with its log in daemon.log in the root
  relaymesh status           how it is
  relaymesh down             stop it; nothing is lost";

/// Be the root's daemon: keep its work moving
///
/// There is one daemon per root. Commands that need one start it by themselves, detached.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Go on by itself, without a terminal
    #[arg(long)]
    detach: bool,
    /// A setting for this daemon: name=value; it goes before the file and the environment
    #[arg(long, value_name = "NAME=VALUE", value_parser = pair)]
    set: Vec<(String, String)>,
    /// How much is logged
    #[arg(long, value_enum, value_name = "LEVEL", env = "RELAYMESH_LOG_LEVEL", default_value = "info")]
    log_level: Level,
    /// How it is logged
    #[arg(long, value_enum, value_name = "FORM", env = "RELAYMESH_LOG_FORMAT", default_value = "human")]
    log_format: Form,
    /// The same as --log-level debug
    #[arg(long)]
    verbose: bool,
    /// Started by another command, which waits to hear how it went
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
        output::note("note: the daemon that runs goes on with its own settings; --set counts when one is started");
    }
    let pid = started.client.pid();
    if context.json {
        output::value(&json!({ "pid": pid, "was_there": started.was_there }));
    } else {
        let how = if started.was_there { "is up already" } else { "is up" };
        output::line(&format!("the daemon {how} (pid {pid})"));
    }
    Ok(Exit::Done)
}

/// The two halves of `name=value`.
fn pair(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or_else(|| "a setting is name=value".to_owned())?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}
