//! `relaymesh backup`

use crate::{args::Context, backup::make, error::Error, exit::Exit, output};
use serde_json::json;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  relaymesh backup /srv/backups/mesh-1              back up while the daemon runs
  relaymesh restore /srv/backups/mesh-1 --root DIR  restore it into another root
  relaymesh backup b --with-key                     include the key of the secrets: store it safely";

/// Back up the root
///
/// Makes a consistent copy while the daemon runs: log, tables, content, settings, agents, and secrets, which stay
/// encrypted. The key of the secrets is copied only with `--with-key`. The copy is checked before it gets its name,
/// so an interrupted backup leaves no folder.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Folder to create; must not exist
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
    /// Copy secrets.key too: the secrets can then be read from the backup alone
    #[arg(long)]
    with_key: bool,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Exit, Error> {
    let made = make::make(&context.root, &args.folder, args.with_key)?;
    let has_secrets = made.files.contains_key(relaymesh_runtime::secrets::FILE);
    if context.json {
        let mut value = json!(made);
        value["folder"] = json!(args.folder);
        output::value(&value);
    } else {
        let bytes: u64 = made.files.values().map(|file| file.bytes).sum::<u64>() + made.blob_bytes;
        let rows = [
            ("backup", args.folder.display().to_string()),
            ("log", format!("{} ops of {}, epoch {}", made.pos, made.node, made.origin_epoch)),
            ("tasks", made.tasks.to_string()),
            ("blobs", made.blobs.to_string()),
            ("bytes", bytes.to_string()),
            ("files", made.files.keys().cloned().collect::<Vec<_>>().join(", ")),
        ];
        output::line(&output::table(&rows.map(|(name, value)| vec![name.to_owned(), value])));
    }
    if made.has_key {
        output::note("note: the backup contains the key of the secrets: anybody who has it can read them");
    } else if has_secrets {
        output::note("note: the backup does not contain the key of the secrets; keep a copy of it elsewhere");
    }
    Ok(Exit::Done)
}
