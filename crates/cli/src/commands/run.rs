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
  relaymesh run flow.yaml --watch                show every step while it runs
  relaymesh run flow.yaml --new                  run again even if it was submitted before
  relaymesh run flow.yaml --json | jq .status    one JSON line per event: accepted, step …, ended
  relaymesh run - < flow.yaml                    read the flow from stdin
  relaymesh run flow.yaml --input '{\"repo\": \"x\"}'   `${{ input.repo }}` is \"x\"

A flow:
  name: hello
  steps:
    - {id: greet, agent: echo, input: {text: hello}}
    - {id: digest, agent: hash, depends_on: [greet]}

A step without input gets the results of the steps it depends on: {\"greet\": {\"text\": \"hello\"}}

Other fields of a step: priority, timeout, retry {max_attempts, base_backoff_ms, max_backoff_ms},
when (a condition), foreach (a list), compensate (the step that undoes it), approve (a question).
See `relaymesh flow --help`.

No work is lost if you press Ctrl-C or the machine crashes: `relaymesh task wait ID` continues.";

/// Submit a flow, wait until it has ended, and print its result
///
/// Exit codes: 0 SUCCESS, 10 FAILED or DEAD_LETTER, 11 CANCELLED, 12 waiting for an approval.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Flow file: YAML, or JSON if its name ends in .json; `-` for stdin
    #[arg(value_name = "FLOW")]
    flow: PathBuf,
    /// Show every step while it runs
    #[arg(long)]
    watch: bool,
    /// Approve every request, after showing it
    #[arg(long)]
    yes: bool,
    /// Input of the flow: JSON, @FILE, or - for stdin
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
