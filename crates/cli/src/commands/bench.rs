//! `relaymesh bench`: how fast it is on this machine, beside a reference measured in the same run.

use crate::{args::Context, bench, error::Error, exit::Exit};
use clap::Subcommand;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  relaymesh bench kernel --quick          a minute: is this build as fast as it should be here?
  relaymesh bench kernel                  all of it, a million tasks included
  relaymesh bench kernel --json           for a program
  relaymesh bench runtime                 the daemon: its socket, its processes, its memory
  relaymesh bench api                     the HTTP API beside the driver
  relaymesh bench fold                    what becomes of a log of a million ops
  relaymesh bench feed                    ops of a peer, verified and folded, beside the same ops written here";

/// Measures this machine; touches no root.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Submit, claim and complete no-op tasks through the driver, synced, beside plain SQLite without logic
    #[command(after_help = EXAMPLES)]
    Kernel(Kernel),
    /// Tasks through the daemon's socket, and processes beside the bare cost of starting them
    #[command(after_help = EXAMPLES)]
    Runtime(Runtime),
    /// Submits, reads and events over HTTP, beside the driver in this process
    #[command(after_help = EXAMPLES)]
    Api(Runtime),
    /// What an attempt of each adapter costs beside the bare call, with a scripted model: `cargo xtask bench agents` starts one
    #[command(after_help = EXAMPLES)]
    Agents(Agents),
    /// Fold a long log, rebuild it, purge and compact it, and what that does to work beside it
    #[command(after_help = EXAMPLES)]
    Fold(Fold),
    /// Verify and fold the feed of a peer, beside writing the same ops here; in memory
    #[command(after_help = EXAMPLES)]
    Feed(Feed),
    /// One part of a benchmark, in a process of its own
    #[command(hide = true)]
    Part {
        #[arg(long)]
        dir: PathBuf,
        #[command(subcommand)]
        part: bench::Part,
    },
}

#[derive(Debug, clap::Args)]
struct Kernel {
    /// Fewer tasks, and no run to a million
    #[arg(long)]
    quick: bool,
    /// Where to write; the disk under this folder is what is measured
    #[arg(long, value_name = "DIR", default_value = ".")]
    dir: PathBuf,
    /// Tasks in the run that shows what growth costs
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    growth_tasks: u64,
}

#[derive(Debug, clap::Args)]
struct Runtime {
    /// Fewer tasks
    #[arg(long)]
    quick: bool,
    /// Where to write; the disk under this folder is what is measured
    #[arg(long, value_name = "DIR", default_value = ".")]
    dir: PathBuf,
}

#[derive(Debug, clap::Args)]
struct Agents {
    #[command(flatten)]
    models: bench::Models,
    /// Where to write; the disk under this folder is what is measured
    #[arg(long, value_name = "DIR", default_value = ".")]
    dir: PathBuf,
}

#[derive(Debug, clap::Args)]
struct Fold {
    /// Tasks on the log, three ops each
    #[arg(long, value_name = "N", default_value_t = 333_334)]
    tasks: u64,
    /// Where to write; the disk under this folder is what is measured
    #[arg(long, value_name = "DIR", default_value = ".")]
    dir: PathBuf,
}

#[derive(Debug, clap::Args)]
struct Feed {
    /// Tasks in the feed, three ops each
    #[arg(long, value_name = "N", default_value_t = 20_000)]
    tasks: u64,
}

/// Measures and prints.
pub(crate) fn run(args: &Args, context: &Context) -> Result<Exit, Error> {
    match &args.what {
        What::Kernel(kernel) => {
            let growth = (!kernel.quick).then_some(kernel.growth_tasks);
            bench::kernel(&kernel.dir, kernel.quick, growth, context.json)?;
        }
        What::Runtime(runtime) => bench::runtime(context, &runtime.dir, runtime.quick)?,
        What::Api(api) => bench::api(context, &api.dir, api.quick)?,
        What::Agents(agents) => bench::agents(context, &agents.dir, &agents.models)?,
        What::Fold(fold) => bench::fold(&fold.dir, fold.tasks, context.json)?,
        What::Feed(feed) => bench::feed(feed.tasks, context.json)?,
        What::Part { dir, part } => crate::output::line(&bench::part(dir, part)?.to_string()),
    }
    Ok(Exit::Done)
}
