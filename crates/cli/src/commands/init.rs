//! `relaymesh init`

use crate::{
    args::Context,
    error::{Code, Error},
    exit::Exit,
    output, root,
};
use relaymesh_core::id::NodeId;
use relaymesh_store::Reader as _;
use serde_json::json;
use std::path::Path;

const EXAMPLES: &str = "\
Examples:
  relaymesh init                       create ./.relaymesh
  relaymesh --root /srv/mesh init      create it elsewhere
  RELAYMESH_ROOT=/srv/mesh relaymesh task list";

/// Create the root folder
///
/// Only its owner can read it. It belongs to one node, whose id is created with it. Creating it twice is not an
/// error. `run` and `submit` create a missing root.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {}

pub(crate) fn run(_: &Args, context: &Context) -> Result<Exit, Error> {
    let created = !root::exists(&context.root);
    let node = if created { root::create(&context.root, &Default::default())?.1 } else { existing(&context.root)? };
    let folder = context.root.display().to_string();
    if context.json {
        output::value(&json!({ "root": folder, "node": node, "created": created }));
        return Ok(Exit::Done);
    }
    output::line(&node.to_string());
    if created {
        output::note(&format!("created a root in {folder}"));
        output::note("  next: `relaymesh demo`, or `relaymesh submit --help`");
    } else {
        output::note(&format!("{folder} is already a root; nothing changed"));
    }
    Ok(Exit::Done)
}

/// The node of a root that is there. A store of an older relaymesh is brought up to date by opening it for writing.
fn existing(folder: &Path) -> Result<NodeId, Error> {
    let mut reader = match root::read(folder) {
        Err(error) if error.code == Code::Unusable => {
            root::open(folder, &Default::default())?.close()?;
            root::read(folder)
        }
        read => read,
    }?;
    Ok(reader.head()?.chain.origin)
}
