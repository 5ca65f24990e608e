//! What was loaded when: a journal of this node, with names of settings and never their values.
//!
//! A file of JSON lines beside the store, synced with every line, so that it can be read without a daemon and costs the store nothing. The
//! newest thousand are kept.

use serde::{Deserialize, Serialize};
use std::{
    fs::{File, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
};

/// The file's name in the root.
pub const FILE: &str = "settings-history.jsonl";

/// How many loads are kept.
pub const ENTRIES_MAX: usize = 1_000;

/// The file is made short again when it has this many lines.
const LINES_MAX: usize = 2 * ENTRIES_MAX;

/// One load that changed something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// When.
    pub at_ms: u64,
    /// What made the daemon load them: `start`, `file`, `command`.
    pub source: String,
    /// Names of the settings that changed.
    pub changed_fields: Vec<String>,
}

/// Writes a load down. It is durable when this returns.
pub fn append(root: &Path, entry: &Entry) -> io::Result<()> {
    let path = root.join(FILE);
    let text = read_text(&path)?;
    if text.lines().count() >= LINES_MAX {
        shorten(root, &text)?;
    }
    let mut file = OpenOptions::new().create(true).append(true).mode(0o600).open(path)?;
    // A line that a crash cut short must not spoil this one.
    let begin = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    file.write_all(format!("{begin}{}\n", serde_json::to_string(entry)?).as_bytes())?;
    file.sync_all()?;
    File::open(root)?.sync_all()
}

/// The newest `limit` loads, newest first. A line that cannot be read is left out.
pub fn newest(root: &Path, limit: usize) -> io::Result<Vec<Entry>> {
    let text = read_text(&root.join(FILE))?;
    let entries = text.lines().rev().filter_map(|line| serde_json::from_str(line).ok());
    Ok(entries.take(limit.min(ENTRIES_MAX)).collect())
}

fn read_text(path: &Path) -> io::Result<String> {
    match std::fs::read(path) {
        Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(error),
    }
}

/// Keeps the newest lines. The old file is there until the new one is whole.
fn shorten(root: &Path, text: &str) -> io::Result<()> {
    let skipped = text.lines().count().saturating_sub(ENTRIES_MAX - 1);
    let kept: String = text.lines().skip(skipped).flat_map(|line| [line, "\n"]).collect();
    let new = root.join(format!("{FILE}.new"));
    let mut file = OpenOptions::new().create(true).write(true).truncate(true).mode(0o600).open(&new)?;
    file.write_all(kept.as_bytes())?;
    file.sync_all()?;
    std::fs::rename(new, root.join(FILE))?;
    File::open(root)?.sync_all()
}
