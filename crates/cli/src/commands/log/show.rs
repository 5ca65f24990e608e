//! `relaymesh log show`

use crate::{
    args::Context,
    error::{Code, Error},
    exit::Exit,
    lookup, output, root, time,
};
use relaymesh_core::{
    id::TaskId,
    op::{Body, Chain, Op},
};
use relaymesh_store::{Proven, Reader as _, proven};
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
    let (mut left, mut damage) = (args.limit, None);
    while left > 0 {
        let page = proven::ops(&mut reader, after, PAGE)?;
        let Some(last) = page.last() else { break };
        after = last.pos();
        for proven in page {
            if left > 0 && show(&proven, task.as_ref().map(|task| task.id), context.json)? {
                left -= 1;
                damage = damage.or(if let Proven::Damaged(_, why) = proven { Some(why) } else { None });
            }
        }
    }
    if left == 0 && args.from.is_some() && after < head {
        output::note("more: raise --from or --limit");
    }
    damage.map_or(Ok(Exit::Done), |why| Err(Error::new(Code::Damaged, why)))
}

/// Shows the op, if it belongs to the task; and in any case if it is damaged, since nobody knows whose it was.
fn show(proven: &Proven, task: Option<TaskId>, json: bool) -> Result<bool, Error> {
    let (op, hash) = match proven {
        Proven::Op(op, _) if task.is_some() && task != op.task() => return Ok(false),
        Proven::Op(op, hash) => (op, hash),
        Proven::Gone(pos, chain) => {
            if task.is_none() {
                say_gone(*pos, chain, json);
            }
            return Ok(task.is_none());
        }
        Proven::Damaged(pos, why) => {
            output::line(&match json {
                true => json!({ "pos": pos, "damaged": true, "detail": why }).to_string(),
                false => format!("{pos:>8}  DAMAGED: {why}"),
            });
            return Ok(true);
        }
    };
    if json {
        let mut value = serde_json::to_value(op).map_err(|error| Error::new(Code::Internal, error.to_string()))?;
        value["hash"] = json!(hash);
        if let Some(via) = &op.header.via {
            value["via"] = json!(via.as_ref());
        }
        output::line(&value.to_string());
    } else {
        output::line(&line(op));
    }
    Ok(true)
}

/// Ops that a compaction removed.
fn say_gone(pos: u64, chain: &Chain, json: bool) {
    if json {
        output::line(&json!({ "pos": pos, "seq": chain.seq, "gone": true, "hash": chain.head }).to_string());
    } else {
        output::line(&format!("{pos:>8}  and the ops before it were purged and compacted"));
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
