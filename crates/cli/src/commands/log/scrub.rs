//! `relaymesh log scrub`

use super::found;
use crate::{
    args::Context,
    error::{Code, Error},
    exit::Exit,
    output,
    progress::Progress,
    root,
};
use relaymesh_store::{Reader as _, Store as _, verify};
use relaymesh_store_sqlite::Scrubbed;
use serde_json::json;

const EXAMPLES: &str = "\
Examples:
  relaymesh log scrub              exit code 0: intact; 6: missing or damaged
  relaymesh log scrub --json";

/// Check every op, row and blob, and quarantine unknown files
///
/// Checks what `log verify` checks, and that the hash of every file in `blobs` matches its name. Files that are not
/// blobs are moved to `quarantine`, never deleted. No other process can write meanwhile.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {}

pub(crate) fn run(_: &Args, context: &Context) -> Result<Exit, Error> {
    let mut store = root::open(&context.root, &Default::default())?;
    let mut reader = store.reader()?;
    let mut progress = Progress::new("checked ops:", reader.head()?.pos);
    verify::chain(&mut reader, verify::Checked::default(), &mut |pos| progress.tell(pos)).map_err(found)?;
    // Before the rows, so that all damaged blobs are reported, not only the first that a row refers to.
    let mut progress = Progress::new("checked blobs:", reader.stats()?.blobs.0);
    let scrubbed = store.scrub(&mut |read| progress.tell(read))?;
    report(&scrubbed, context);
    if !scrubbed.is_sound() {
        let (missing, damaged) = (scrubbed.missing.len(), scrubbed.damaged.len());
        return Err(Error::new(Code::Damaged, format!("{missing} blobs are missing and {damaged} are damaged"))
            .hint("restore these files in `blobs` from a backup, and scrub again"));
    }
    let mut progress = Progress::new("checked tasks:", reader.counts()?.0);
    verify::rows(&mut reader, &mut |tasks| progress.tell(tasks)).map_err(found)?;
    store.close()?;
    Ok(Exit::Done)
}

fn report(scrubbed: &Scrubbed, context: &Context) {
    let Scrubbed { sound, bytes, unnamed, missing, damaged, quarantined } = scrubbed;
    if context.json {
        output::value(&json!({
            "sound": sound, "bytes": bytes, "unnamed": unnamed, "missing": missing, "damaged": damaged,
            "quarantined": quarantined,
        }));
        return;
    }
    let facts = [
        ("blobs", sound.to_string()),
        ("bytes", bytes.to_string()),
        ("unnamed", unnamed.len().to_string()),
        ("missing", missing.len().to_string()),
        ("damaged", damaged.len().to_string()),
        ("quarantined", quarantined.len().to_string()),
    ];
    output::line(&output::table(&facts.map(|(name, value)| vec![name.to_owned(), value])));
    for (what, hashes) in [("missing", missing), ("damaged", damaged)] {
        hashes.iter().for_each(|hash| output::note(&format!("{what}: {hash}")));
    }
    quarantined.iter().for_each(|name| output::note(&format!("moved to quarantine: {name}")));
}
