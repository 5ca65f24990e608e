//! `relaymesh task export`

use crate::{
    args::Context,
    error::Error,
    exit::Exit,
    export, lookup, output,
    progress::Progress,
    remote::{self, Remote},
    root,
};
use relaymesh_api::view::Page;
use relaymesh_core::id::TaskId;
use relaymesh_store::Reader as _;
use serde_json::Value;

const EXAMPLES: &str = "\
Examples:
  relaymesh task export tsk_01KH… > task.json       one document
  relaymesh task export tsk_01KH… tsk_01KJ…         JSON Lines, one document each
  relaymesh task export --all | gzip > tasks.jsonl.gz";

const PAGE: usize = 64;

/// Write tasks as JSON: what was asked for with its inputs, the steps, their last 16 attempts, the results
///
/// One document per task; several are JSON Lines. Works while another process writes, and changes nothing.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Ids of tasks, or at least four characters of their beginning or end
    #[arg(value_name = "ID", required_unless_present = "all", conflicts_with = "all")]
    ids: Vec<String>,
    /// Every task of this namespace, in the order of their submit
    #[arg(long)]
    all: bool,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Exit, Error> {
    if let Some(remote) = &context.remote {
        return there(args, context, remote);
    }
    let mut reader = root::read(&context.root)?;
    if let [only] = &args.ids[..] {
        let rows = lookup::task(&mut reader, only)?;
        output::value(&export::task(&mut reader, rows)?);
        return Ok(Exit::Done);
    }
    // All of them are found before the first is written: a mistake in one leaves no half of a file.
    let named = args.ids.iter().map(|text| lookup::task(&mut reader, text)).collect::<Result<Vec<_>, _>>()?;
    for rows in named {
        output::line(&export::task(&mut reader, rows)?.to_string());
    }
    if !args.all {
        return Ok(Exit::Done);
    }
    let mut progress = Progress::new("looked at tasks:", reader.counts()?.0);
    let (mut after, mut seen) = (None, 0);
    loop {
        let page = reader.tasks_by_key(after, PAGE)?;
        let Some(last) = page.last() else { return Ok(Exit::Done) };
        after = Some(last.task.key);
        for rows in page {
            seen += 1;
            progress.tell(seen);
            if rows.task.namespace == context.namespace {
                output::line(&export::task(&mut reader, rows)?.to_string());
            }
        }
    }
}

/// The same of a daemon elsewhere.
fn there(args: &Args, context: &Context, remote: &Remote) -> Result<Exit, Error> {
    let document = |task: TaskId| remote.get::<Value>(&["tasks", &task.to_string(), "export"], &[]);
    let mut named = args.ids.iter().map(|text| remote::task(remote, context, text)).collect::<Result<Vec<_>, _>>()?;
    if let ([only], false) = (&named[..], args.all) {
        output::value(&document(*only)?);
        return Ok(Exit::Done);
    }
    let (mut cursor, mut is_last) = (None, !args.all);
    while !is_last {
        let query =
            [("namespace", Some(context.namespace.to_string())), ("limit", Some("500".to_owned())), ("cursor", cursor)];
        let page: Page = remote.get(&["tasks"], &query)?;
        named.extend(page.tasks.iter().map(|task| task.task));
        cursor = page.next.map(|next| next.to_string());
        is_last = cursor.is_none();
    }
    if args.all {
        named.reverse(); // lists begin with the newest
    }
    let mut progress = Progress::new("exported:", named.len() as u64);
    for (done, task) in (1..).zip(named) {
        output::line(&document(task)?.to_string());
        progress.tell(done);
    }
    Ok(Exit::Done)
}
