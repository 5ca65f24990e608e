//! Free space: stop early, while there is room left to stop in (D32).
//!
//! A disk that is full to the last byte cannot take the checkpoint that would free the write-ahead log. So commits end
//! while some room is left. Looking costs a system call, so it is done once per mebibyte written; once there is too
//! little, it is done before each commit, so that work goes on as soon as somebody has made room.

use crate::{Root, failure};
use relaymesh_store::Error;
use rusqlite::Connection;

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

    /// Writes stop below this.
    pub(crate) fn min_free_bytes(&self) -> u64 {
        self.min_free_bytes
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

/// How long the database is without its free pages.
fn used_bytes(connection: &Connection) -> Result<u64, Error> {
    let sql = "SELECT (page_count - freelist_count) * page_size FROM pragma_page_count, pragma_freelist_count, pragma_page_size";
    let used = connection.query_row(sql, [], |row| row.get::<_, i64>(0));
    let used = used.map_err(|error| failure::sqlite("cannot read the size of the database", &error))?;
    Ok(u64::try_from(used).unwrap_or(0))
}

/// `Full` if there is too little room now.
pub(crate) fn check(root: &Root, min_free_bytes: u64) -> Result<(), Error> {
    let free = free_bytes(root)?;
    if free >= min_free_bytes {
        return Ok(());
    }
    let detail = format!(
        "the disk of {} has {free} bytes free, but min_free_disk_bytes is {min_free_bytes}; free some space and try again",
        root.folder().display(),
    );
    Err(Error::Full { detail })
}

/// `Full` if the database cannot be written anew: into a temporary file, and from there into the write-ahead log.
pub(crate) fn check_for_shrinking(root: &Root, connection: &Connection, min_free_bytes: u64) -> Result<(), Error> {
    let (free, used) = (free_bytes(root)?, used_bytes(connection)?);
    let needed = used.saturating_mul(2).saturating_add(min_free_bytes);
    if free >= needed {
        return Ok(());
    }
    let detail = format!(
        "shrinking needs {needed} bytes of free space for a while, and the disk of {} has {free}; nothing was changed",
        root.folder().display(),
    );
    Err(Error::Full { detail })
}

fn free_bytes(root: &Root) -> Result<u64, Error> {
    let found = rustix::fs::statvfs(root.folder()).map_err(|error| Error::Io {
        detail: format!("cannot see the free space of {}: {error}", root.folder().display()),
    })?;
    Ok(found.f_bavail.saturating_mul(found.f_frsize))
}
