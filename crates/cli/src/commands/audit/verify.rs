//! `relaymesh audit verify`

use crate::{
    args::Context,
    commands::log::verify,
    error::{Code, Error},
    exit::Exit,
    output, root,
};
use relaymesh_core::op::Op;
use relaymesh_store::Reader as _;
use serde_json::json;
use std::collections::BTreeMap;

const EXAMPLES: &str = "\
Examples:
  relaymesh audit verify           exit code 0: intact; 6: damaged
  relaymesh audit verify --json";

const PAGE: usize = 500;

/// Check the log for corruption, and count ops by author
///
/// Makes the same check as `relaymesh log verify`, and changes nothing.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {}

pub(crate) fn run(_: &Args, context: &Context) -> Result<Exit, Error> {
    let checked = verify::check(context)?;
    let mut reader = root::read(&context.root)?;
    let mut counts: BTreeMap<(String, String), u64> = BTreeMap::new();
    let (mut after, mut gone) = (0, 0);
    // Only what was checked is counted: others may write meanwhile.
    while after < checked.ops {
        let page = reader.ops(after, PAGE)?;
        let Some(last) = page.last() else { break };
        let before = after;
        after = last.pos;
        let mut previous = before;
        for stored in page.iter().filter(|stored| stored.pos <= checked.ops) {
            if stored.stub().is_some() {
                gone += stored.pos - previous;
            } else {
                let unreadable = |error| Error::new(Code::Damaged, format!("op {}: {error}", stored.pos));
                let op = Op::decode(stored.pos, &stored.bytes).map_err(unreadable)?;
                let who = format!("{}/{}", op.header.author, op.header.source);
                *counts.entry((who, format!("{:?}", op.body.kind()))).or_default() += 1;
            }
            previous = stored.pos;
        }
    }
    if context.json {
        let counted: Vec<_> =
            counts.iter().map(|((who, kind), count)| json!({ "who": who, "kind": kind, "count": count })).collect();
        let mut value = checked.to_json();
        value["gone"] = json!(gone);
        value["counts"] = json!(counted);
        output::value(&value);
        return Ok(Exit::Done);
    }
    let mut lines = vec![["WHO", "KIND", "COUNT"].map(str::to_owned).to_vec()];
    lines.extend(counts.into_iter().map(|((who, kind), count)| vec![who, kind, count.to_string()]));
    output::line(&checked.to_text());
    output::line(&format!("gone   {gone}\n\n{}", output::table(&lines)));
    output::note("the log and the tables are intact");
    Ok(Exit::Done)
}
