//! The root: the folder of one store, and the names in it.

use std::path::{Path, PathBuf};

/// The folder of one store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root {
    folder: PathBuf,
}

impl Root {
    /// Name of the database.
    pub const DATABASE: &str = "relaymesh.db";
    /// Name of the database while it is being made.
    pub const DATABASE_NEW: &str = "relaymesh.db.new";
    /// Name of the sidecar.
    pub const HEAD: &str = "head";
    /// Name of the folder with content that is too long for the database.
    pub const BLOBS: &str = "blobs";
    /// Name of the folder for files that are not understood.
    pub const QUARANTINE: &str = "quarantine";
    /// Name of the lock.
    pub const LOCK: &str = "lock";

    /// The root in this folder, whether it is there or not.
    pub fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned() }
    }

    /// The folder itself.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The database.
    pub fn database(&self) -> PathBuf {
        self.folder.join(Self::DATABASE)
    }

    /// The database while it is being made. A leftover is of no value: nothing in it was ever acknowledged.
    pub fn database_new(&self) -> PathBuf {
        self.folder.join(Self::DATABASE_NEW)
    }

    /// The write-ahead log.
    pub fn wal(&self) -> PathBuf {
        self.folder.join(format!("{}-wal", Self::DATABASE))
    }

    /// The index of the write-ahead log, shared between processes.
    pub fn shm(&self) -> PathBuf {
        self.folder.join(format!("{}-shm", Self::DATABASE))
    }

    /// The sidecar.
    pub fn head(&self) -> PathBuf {
        self.folder.join(Self::HEAD)
    }

    /// The folder with content that is too long for the database.
    pub fn blobs(&self) -> PathBuf {
        self.folder.join(Self::BLOBS)
    }

    /// Where a scrub puts what it does not understand.
    pub fn quarantine(&self) -> PathBuf {
        self.folder.join(Self::QUARANTINE)
    }

    /// The lock.
    pub fn lock(&self) -> PathBuf {
        self.folder.join(Self::LOCK)
    }

    /// Every file that may be there.
    pub(crate) fn files(&self) -> [PathBuf; 5] {
        [self.database(), self.wal(), self.shm(), self.head(), self.lock()]
    }
}
