//! What can be told of a store's health without changing anything and without its lock.

use crate::{Options, SqliteReader, check, connect, failure, head, pragma, scrub};
use relaymesh_core::hash::Hash;
use relaymesh_store::Error;

/// Names in `blobs`, compared with what the log names. What the files hold is not looked at.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BlobNames {
    /// How many the log names.
    pub named: u64,
    /// Files that nothing names.
    pub unnamed: Vec<String>,
    /// Blobs that the log names and that are not there.
    pub missing: Vec<Hash>,
}

/// Room on the disk of the root, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// What is free for us.
    pub free: u64,
    /// Below this, commits are refused.
    pub needed: u64,
}

impl SqliteReader {
    /// The settings of a reader's connection by name, read back from it (R11). A store that has other ones is not opened.
    pub fn settings(&mut self) -> Result<Vec<(&'static str, String)>, Error> {
        self.at_one_moment(|connection| pragma::found(connection, &pragma::reader()))
    }

    /// Checks the newest ops: each hash covers the op and the one before it, and the last is the head's. Says how many.
    pub fn check_tail(&mut self, ops_max: u64) -> Result<u64, Error> {
        self.at_one_moment(|connection| {
            let head = head::load(connection)?;
            check::newest_hash(connection, &head)?;
            check::tail(connection, &head, ops_max)?;
            Ok(head.pos.min(ops_max))
        })
    }

    /// Compares the names in `blobs` with those on the log. A blob that was just written and not yet named is there, too.
    pub fn blob_names(&mut self) -> Result<BlobNames, Error> {
        // What is being committed meanwhile is named after its file was seen, never before.
        let files = scrub::names(&self.root.blobs())?;
        let mut named = self.at_one_moment(scrub::named)?;
        let mut found = BlobNames { named: named.len() as u64, ..BlobNames::default() };
        for name in files {
            match name.parse::<Hash>().ok().and_then(|hash| named.remove(&hash)) {
                Some(_) => {}
                None => found.unnamed.push(name),
            }
        }
        let is_there = |hash: &Hash| self.root.blobs().join(hash.to_string()).exists();
        found.missing = named.into_keys().filter(|hash| !is_there(hash)).collect();
        Ok(found)
    }

    /// How much room is left on the disk of the root.
    pub fn room(&self) -> Result<Room, Error> {
        let folder = self.root.folder();
        let found = rustix::fs::statvfs(folder)
            .map_err(|error| failure::io("cannot see the free space of", folder, &error.into()))?;
        let free = found.f_bavail.saturating_mul(found.f_frsize);
        Ok(Room { free, needed: Options::default().min_free_disk_bytes })
    }

    /// Which SQLite this program has.
    pub fn sqlite_version() -> &'static str {
        connect::version()
    }
}

#[cfg(test)]
mod tests {
    use crate::tests::World;
    use relaymesh_store::{Blobs as _, Store as _};

    #[test]
    fn a_sound_store_tells_its_settings_and_its_tail() {
        let mut world = World::new();
        let mut reader = world.store().reader().unwrap();
        let settings = reader.settings().unwrap();
        assert!(settings.contains(&("journal_mode", "wal".to_owned())), "{settings:?}");
        assert!(settings.contains(&("foreign_keys", "1".to_owned())), "{settings:?}");
        assert_eq!(reader.check_tail(100), Ok(0));
        assert!(reader.room().unwrap().free > 0);
    }

    #[test]
    fn a_file_that_nothing_names_is_told() {
        let mut world = World::new();
        world.store().blobs().put(&[7; 9000]).unwrap();
        let mut reader = world.store().reader().unwrap();
        let names = reader.blob_names().unwrap();
        assert_eq!((names.named, names.unnamed.len(), names.missing.len()), (0, 1, 0));
    }
}
