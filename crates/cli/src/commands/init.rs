//! `relaymesh init`

use crate::{args::Context, error::Error, exit::Exit, output, root};
use relaymesh_store::Reader as _;
use serde_json::json;

const EXAMPLES: &str = "\
Examples:
  relaymesh init                       in ./.relaymesh
  relaymesh --root /srv/mesh init      somewhere else
  RELAYMESH_ROOT=/srv/mesh relaymesh task list";

/// Make the root: the folder that holds everything
///
/// The folder is for its owner alone and belongs to one node, whose id is made here. Making it twice is not an error.
/// `run` and `submit` make it when it is missing.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {}

pub(crate) fn run(_: &Args, context: &Context) -> Result<Exit, Error> {
    let created = !root::exists(&context.root);
    let node = if created { root::create(&context.root)?.1 } else { root::read(&context.root)?.head()?.chain.origin };
    let folder = context.root.display().to_string();
    if context.json {
        output::value(&json!({ "root": folder, "node": node, "created": created }));
        return Ok(Exit::Done);
    }
    output::line(&node.to_string());
    if created {
        output::note(&format!("made a root in {folder}"));
        output::note("  next: `relaymesh run examples/hello.yaml --watch`, or `relaymesh submit --help`");
    } else {
        output::note(&format!("there is a root in {folder} already; nothing changed"));
    }
    Ok(Exit::Done)
}
