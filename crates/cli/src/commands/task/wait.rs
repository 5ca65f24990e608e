//! `relaymesh task wait`

use crate::{
    args::Context,
    bell::Bell,
    drive::{Patience, Start, drive},
    error::{Code, Error},
    exit::Exit,
    link::Missing,
    lookup, output,
    remote::{self, Followed},
    root, time,
    view::View,
    watch::{Begin, Watch},
};
use relaymesh_core::id::TaskId;
use relaymesh_store::Reader as _;
use relaymesh_store_sqlite::SqliteReader;
use std::time::{Duration, Instant};

const EXAMPLES: &str = "\
Examples:
  relaymesh task wait tsk_01KH…                 until it has ended; the result goes to stdout
  relaymesh task wait tsk_01KH… --watch         and show every step
  relaymesh task wait tsk_01KH… --timeout-s 30  exit code 12 if it has not ended by then";

/// How long until the lock is tried again: whoever had it may be gone.
const ROUND: Duration = Duration::from_secs(1);

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
    if let Some(remote) = &context.remote {
        let id = remote::task(remote, context, &args.id)?;
        let patience = Patience { until, yes: false };
        return remote::follow(remote, Followed::Wait(id), &mut Watch::new(context, args.watch), patience);
    }
    let mut bell = Bell::new(&context.root);
    let mut reader = root::read(&context.root)?;
    let rows = lookup::task(&mut reader, &args.id)?;
    let id = rows.task.id;
    let mut watch = Watch::new(context, args.watch);
    if rows.task.status.is_terminal() {
        watch.begin(Begin::Found, &View::bare(rows).shown(false), 0);
        return ended(&mut reader, id, &mut watch);
    }
    let (mut told, patience) = (false, Patience { until, yes: false });
    loop {
        match drive(context, Missing::Refuse, Start::Wait(id), &mut watch, patience) {
            // With `--no-daemon`, a daemon or another such command may have the root.
            Err(error) if context.no_daemon && error.code == Code::RootInUse => {
                if !std::mem::replace(&mut told, true) {
                    output::note("another process has the root; following its work");
                }
                if let Some(exit) = follow(&mut bell, &mut reader, id, &mut watch, until)? {
                    return Ok(exit);
                }
            }
            ended => return ended,
        }
    }
}

/// Looks at the task's rows for one round.
fn follow(
    bell: &mut Bell,
    reader: &mut SqliteReader,
    id: TaskId,
    watch: &mut Watch,
    until: Option<Instant>,
) -> Result<Option<Exit>, Error> {
    let round = Instant::now() + ROUND;
    loop {
        let rows = lookup::task(reader, &id.to_string())?;
        let shown = View::bare(rows).shown(false);
        watch.begin(Begin::Found, &shown, 0);
        watch.sync(&shown);
        if shown.status.is_terminal() {
            return ended(reader, id, watch).map(Some);
        }
        if shown.is_blocked(time::now_ms()) {
            watch.blocked(&shown);
            return Ok(Some(Exit::NotEnded));
        }
        if until.is_some_and(|until| Instant::now() >= until) {
            watch.stopped("timed_out", Some(id))?;
            return Ok(Some(Exit::NotEnded));
        }
        let end = until.map_or(round, |until| until.min(round));
        bell.wait(Some(end.saturating_duration_since(Instant::now())));
        if Instant::now() >= round {
            return Ok(None);
        }
    }
}

fn ended(reader: &mut SqliteReader, id: TaskId, watch: &mut Watch) -> Result<Exit, Error> {
    let missing = || Error::new(Code::NoTask, format!("there is no task {id} in this root"));
    let rows = reader.task(id)?.ok_or_else(missing)?;
    let view = View::load(reader, rows)?;
    watch.end(&view.shown(false));
    Ok(Exit::of(view.rows.task.status))
}
