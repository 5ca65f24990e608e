//! `relaymesh-bench`: how fast RelayMesh is on this machine, beside a reference measured in the same run. It is shipped with nothing.
//!
//! `kernel`, `fold` and `feed` run the driver in this process; `runtime`, `api` and `agents` start a `relaymesh` program and ask it as
//! its users do, so that two builds can be compared: `--program` names one.

mod agents;
mod api;
mod feed;
mod fold;
mod load;
mod measure;
mod reference;
mod report;
mod runtime;
mod throng;
mod tools;

use clap::{Parser as _, Subcommand};
use relaymesh_api::{
    error::{Code, Error},
    local::Client,
};
use relaymesh_core::name::Name;
use relaymesh_daemon::Home;
use relaymesh_runtime::driver::{Answer, Caller};
use std::{path::PathBuf, process::ExitCode};

const EXAMPLES: &str = "\
Examples:
  cargo xtask bench kernel --quick          a minute: is this build as fast as it should be here?
  cargo xtask bench kernel                  all of it, a million tasks included
  cargo xtask bench kernel --json           for a program
  cargo xtask bench runtime                 the daemon: its socket, its processes, its memory
  cargo xtask bench api                     the HTTP API beside the driver
  cargo xtask bench fold                    what becomes of a log of a million ops
  cargo xtask bench feed                    ops of a peer, verified and folded, beside the same ops written here";

/// Measures RelayMesh on this machine; touches no root.
#[derive(Debug, clap::Parser)]
#[command(name = "relaymesh-bench", after_help = EXAMPLES)]
struct Args {
    /// JSON on stdout
    #[arg(long, global = true)]
    json: bool,
    /// The program that is measured; without it, the one beside this one
    #[arg(long, global = true, value_name = "FILE")]
    program: Option<PathBuf>,
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
        part: measure::Part,
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
    models: agents::Models,
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

/// The daemon that is measured: whose root, and of which program.
#[derive(Debug, Clone)]
pub(crate) struct Context {
    root: PathBuf,
    namespace: Name,
    caller: Caller,
    program: PathBuf,
    json: bool,
}

impl Context {
    fn new(args: &Args) -> Result<Self, Error> {
        let failed = |error: std::io::Error| Error::new(Code::Usage, format!("where is this program? {error}"));
        let program = match &args.program {
            Some(program) => program.canonicalize().map_err(failed)?,
            None => std::env::current_exe().map_err(failed)?.with_file_name("relaymesh"),
        };
        let name = |text: &str| text.parse::<Name>().expect("a literal name");
        let caller = Caller::new(name("bench"), name("bench"));
        Ok(Self { root: PathBuf::new(), namespace: name("default"), caller, program, json: args.json })
    }

    /// Starts the daemon of the root.
    fn daemon(&self) -> Result<Client, Error> {
        let home = Home { root: self.root.clone(), caller: self.caller.clone() };
        Ok(relaymesh_daemon::start(&self.program, &home, &[])?.client)
    }
}

/// An answer to another question.
fn unexpected(answer: &Answer) -> Error {
    Error::new(Code::Internal, format!("the driver answered another question: {answer:?}"))
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error[{}]: {}", error.code.as_str(), error.message);
            ExitCode::FAILURE
        }
    }
}

/// Measures and prints.
fn run(args: &Args) -> Result<(), Error> {
    let context = Context::new(args)?;
    match &args.what {
        What::Kernel(kernel) => {
            let growth = (!kernel.quick).then_some(kernel.growth_tasks);
            measure::kernel(&kernel.dir, kernel.quick, growth, args.json)
        }
        What::Runtime(runtime) => measure::runtime(&context, &runtime.dir, runtime.quick),
        What::Api(api) => measure::api(&context, &api.dir, api.quick),
        What::Agents(agents) => measure::agents(&context, &agents.dir, &agents.models),
        What::Fold(fold) => measure::fold(&fold.dir, fold.tasks, args.json),
        What::Feed(feed) => measure::feed(feed.tasks, args.json),
        What::Part { dir, part } => measure::part(dir, part).map(|found| println!("{found}")),
    }
}
