//! `relaymesh log show`

use crate::{
    args::Context,
    error::{Code, Error},
    exit::Exit,
    lookup, output, root, time,
};
use relaymesh_core::{
    id::TaskId,
    op::{Body, Op},
};
use relaymesh_store::{Reader, StoredOp};
use serde_json::json;

const EXAMPLES: &str = "\
Examples:
  relaymesh log show                       show the newest ops
  relaymesh log show --from 1 --limit 20   show the oldest ops
  relaymesh log show --task tsk_01KH…      show the ops of one task
  relaymesh log show --json | jq .kind     one JSON line per op, with its hash";

const PAGE: usize = 500;

/// Show ops: every accepted change, in order
///
/// Columns: position, time (UTC), kind, task, step, author/source.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Position to start from [default: show the newest]
    #[arg(long, value_name = "POS")]
    from: Option<u64>,
    /// Maximum number of results
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: u64,
    /// Only ops of this task
    #[arg(long, value_name = "ID")]
    task: Option<String>,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Exit, Error> {
    let mut reader = root::read(&context.root)?;
    let head = reader.head()?.pos;
    let task = args.task.as_deref().map(|text| lookup::task(&mut reader, text)).transpose()?.map(|rows| rows.task);
    let first = match (args.from, &task) {
        (Some(from), _) => from,
        // A task's key is the position of the op that made it.
        (None, Some(task)) => task.key,
        (None, None) => (head + 1).saturating_sub(args.limit),
    };
    let mut after = first.max(1) - 1;
    let mut left = args.limit;
    while left > 0 {
        let page = reader.ops(after, PAGE)?;
        let Some(last) = page.last() else { break };
        after = last.pos;
        for stored in page {
            if left > 0 && show(&stored, task.as_ref().map(|task| task.id), context.json)? {
                left -= 1;
            }
        }
    }
    if left == 0 && args.from.is_some() && after < head {
        output::note("more: raise --from or --limit");
    }
    Ok(Exit::Done)
}

/// Shows the op, if it belongs to the task.
fn show(stored: &StoredOp, task: Option<TaskId>, json: bool) -> Result<bool, Error> {
    let unreadable =
        |error: relaymesh_core::op::DecodeError| Error::new(Code::Damaged, format!("op {}: {error}", stored.pos));
    if let Some(chain) = stored.stub() {
        if task.is_none() {
            say_gone(stored, chain.seq, json);
        }
        return Ok(task.is_none());
    }
    let op = Op::decode(stored.pos, &stored.bytes).map_err(unreadable)?;
    if task.is_some() && task != op.task() {
        return Ok(false);
    }
    if json {
        let mut value = serde_json::to_value(&op).map_err(|error| Error::new(Code::Internal, error.to_string()))?;
        value["hash"] = json!(stored.hash);
        if let Some(via) = &op.header.via {
            value["via"] = json!(via.as_ref());
        }
        output::line(&value.to_string());
    } else {
        output::line(&line(&op));
    }
    Ok(true)
}

/// Ops that a compaction removed.
fn say_gone(stored: &StoredOp, seq: u64, json: bool) {
    if json {
        output::line(&json!({ "pos": stored.pos, "seq": seq, "gone": true, "hash": stored.hash }).to_string());
    } else {
        output::line(&format!("{:>8}  and the ops before it were purged and compacted", stored.pos));
    }
}

fn line(op: &Op) -> String {
    let header = &op.header;
    let step = if let Body::Task(body) = &op.body { body.step() } else { None };
    let step = step.map_or_else(|| "-".to_owned(), |step| step.to_string());
    let kind = format!("{:?}", op.body.kind());
    let time = time::rfc3339(header.hlc.wall_ms);
    format!("{:>8}  {time}  {kind:<12}  {}  {step:>4}  {}/{}", op.pos, header.scope, header.author, header.source)
}
