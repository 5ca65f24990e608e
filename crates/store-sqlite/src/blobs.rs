//! Blobs: content that is too long for the database, one file each, named by the hash of its bytes.
//!
//! ```text
//!   put    write blobs/.new-… → sync it → rename it to blobs/<hash> → sync the folder → Ok
//! ```
//!
//! Nothing is acknowledged by a put; an op that names the blob comes later, in a commit of its own. So a put that fails
//! changed nothing, and a crash leaves at most a `.new-…`, which the next start removes, or a blob that no op names.
//!
//! Two ops may name one blob. Whoever has just put one holds a *pin* until the commit that names it has returned, and
//! nobody removes what is pinned.

use crate::{Root, failure, modes};
use relaymesh_core::hash::Hash;
use relaymesh_store::{Blob, Blobs, Error};
use std::{
    collections::HashMap,
    fs::File,
    io::{ErrorKind, Write as _},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError, Weak,
        atomic::{AtomicU64, Ordering},
    },
};

/// What the name of a blob that is being written begins with.
pub(crate) const NEW_PREFIX: &str = ".new-";

/// Where the blobs of one root lie. Clones share the pins.
#[derive(Debug, Clone)]
pub struct FileBlobs {
    root: Root,
    min_free_bytes: u64,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    pins: Mutex<HashMap<Hash, Weak<()>>>,
    serial: AtomicU64,
}

impl FileBlobs {
    /// The blobs of this root. Removes what a crash left unfinished. The folder is made for the first blob.
    pub(crate) fn open(root: &Root, min_free_bytes: u64) -> Result<Self, Error> {
        let folder = root.blobs();
        let failed = |error| failure::io("cannot read", &folder, &error);
        if folder.try_exists().map_err(failed)? {
            modes::make_subfolder(&folder)?;
            for entry in std::fs::read_dir(&folder).map_err(failed)? {
                let entry = entry.map_err(failed)?;
                if entry.file_name().to_string_lossy().starts_with(NEW_PREFIX) {
                    remove(&entry.path())?;
                }
            }
        }
        Ok(Self { root: root.clone(), min_free_bytes, shared: Arc::default() })
    }

    fn pin(&self, hash: Hash) -> Arc<()> {
        let mut pins = self.shared.pins.lock().unwrap_or_else(PoisonError::into_inner);
        pins.retain(|_, pin| pin.strong_count() > 0);
        if let Some(pin) = pins.get(&hash).and_then(Weak::upgrade) {
            return pin;
        }
        let pin = Arc::new(());
        pins.insert(hash, Arc::downgrade(&pin));
        pin
    }

    /// Removes a blob that nothing names, unless somebody is about to. Whoever puts it at the same moment waits, and then
    /// finds it gone and writes it again.
    pub(crate) fn remove(&self, hash: &Hash) {
        let pins = self.shared.pins.lock().unwrap_or_else(PoisonError::into_inner);
        if pins.get(hash).is_none_or(|pin| pin.strong_count() == 0) {
            let _ = std::fs::remove_file(path(&self.root, hash));
        }
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> Result<(), Error> {
        crate::space::check(&self.root, self.min_free_bytes)?;
        modes::make_subfolder(&self.root.blobs())?;
        modes::sync_folder(&self.root)?;
        let number = self.shared.serial.fetch_add(1, Ordering::Relaxed);
        let new = self.root.blobs().join(format!("{NEW_PREFIX}{number}"));
        let mut file = modes::new_file(&new)?;
        let written = file.write_all(bytes).and_then(|()| file.sync_all()).and_then(|()| std::fs::rename(&new, path));
        written.map_err(|error| {
            // What is left of it is of no value, and the next start would remove it as well.
            let _ = std::fs::remove_file(&new);
            failure::io("cannot write the blob", path, &error)
        })
    }
}

impl Blobs for FileBlobs {
    fn put(&self, bytes: &[u8]) -> Result<Blob, Error> {
        let hash = Hash::sha256(bytes);
        let len = u32::try_from(bytes.len())
            .map_err(|_| Error::Conflict { detail: format!("{} bytes are too many for a blob", bytes.len()) })?;
        let pin = self.pin(hash);
        let path = path(&self.root, &hash);
        // One that is there and damaged is written again: these bytes are the right ones.
        if read(&self.root, &hash)?.is_none_or(|there| Hash::sha256(&there) != hash) {
            self.write(&path, bytes)?;
        }
        let folder = self.root.blobs();
        File::open(&folder)
            .and_then(|file| file.sync_all())
            .map_err(|error| failure::io("cannot sync the folder", &folder, &error))?;
        Ok(Blob::new(hash, len, Some(pin)))
    }

    fn get(&self, hash: &Hash) -> Result<Option<Vec<u8>>, Error> {
        read(&self.root, hash)
    }
}

/// The bytes of a blob, if it is there.
pub(crate) fn read(root: &Root, hash: &Hash) -> Result<Option<Vec<u8>>, Error> {
    let path = path(root, hash);
    match std::fs::read(&path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failure::io("cannot read the blob", &path, &error)),
    }
}

fn path(root: &Root, hash: &Hash) -> PathBuf {
    root.blobs().join(hash.to_string())
}

fn remove(path: &Path) -> Result<(), Error> {
    std::fs::remove_file(path).map_err(|error| failure::io("cannot remove", path, &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(root: &Root) -> Vec<String> {
        let entries = std::fs::read_dir(root.blobs()).unwrap();
        let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_damaged_blob_is_healed_by_the_next_put_and_leftovers_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::new(folder.path());
        let blobs = FileBlobs::open(&root, 0).unwrap();
        let blob = blobs.put(b"bytes").unwrap();
        assert_eq!(names(&root), [blob.hash.to_string()]);
        let file = root.blobs().join(blob.hash.to_string());
        std::fs::write(&file, b"bytez").unwrap();
        blobs.put(b"bytes").unwrap();
        assert_eq!(read(&root, &blob.hash).unwrap().unwrap(), b"bytes");
        std::fs::write(root.blobs().join(".new-7"), b"half").unwrap();
        FileBlobs::open(&root, 0).unwrap();
        assert_eq!(names(&root), [blob.hash.to_string()]);
    }

    #[test]
    fn a_pin_lasts_as_long_as_the_last_blob() {
        let folder = tempfile::tempdir().unwrap();
        let blobs = FileBlobs::open(&Root::new(folder.path()), 0).unwrap();
        let [first, second] = [0, 1].map(|_| blobs.put(b"bytes").unwrap());
        let hash = first.hash;
        let pinned = || blobs.shared.pins.lock().unwrap()[&hash].strong_count() > 0;
        drop(first);
        assert!(pinned());
        drop(second);
        assert!(!pinned());
    }

    #[test]
    fn d32_too_little_room_is_full_and_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::new(folder.path());
        let blobs = FileBlobs::open(&root, u64::MAX).unwrap();
        assert!(matches!(blobs.put(b"bytes"), Err(Error::Full { .. })));
        assert!(!root.blobs().exists());
    }
}
