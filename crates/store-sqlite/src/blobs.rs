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

use crate::{Root, SqliteReader, failure, modes};
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
        modes::sync_folder(&self.root)?;
        let number = self.shared.serial.fetch_add(1, Ordering::Relaxed);
        let new = self.root.blobs().join(format!("{NEW_PREFIX}{number}"));
        let file = modes::new_file(&new)?;
        Ok((new, file))
    }

    fn sync(&self) -> Result<(), Error> {
        let folder = self.root.blobs();
        File::open(&folder)
            .and_then(|file| file.sync_all())
            .map_err(|error| failure::io("cannot sync the folder", &folder, &error))
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> Result<(), Error> {
        let (new, mut file) = self.new_file()?;
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
        self.sync()?;
        Ok(Blob::new(hash, len, Some(pin)))
    }

    fn get(&self, hash: &Hash) -> Result<Option<Vec<u8>>, Error> {
        read(&self.root, hash)
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
        if !is_whole(&path, &hash) {
            let named = self.file.sync_all().and_then(|()| std::fs::rename(&self.path, &path));
            named.map_err(|error| failure::io("cannot write the blob", &path, &error))?;
        }
        self.blobs.sync()?;
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
    fn a_blob_in_parts_is_the_same_and_one_that_is_not_finished_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::new(folder.path());
        let blobs = FileBlobs::open(&root, 0).unwrap();
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
