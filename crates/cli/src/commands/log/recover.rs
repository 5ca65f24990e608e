//! `relaymesh log recover`

use crate::{
    args::Context,
    error::{Code, Error},
    exit::Exit,
    output, root,
};
use relaymesh_store_sqlite::{Options, Recovery, SqliteStore};
use serde_json::json;

const EXAMPLES: &str = "\
Examples:
  relaymesh log recover                  show what is lost, and ask before accepting it
  relaymesh log recover --accept-loss    for scripts

Before you accept a loss, copy the root. If there is a newer copy of the database, use it instead.";

/// Accept that a store has lost acknowledged ops, and continue
///
/// Keeps what is left and starts a new origin epoch, so that new ops never collide with the lost ones. The old
/// write-ahead log is kept next to the database.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Accept the loss of acknowledged work
    #[arg(long)]
    accept_loss: bool,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Exit, Error> {
    root::there(&context.root)?;
    let loss = match SqliteStore::open(&context.root, &Options::default()) {
        Ok(_) => {
            return Err(Error::new(Code::Refused, "nothing is lost: no acknowledged op is missing"));
        }
        Err(relaymesh_store::Error::Amnesia { detail } | relaymesh_store::Error::Damaged { detail }) => detail,
        Err(error) => return Err(error.into()),
    };
    output::note(&format!("{loss}\n  clients may have acknowledgements for work that is no longer in this store"));
    if !args.accept_loss {
        let refused =
            Error::new(Code::NotConfirmed, "nothing was changed").hint("accept the loss with `--accept-loss`");
        if !output::is_interactive() || !output::ask("accept the loss and continue?") {
            return Err(refused);
        }
    }
    let (store, recovery) = SqliteStore::recover(&context.root, &Options::default())?;
    drop(store);
    say(&recovery, context.json);
    Ok(Exit::Done)
}

fn say(recovery: &Recovery, json: bool) {
    let Recovery { store_pos, acknowledged_pos, lost, origin_epoch, kept_wal } = recovery;
    let lost = lost.as_ref().map(|lost| (*lost.start(), *lost.end()));
    if json {
        output::value(&json!({
            "pos": store_pos, "acknowledged_pos": acknowledged_pos, "lost": lost, "origin_epoch": origin_epoch,
            "kept_wal": kept_wal.as_ref().map(|path| path.display().to_string()),
        }));
        return;
    }
    let lost = lost.map_or_else(|| "unknown".to_owned(), |(first, last)| format!("{first} to {last}"));
    let wal = kept_wal.as_ref().map_or_else(|| "-".to_owned(), |path| path.display().to_string());
    let facts =
        [("pos", store_pos.to_string()), ("lost", lost), ("origin epoch", origin_epoch.to_string()), ("kept wal", wal)];
    output::line(&output::table(&facts.map(|(name, value)| vec![name.to_owned(), value])));
    output::note("  next: `relaymesh log verify`");
}
