//! `relaymesh task wait`

use crate::{
    args::Context,
    client::Start,
    error::Error,
    exit::Exit,
    follow::{Patience, follow},
    watch::Watch,
};
use std::time::{Duration, Instant};

const EXAMPLES: &str = "\
Examples:
  relaymesh task wait tsk_01KH…                 wait until it has ended, and print its result
  relaymesh task wait tsk_01KH… --watch         show every step meanwhile
  relaymesh task wait tsk_01KH… --timeout-s 30  exit with code 12 if it has not ended by then";

/// Wait until a task has ended, and print its result
///
/// The daemon runs the task whether or not a command waits for it. With `--no-daemon` this command runs it, unless
/// another process is using the root: then this command follows that process, and takes over when it ends.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Id of the task, or at least four characters of its beginning or end
    id: String,
    /// Stop waiting after this many seconds, with exit code 12; the task is not changed
    #[arg(long, value_name = "N")]
    timeout_s: Option<u64>,
    /// Show every step while it runs
    #[arg(long)]
    watch: bool,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Exit, Error> {
    let until = args.timeout_s.and_then(|seconds| Instant::now().checked_add(Duration::from_secs(seconds)));
    let client = context.client();
    let start = Start::Wait(client.find(&args.id)?);
    follow(&*client, start, &mut Watch::new(context, args.watch), Patience { until, yes: false })
}
