//! `relaymesh doctor`
//!
//! Reads only: it takes no lock and works while a daemon runs. Each check prints a line with the finding and what to do.
//! A check that fails to run is a line, too, and does not stop the others.

mod agents;
mod daemon;
mod machine;
mod report;
mod root;
mod store;

use crate::{args::Context, error::Error, exit::Exit, root as open};
use relaymesh_runtime::clock::{Source as _, System};
use report::Report;

const EXAMPLES: &str = "\
Examples:
  relaymesh doctor            run this before you ask for help
  relaymesh doctor --full     check every op and every row; may take long
  relaymesh doctor --json | jq -r 'select(.verdict != \"ok\")'";

/// Check the root, its store, daemon and agents, and this machine
///
/// Prints one line per check: ok, warn or fail, the finding, and what to do. Exits with 0 if no check fails, else
/// with the code of the worst failure. Changes nothing.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Check the whole log and every row, not only the newest ops
    #[arg(long)]
    full: bool,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Exit, Error> {
    open::there(&context.root)?;
    let began = (System.wall_ms(), System.boot_ms());
    let mut report = Report::new(context.json);
    root::check(context, &mut report);
    let node = store::check(context, args.full, &mut report);
    let is_up = daemon::check(context, &mut report);
    if let Some(node) = node {
        daemon::orphans(context, node, is_up, &mut report);
    }
    agents::check(context, &mut report);
    machine::limits(&mut report);
    machine::clock(context, began, &mut report);
    report.end()
}
