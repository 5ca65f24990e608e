//! Free space: stop early, while there is room left to stop in (D32).
//!
//! A disk that is full to the last byte cannot take the checkpoint that would free the write-ahead log. So commits end
//! while some room is left. Looking costs a system call, so it is done once per mebibyte written; once there is too
//! little, it is done before each commit, so that work goes on as soon as somebody has made room.

use crate::Root;
use relaymesh_store::Error;

const LOOK_EVERY_BYTES: u64 = 1 << 20;

/// How much was written since somebody last looked.
#[derive(Debug)]
pub(crate) struct Space {
    min_free_bytes: u64,
    unseen_bytes: u64,
}

impl Space {
    /// Looks before the first commit.
    pub(crate) fn new(min_free_bytes: u64) -> Self {
        Self { min_free_bytes, unseen_bytes: LOOK_EVERY_BYTES }
    }

    /// This many bytes were written.
    pub(crate) fn wrote(&mut self, bytes: u64) {
        self.unseen_bytes = self.unseen_bytes.saturating_add(bytes);
    }

    /// `Full` if there is too little room. Nothing was touched.
    pub(crate) fn check(&mut self, root: &Root) -> Result<(), Error> {
        if self.unseen_bytes < LOOK_EVERY_BYTES {
            return Ok(());
        }
        check(root, self.min_free_bytes)?;
        self.unseen_bytes = 0;
        Ok(())
    }
}

/// `Full` if there is too little room now.
pub(crate) fn check(root: &Root, min_free_bytes: u64) -> Result<(), Error> {
    let found = rustix::fs::statvfs(root.folder()).map_err(|error| Error::Io {
        detail: format!("cannot see the free space of {}: {error}", root.folder().display()),
    })?;
    let free = found.f_bavail.saturating_mul(found.f_frsize);
    if free >= min_free_bytes {
        return Ok(());
    }
    let detail = format!(
        "the disk of {} has {free} bytes free, but min_free_disk_bytes is {min_free_bytes}; free some space and try again",
        root.folder().display(),
    );
    Err(Error::Full { detail })
}
