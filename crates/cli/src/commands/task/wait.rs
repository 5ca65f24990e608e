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
  relaymesh task wait tsk_01KH…                 until it has ended; the result goes to stdout
  relaymesh task wait tsk_01KH… --watch         and show every step
  relaymesh task wait tsk_01KH… --timeout-s 30  exit code 12 if it has not ended by then";

/// Wait until a task has ended
///
/// The daemon works on it, whoever waits. With `--no-daemon` it is worked on here, unless another process has the root: then
/// its work is followed, and when it goes away, the work goes on here.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The task's id, or at least four characters of its beginning or end
    id: String,
    /// Give up after this many seconds, with exit code 12; the task stays as it is
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
