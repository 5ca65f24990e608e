//! Blobs: content that is too long for the database, one file each, named by the hash of its bytes.
//!
//! ```text
//!   put    write blobs/.new-… → sync it → rename it to blobs/<hash> → sync the folder → Ok
//! ```
//!
//! Nothing is acknowledged by a put; an op that names the blob comes later, in a commit of its own. So a put that fails
//! changed nothing, and a crash leaves at most a `.new-…`, which the next start removes, or a blob that no op names.
//!
//! No sync is tried again: one that failed poisons the store ([`Naming`]), and a file whose name may not be durable loses it, so
//! that no later life finds it there and takes it for durable.
//!
//! Two ops may name one blob. Whoever has just put one holds a *pin* until the commit that names it has returned, and
//! nobody removes what is pinned.

use crate::{Root, SqliteReader, failure, modes, naming::Naming, poison::Poison};
use relaymesh_core::hash::{Hash, Parts};
use relaymesh_store::{Blob, Blobs, Error};
use std::{
    collections::HashMap,
    fs::File,
    io::{ErrorKind, Read as _, Write as _},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError, Weak,
        atomic::{AtomicU64, Ordering},
    },
};

/// What the name of a blob that is being written begins with.
pub(crate) const NEW_PREFIX: &str = ".new-";

/// Bytes of one blob at a time, when it is not held as a whole.
const PART_BYTES: usize = 64 << 10;

/// Where the blobs of one root lie. Clones share the pins.
#[derive(Debug, Clone)]
pub struct FileBlobs {
    root: Root,
    min_free_bytes: u64,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    pins: Mutex<HashMap<Hash, Weak<()>>>,
    serial: AtomicU64,
    naming: Naming,
    poison: Poison,
}

impl FileBlobs {
    /// The blobs of this root. Removes what a crash left unfinished. The folder is made for the first blob.
    pub(crate) fn open(root: &Root, min_free_bytes: u64, poison: &Poison) -> Result<Self, Error> {
        Self::with(root, min_free_bytes, poison, Naming::new(poison.clone()))
    }

    fn with(root: &Root, min_free_bytes: u64, poison: &Poison, naming: Naming) -> Result<Self, Error> {
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
        let (pins, serial, poison) = (Mutex::default(), AtomicU64::new(0), poison.clone());
        let shared = Arc::new(Shared { pins, serial, naming, poison });
        Ok(Self { root: root.clone(), min_free_bytes, shared })
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

    /// Begins a blob whose bytes come in parts. Nothing of it is held in memory.
    pub fn begin(&self) -> Result<NewBlob, Error> {
        let (path, file) = self.new_file()?;
        Ok(NewBlob { blobs: self.clone(), path, file, parts: Parts::default(), len: 0 })
    }

    /// The file of a blob, if it is there. Its bytes are to be checked by whoever reads them.
    pub fn file(&self, hash: &Hash) -> Result<Option<File>, Error> {
        let path = path(&self.root, hash);
        match File::open(&path) {
            Ok(file) => Ok(Some(file)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failure::io("cannot read the blob", &path, &error)),
        }
    }

    /// Removes a blob unless something names it or is about to. Whoever put one and has let go of its pin has committed before that, so a
    /// look while nobody can pin it sees every name that there is. `false`: it stays.
    pub fn remove_unnamed(&self, hash: &Hash, reader: &mut SqliteReader) -> Result<bool, Error> {
        let pins = self.shared.pins.lock().unwrap_or_else(PoisonError::into_inner);
        if pins.get(hash).is_some_and(|pin| pin.strong_count() > 0) || reader.names_blob(hash)? {
            return Ok(false);
        }
        Ok(std::fs::remove_file(path(&self.root, hash)).is_ok())
    }

    fn new_file(&self) -> Result<(PathBuf, File), Error> {
        crate::space::check(&self.root, self.min_free_bytes)?;
        modes::make_subfolder(&self.root.blobs())?;
        let number = self.shared.serial.fetch_add(1, Ordering::Relaxed);
        let new = self.root.blobs().join(format!("{NEW_PREFIX}{number}"));
        let file = modes::new_file(&new)?;
        Ok((new, file))
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> Result<Named, Error> {
        let (new, mut file) = self.new_file()?;
        let failed = |error| failure::io("cannot write the blob", path, &error);
        let written = file.write_all(bytes).map_err(failed);
        let named = written.and_then(|()| self.name(&file, &new, path));
        named.inspect_err(|_| {
            // What is left of it is of no value, and the next start would remove it as well.
            let _ = std::fs::remove_file(&new);
        })
    }

    /// Syncs a file that is whole, and gives it its name.
    fn name(&self, file: &File, new: &Path, path: &Path) -> Result<Named, Error> {
        self.shared.naming.sync_file(file, new)?;
        let was_there = path.exists();
        std::fs::rename(new, path).map_err(|error| failure::io("cannot write the blob", path, &error))?;
        Ok(if was_there { Named::Replaced } else { Named::New })
    }

    /// Makes the name durable. One that is new and may not be durable is taken back.
    fn settle(&self, path: &Path, named: Named) -> Result<(), Error> {
        self.shared.naming.sync_names(&self.root).inspect_err(|_| {
            if let Named::New = named {
                let _ = std::fs::remove_file(path);
            }
        })
    }
}

/// How a blob came to its name.
#[derive(Debug, Clone, Copy)]
enum Named {
    /// There was none.
    New,
    /// In the place of one that was damaged.
    Replaced,
    /// It was there, and whole.
    Before,
}

impl Blobs for FileBlobs {
    fn put(&self, bytes: &[u8]) -> Result<Blob, Error> {
        let hash = Hash::sha256(bytes);
        let len = u32::try_from(bytes.len())
            .map_err(|_| Error::Conflict { detail: format!("{} bytes are too many for a blob", bytes.len()) })?;
        let pin = self.pin(hash);
        let path = path(&self.root, &hash);
        // One that is there and damaged is written again: these bytes are the right ones.
        let is_whole = read(&self.root, &hash)?.is_some_and(|there| Hash::sha256(&there) == hash);
        let named = if is_whole { Named::Before } else { self.write(&path, bytes)? };
        self.settle(&path, named)?;
        Ok(Blob::new(hash, len, Some(pin)))
    }

    fn get(&self, hash: &Hash) -> Result<Option<Vec<u8>>, Error> {
        read(&self.root, hash)
    }

    fn distrust(&self, cause: &str) -> Error {
        self.shared.poison.set(cause)
    }
}

/// A blob whose bytes come in parts. One that is not finished is gone.
#[derive(Debug)]
pub struct NewBlob {
    blobs: FileBlobs,
    path: PathBuf,
    file: File,
    parts: Parts,
    len: u32,
}

impl NewBlob {
    /// The next part.
    pub fn write(&mut self, part: &[u8]) -> Result<(), Error> {
        let added = u32::try_from(part.len()).ok().and_then(|more| self.len.checked_add(more));
        self.len = added.ok_or_else(|| Error::Conflict { detail: "too many bytes for a blob".to_owned() })?;
        self.parts.update(part);
        self.file.write_all(part).map_err(|error| failure::io("cannot write the blob", &self.path, &error))
    }

    /// Makes it durable under its name. One that is there already and whole stays as it is.
    pub fn finish(self) -> Result<Blob, Error> {
        let hash = self.parts.clone().hash();
        let pin = self.blobs.pin(hash);
        let path = path(&self.blobs.root, &hash);
        let named =
            if is_whole(&path, &hash) { Named::Before } else { self.blobs.name(&self.file, &self.path, &path)? };
        self.blobs.settle(&path, named)?;
        Ok(Blob::new(hash, self.len, Some(pin)))
    }
}

impl Drop for NewBlob {
    fn drop(&mut self) {
        // After its finish there is none, and what is left otherwise the next start would remove as well.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Whether the file is there and has the bytes that its name says.
fn is_whole(path: &Path, hash: &Hash) -> bool {
    let Ok(mut file) = File::open(path) else { return false };
    let (mut parts, mut buffer) = (Parts::default(), vec![0; PART_BYTES]);
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return parts.hash() == *hash,
            Ok(read) => parts.update(&buffer[..read]),
            Err(_) => return false,
        }
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
    use crate::naming::tests::{failing_files, failing_names};

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
        let blobs = FileBlobs::open(&root, 0, &Poison::default()).unwrap();
        let blob = blobs.put(b"bytes").unwrap();
        assert_eq!(names(&root), [blob.hash.to_string()]);
        let file = root.blobs().join(blob.hash.to_string());
        std::fs::write(&file, b"bytez").unwrap();
        blobs.put(b"bytes").unwrap();
        assert_eq!(read(&root, &blob.hash).unwrap().unwrap(), b"bytes");
        std::fs::write(root.blobs().join(".new-7"), b"half").unwrap();
        FileBlobs::open(&root, 0, &Poison::default()).unwrap();
        assert_eq!(names(&root), [blob.hash.to_string()]);
    }

    #[test]
    fn a_blob_in_parts_is_the_same_and_one_that_is_not_finished_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::new(folder.path());
        let blobs = FileBlobs::open(&root, 0, &Poison::default()).unwrap();
        let whole = blobs.put(b"first second").unwrap();
        for _ in 0..2 {
            let mut new = blobs.begin().unwrap();
            new.write(b"first ").unwrap();
            new.write(b"second").unwrap();
            assert_eq!(new.finish().unwrap(), whole);
            // The second time it heals what was damaged in between.
            std::fs::write(root.blobs().join(whole.hash.to_string()), b"other").unwrap();
        }
        let mut half = blobs.begin().unwrap();
        half.write(b"half").unwrap();
        drop(half);
        assert_eq!(names(&root), [whole.hash.to_string()]);
    }

    #[test]
    fn a_pin_lasts_as_long_as_the_last_blob() {
        let folder = tempfile::tempdir().unwrap();
        let blobs = FileBlobs::open(&Root::new(folder.path()), 0, &Poison::default()).unwrap();
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
        let blobs = FileBlobs::open(&root, u64::MAX, &Poison::default()).unwrap();
        assert!(matches!(blobs.put(b"bytes"), Err(Error::Full { .. })));
        assert!(!root.blobs().exists());
    }
    #[test]
    fn d2_a_sync_that_failed_is_poison_and_is_not_tried_again() {
        for failing in [failing_names, failing_files] {
            let folder = tempfile::tempdir().unwrap();
            let (root, poison) = (Root::new(folder.path()), Poison::default());
            let blobs = FileBlobs::with(&root, 0, &poison, failing(poison.clone())).unwrap();
            assert!(matches!(blobs.put(b"bytes"), Err(Error::Poisoned { .. })));
            assert!(matches!(poison.check(), Err(Error::Poisoned { .. })), "no commit names it");
            assert!(names(&root).is_empty(), "the next life does not find what may not be durable");
            let mut parts = blobs.begin().unwrap();
            parts.write(b"others").unwrap();
            assert!(matches!(parts.finish(), Err(Error::Poisoned { .. })));
            assert!(matches!(blobs.put(b"bytes"), Err(Error::Poisoned { .. })));
            assert!(names(&root).is_empty());
            FileBlobs::open(&root, 0, &Poison::default()).unwrap().put(b"bytes").unwrap();
        }
    }

    #[test]
    fn d2_a_blob_that_was_durable_before_outlives_a_failed_sync() {
        let folder = tempfile::tempdir().unwrap();
        let (root, poison) = (Root::new(folder.path()), Poison::default());
        let hash = FileBlobs::open(&root, 0, &poison).unwrap().put(b"bytes").unwrap().hash;
        let blobs = FileBlobs::with(&root, 0, &poison, failing_names(poison.clone())).unwrap();
        assert!(matches!(blobs.put(b"bytes"), Err(Error::Poisoned { .. })));
        assert_eq!(names(&root), [hash.to_string()]);
    }
}
