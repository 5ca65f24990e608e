//! The scrub: what lies in `blobs`, compared with what the log names.
//!
//! Nothing that is not understood is ever deleted: it goes to `quarantine`, under its own name, and is told. A blob that
//! the log names and that is damaged stays where it is, because its neighbours in a backup have the same name.

use crate::{Root, SqliteStore, blobs, failure, modes};
use relaymesh_core::hash::Hash;
use relaymesh_store::Error;
use rusqlite::Connection;
use std::{collections::BTreeMap, fs, path::Path};

/// What a scrub found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scrubbed {
    /// Blobs that the log names and that are whole.
    pub sound: u64,
    /// Bytes of those.
    pub bytes: u64,
    /// Blobs that are whole and that nothing names: a crash left them between a put and its commit, or between the commit
    /// that let go of the last op that named them and their removal. They are removed.
    pub unnamed: Vec<Hash>,
    /// Blobs that the log names and that are not there.
    pub missing: Vec<Hash>,
    /// Blobs that the log names and whose bytes are others.
    pub damaged: Vec<Hash>,
    /// Names of files that are no blobs, or are damaged and named by nothing: moved to `quarantine`.
    pub quarantined: Vec<String>,
}

impl Scrubbed {
    /// Whether everything that the log names is there and whole.
    pub fn is_sound(&self) -> bool {
        self.missing.is_empty() && self.damaged.is_empty()
    }
}

impl SqliteStore {
    /// Reads every blob and compares it with its name, and all names with the log. `progress` hears how many were read.
    /// Takes the store by `&mut`, so nobody commits meanwhile.
    pub fn scrub(&mut self, progress: &mut dyn FnMut(u64)) -> Result<Scrubbed, Error> {
        let root = self.root().clone();
        let mut named = named(&self.connection)?;
        let mut found = Scrubbed::default();
        for (read, name) in (1..).zip(names(&root.blobs())?) {
            progress(read);
            let bytes = fs::read(root.blobs().join(&name));
            let bytes = bytes.map_err(|error| failure::io("cannot read", &root.blobs().join(&name), &error))?;
            match name.parse::<Hash>().ok().map(|hash| (hash, Hash::sha256(&bytes) == hash, named.remove(&hash))) {
                Some((_, true, Some(_))) => {
                    found.sound += 1;
                    found.bytes += bytes.len() as u64;
                }
                Some((hash, true, None)) => {
                    self.blobs.remove(&hash);
                    found.unnamed.push(hash);
                }
                Some((hash, false, Some(_))) => found.damaged.push(hash),
                Some((_, false, None)) | None => {
                    quarantine(&root, &name)?;
                    found.quarantined.push(name);
                }
            }
        }
        found.missing = named.into_keys().collect();
        Ok(found)
    }
}

/// Every blob that the log names, with its length.
pub(crate) fn named(connection: &Connection) -> Result<BTreeMap<Hash, u32>, Error> {
    let failed = |error| failure::sqlite("cannot read which blobs are named", &error);
    let sql =
        "SELECT DISTINCT blob_hash, blob_bytes FROM content INDEXED BY idx_content_blob WHERE blob_hash IS NOT NULL";
    let mut statement = connection.prepare(sql).map_err(failed)?;
    let rows = statement.query_map([], |row| Ok((Hash(row.get(0)?), row.get(1)?))).map_err(failed)?;
    rows.collect::<rusqlite::Result<_>>().map_err(failed)
}

/// The names in the folder, in order; none if it is not there. What is being written is nobody's yet.
pub(crate) fn names(folder: &Path) -> Result<Vec<String>, Error> {
    let failed = |error| failure::io("cannot read", folder, &error);
    if !folder.try_exists().map_err(failed)? {
        return Ok(Vec::new());
    }
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let name = entry.map_err(failed)?.file_name().to_string_lossy().into_owned();
        if !name.starts_with(blobs::NEW_PREFIX) {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

/// Moves a file out of the way, and over nothing that lies there already.
fn quarantine(root: &Root, name: &str) -> Result<(), Error> {
    let folder = root.quarantine();
    modes::make_subfolder(&folder)?;
    let candidates = std::iter::once(name.to_owned()).chain((2..).map(|number| format!("{name}.{number}")));
    let target = candidates.map(|name| folder.join(name)).find(|target| !target.exists());
    let source = root.blobs().join(name);
    match target {
        Some(target) => fs::rename(&source, &target).map_err(|error| failure::io("cannot quarantine", &source, &error)),
        None => Ok(()), // there is always a number that is free
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::World;
    use relaymesh_store::{Blobs as _, Content, Store as _, contract::graph::Graph};

    fn scrub(world: &mut World) -> Scrubbed {
        world.store().scrub(&mut |_| {}).unwrap()
    }

    #[test]
    fn every_file_is_sound_unnamed_damaged_missing_or_in_quarantine() {
        let mut world = World::new();
        assert_eq!(scrub(&mut world), Scrubbed::default());
        let [sound, damaged, missing, unnamed] =
            [b"sound", b"bent!", b"gone!", b"alone"].map(|bytes| world.store().blobs().put(bytes).unwrap());
        for blob in [&sound, &damaged, &missing] {
            world.author.submit(&Graph::single().content(0, Content::Blob(blob.clone())));
        }
        world.commit();
        let blobs = world.root().blobs();
        fs::write(blobs.join(damaged.hash.to_string()), b"other bytes").unwrap();
        fs::remove_file(blobs.join(missing.hash.to_string())).unwrap();
        let stray = Hash::sha256(b"nobody's").to_string();
        fs::write(blobs.join(&stray), b"not these bytes").unwrap();
        fs::write(blobs.join("notes.txt"), b"mine").unwrap();
        let found = scrub(&mut world);
        assert!(!found.is_sound());
        assert_eq!((found.sound, found.bytes, &found.unnamed[..]), (1, 5, &[unnamed.hash][..]));
        assert_eq!((&found.missing[..], &found.damaged[..]), (&[missing.hash][..], &[damaged.hash][..]));
        let mut moved = [stray, "notes.txt".to_owned()];
        moved.sort();
        assert_eq!(found.quarantined, moved);
        assert_eq!(fs::read(world.root().quarantine().join("notes.txt")).unwrap(), b"mine");
        fs::write(blobs.join("notes.txt"), b"mine again").unwrap();
        assert_eq!(scrub(&mut world).quarantined, ["notes.txt"]);
        assert_eq!(fs::read(world.root().quarantine().join("notes.txt")).unwrap(), b"mine", "nothing is written over");
        assert_eq!(fs::read(world.root().quarantine().join("notes.txt.2")).unwrap(), b"mine again");
    }
}
