//! A copy of a store as it was at one moment, made beside a writer that goes on.
//!
//! The database is copied page by page inside one read transaction, so all pages are of one moment, however long it takes.
//! Meanwhile the write-ahead log cannot begin anew; it grows by what is written and is copied afterwards.
//!
//! Blobs are files, and a purge may remove one between that moment and its copy. Stopping purges would need the writer's
//! help, and there may be none. So a blob that is not there any more is looked up once more:
//!
//! ```text
//!   copy database at moment M → for each blob that M names: copy it, and check its hash
//!     not there, and the store still names it   → it is lost, and that is told
//!     not there, and the store names it no more → it was purged since M: take a newer moment
//! ```
//!
//! A newer moment keeps the blobs that are copied, so each round copies only what has come since the last; the last one has
//! everything that its moment names, and that is what is kept.

use crate::{Root, SqliteReader, blobs, failure, head, life, modes, scrub};
use relaymesh_core::hash::Hash;
use relaymesh_store::{Error, Head};
use rusqlite::{
    Connection, OpenFlags,
    backup::{Backup, StepResult},
};
use std::{fs, io::Write as _, path::Path};

/// Pages that are copied before somebody hears of it: 4 MiB. Tests have small stores, and want to be heard in the middle of it.
const PAGES_AT_ONCE: i32 = if cfg!(test) { 8 } else { 1024 };
/// Moments that are tried. A purge that removes blobs faster than they are copied in all of them has the store to itself.
const ROUNDS_MAX: u32 = 8;

/// What was copied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Copied {
    /// Where the log stood at that moment.
    pub head: Head,
    /// Blobs, and their bytes.
    pub blobs: (u64, u64),
    /// Moments that were tried, because blobs of an earlier one were purged meanwhile.
    pub rounds: u32,
}

/// How far a copy has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Pages of the database: done, of all.
    Pages(u64, u64),
    /// Blobs: done, of all.
    Blobs(u64, u64),
}

impl SqliteReader {
    /// Copies the store of one moment into the empty folder `into`: the database and the blobs that it names, all of them
    /// synced, but not the folder's name. There is no sidecar: nobody may go on with a copy under the epoch of the original,
    /// see [`crate::SqliteStore::adopt`].
    pub fn copy_to(&mut self, into: &Path, progress: &mut dyn FnMut(Stage)) -> Result<Copied, Error> {
        let target = Root::new(into);
        for rounds in 1..=ROUNDS_MAX {
            let head = self.copy_database(&target, progress)?;
            if let Some(blobs) = self.copy_blobs(&target, progress)? {
                return Ok(Copied { head, blobs, rounds });
            }
        }
        Err(Error::InUse {
            detail: format!(
                "content was purged while it was being copied, {ROUNDS_MAX} times. Try again while no purge runs"
            ),
        })
    }

    fn copy_database(&mut self, target: &Root, progress: &mut dyn FnMut(Stage)) -> Result<Head, Error> {
        let path = target.database();
        drop(modes::new_file(&path)?); // a copy of an earlier moment is written over
        let what = format!("cannot copy the database to {}", path.display());
        let failed = |error| failure::sqlite(&what, &error);
        let head = self.at_one_moment(|connection| {
            let head = head::load(connection)?; // here the moment begins
            let mut copy = Connection::open_with_flags(&path, OpenFlags::SQLITE_OPEN_READ_WRITE).map_err(failed)?;
            // Whoever is killed here leaves a folder that nobody takes for a copy; what counts is the sync at the end.
            copy.execute_batch("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF").map_err(failed)?;
            let backup = Backup::new(connection, &mut copy).map_err(failed)?;
            loop {
                let step = backup.step(PAGES_AT_ONCE).map_err(failed)?;
                let pages = backup.progress();
                let count = |pages| u64::try_from(pages).unwrap_or(0);
                progress(Stage::Pages(count(pages.pagecount - pages.remaining), count(pages.pagecount)));
                match step {
                    StepResult::Done => break,
                    StepResult::More => {}
                    StepResult::Busy | StepResult::Locked => {
                        return Err(Error::InUse { detail: format!("{what}: another program has it open") });
                    }
                    _ => return Err(Error::Io { detail: what.clone() }),
                }
            }
            drop(backup);
            copy.close().map_err(|(_, error)| failed(error))?;
            Ok(head)
        })?;
        sync(&path)?;
        Ok(head)
    }

    /// Copies the blobs that the copied database names. `None`: one of them was purged meanwhile.
    fn copy_blobs(&mut self, target: &Root, progress: &mut dyn FnMut(Stage)) -> Result<Option<(u64, u64)>, Error> {
        let named = {
            let flags = OpenFlags::SQLITE_OPEN_READ_WRITE; // nobody else has it open, and its log may have to be made
            let copy = Connection::open_with_flags(target.database(), flags)
                .map_err(|error| failure::sqlite("cannot read the copy", &error))?;
            let named = scrub::named(&copy)?;
            copy.close().map_err(|(_, error)| failure::sqlite("cannot close the copy", &error))?;
            named
        };
        let folder = target.blobs();
        let there = scrub::names(&folder)?;
        for stale in there.iter().filter(|name| !name.parse().is_ok_and(|hash: Hash| named.contains_key(&hash))) {
            let path = folder.join(stale);
            fs::remove_file(&path).map_err(|error| failure::io("cannot remove", &path, &error))?;
        }
        if !named.is_empty() {
            modes::make_subfolder(&folder)?;
        }
        let all = named.len() as u64;
        let mut bytes = 0;
        for (done, (hash, length)) in (1..).zip(&named) {
            let is_there = there.binary_search(&hash.to_string()).is_ok();
            if !is_there && !self.copy_blob(target, hash)? {
                return Ok(None);
            }
            bytes += u64::from(*length);
            progress(Stage::Blobs(done, all));
        }
        if !named.is_empty() {
            sync(&folder)?;
        }
        Ok(Some((all, bytes)))
    }

    /// `false`: it was purged.
    fn copy_blob(&mut self, target: &Root, hash: &Hash) -> Result<bool, Error> {
        let mut found = blobs::read(&self.root, hash)?;
        if found.is_none() {
            let is_named = self.at_one_moment(|connection| {
                life::is_named(connection, hash).map_err(|error| failure::sqlite("cannot look a blob up", &error))
            })?;
            if !is_named {
                return Ok(false);
            }
            // Purged and put again since the first look: whoever names it now has put it first.
            found = blobs::read(&self.root, hash)?;
        }
        let bytes = found.ok_or_else(|| lost(hash, "is missing"))?;
        if Hash::sha256(&bytes) != *hash {
            return Err(lost(hash, "holds other bytes than its name says"));
        }
        let path = target.blobs().join(hash.to_string());
        let mut file = modes::new_file(&path)?;
        let written = file.write_all(&bytes).and_then(|()| file.sync_all());
        written.map_err(|error| failure::io("cannot write", &path, &error))?;
        Ok(true)
    }
}

fn lost(hash: &Hash, what: &str) -> Error {
    let detail = format!("the blob {hash} is named by the log and {what}; `relaymesh log scrub` finds all like it");
    Error::Damaged { detail }
}

fn sync(path: &Path) -> Result<(), Error> {
    let synced = fs::File::open(path).and_then(|file| file.sync_all());
    synced.map_err(|error| failure::io("cannot sync", path, &error))
}

#[cfg(test)]
mod tests;
