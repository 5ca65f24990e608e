//! `relaymesh restore`

use crate::{args::Context, backup::restore, error::Error, exit::Exit, output};
use serde_json::json;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  relaymesh restore /srv/backups/mesh-1 --root /srv/mesh
  relaymesh restore b --root /tmp/drill && relaymesh --root /tmp/drill log rebuild   test a backup

Stop the original for good before you use the restored root: both are the same node and would run
the same tasks.";

/// Restore a backup into a new root
///
/// The root (`--root`) must not exist or must be empty. Every op, row and blob is checked first. The restored root
/// starts a new origin epoch, and its daemon revokes all leases. An interrupted restore leaves no root; repeat it.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Folder that `relaymesh backup` created
    #[arg(value_name = "BACKUP")]
    backup: PathBuf,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Exit, Error> {
    let restore::Restored { manifest, origin_epoch } = restore::restore(&args.backup, &context.root)?;
    if context.json {
        output::value(&json!({
            "root": context.root, "node": manifest.node, "origin_epoch": origin_epoch, "pos": manifest.pos,
            "tasks": manifest.tasks, "blobs": manifest.blobs, "made_at": manifest.made_at, "has_key": manifest.has_key,
        }));
    } else {
        let rows = [
            ("root", context.root.display().to_string()),
            ("node", manifest.node.to_string()),
            ("log", format!("{} ops, as of {}", manifest.pos, manifest.made_at)),
            ("tasks", manifest.tasks.to_string()),
            ("origin epoch", format!("{origin_epoch}, after {}", manifest.origin_epoch)),
        ];
        output::line(&output::table(&rows.map(|(name, value)| vec![name.to_owned(), value])));
    }
    if manifest.files.contains_key(relaymesh_runtime::secrets::FILE) && !manifest.has_key {
        output::note(
            "note: the key of the secrets is not in the backup; put secrets.key into the root, or set RELAYMESH_SECRET_KEY_FILE",
        );
    }
    output::note("  next: `relaymesh up`; work that was running during the backup runs again");
    Ok(Exit::Done)
}
