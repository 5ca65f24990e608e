//! `relaymesh audit`
//!
//! The op log is the audit log: every accepted write is an op with its author and its source. This is the same log as
//! `relaymesh log show`, read for another question: who did what, from where, when. It shows no content, no words of agents and
//! no lease tokens, only their hashes and lengths, so that it can be given to somebody who may not see the work itself. What models were
//! asked and said is content, and has a command of its own.

mod entry;
mod fenced;
mod filter;
mod inference;
mod query;
mod tail;
mod verify;

use crate::{args::Context, error::Error, exit::Exit};
use clap::Subcommand;

const EXAMPLES: &str = "\
Examples:
  relaymesh audit tail -f                          print every write as it happens
  relaymesh audit query --author ann --since 1d    writes of ann
  relaymesh audit query --kind ApproveStep --json  approvals
  relaymesh audit inference tsk_01KH…              prompts and outputs of models
  relaymesh audit fenced                           reports of workers whose lease was over
  relaymesh audit verify                           check the log for corruption";

/// Show who wrote what, from where and when
///
/// Covers all namespaces, unless --namespace or RELAYMESH_NAMESPACE is given. Shows the hashes and lengths of inputs,
/// results and messages, not their content; only `inference` shows content.
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub(crate) enum Command {
    Tail(tail::Args),
    Query(query::Args),
    Inference(inference::Args),
    Fenced(fenced::Args),
    Verify(verify::Args),
}

pub(crate) fn run(command: Command, context: &Context) -> Result<Exit, Error> {
    match command {
        Command::Tail(args) => tail::run(&args, context),
        Command::Query(args) => query::run(&args, context),
        Command::Inference(args) => inference::run(&args, context),
        Command::Fenced(args) => fenced::run(&args, context),
        Command::Verify(args) => verify::run(&args, context),
    }
}
