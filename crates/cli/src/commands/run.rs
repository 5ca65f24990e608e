//! `relaymesh run`

use crate::{
    args::{Context, Key},
    client::Start,
    error::Error,
    exit::Exit,
    flow,
    follow::{Patience, follow},
    watch::Watch,
};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  relaymesh run examples/hello.yaml --watch      every step, drawn in place
  relaymesh run examples/hello.yaml --new        again, although it was submitted before
  relaymesh run flow.yaml --json | jq .status    one JSON line per event: accepted, step …, ended
  relaymesh run - < flow.yaml                    from stdin
  relaymesh run flow.yaml --input '{\"repo\": \"x\"}'   what `${{ input.repo }}` stands for

A flow:
  name: hello
  steps:
    - {id: greet, agent: echo, input: {text: hello}}
    - {id: digest, agent: hash, depends_on: [greet]}

A step without an input gets the results of the steps that it depends on: {\"greet\": {\"text\": \"hello\"}}

A step may also have: priority, timeout, retry {max_attempts, base_backoff_ms, max_backoff_ms}, when (a condition),
foreach (a list), compensate (the step that undoes it), approve (a question). `relaymesh flow --help` tells more.

Ctrl-C stops gracefully; nothing is lost by it, nor by a kill: `relaymesh task wait ID` goes on.";

/// Submit a flow and work on it until it has ended
///
/// The result goes to stdout. Exit code 0: SUCCESS, 10: FAILED or DEAD_LETTER, 11: CANCELLED, 12: it waits for approval.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The flow, in YAML or (named .json) in JSON; `-` for stdin
    #[arg(value_name = "FLOW")]
    flow: PathBuf,
    /// Show every step while it runs
    #[arg(long)]
    watch: bool,
    /// Approve whatever it asks, once it was shown
    #[arg(long)]
    yes: bool,
    /// The flow's input: JSON, @FILE, or - for stdin
    #[arg(long, value_name = "JSON")]
    input: Option<String>,
    #[command(flatten)]
    key: Key,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Exit, Error> {
    let client = context.client();
    let flow = flow::read(&args.flow, client.known()?)?.given(args.input.as_deref())?;
    let start = Start::Submit(Box::new(args.key.submission(flow, context)?));
    let patience = Patience { yes: args.yes, ..Patience::default() };
    follow(&*client, start, &mut Watch::new(context, args.watch), patience)
}
