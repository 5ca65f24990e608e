//! A folder that is made under another name, and gets its own once it is whole.
//!
//! `<target>.new` is locked while it is filled; what a killed process left there is of no value and is cleared by the next one. Renaming
//! is the last step, after every file and folder is synced: it fails if anything but an empty folder has the name by then.

use super::failed;
use crate::error::{Code, Error};
use std::{
    fs::{self, DirBuilder, File, OpenOptions, TryLockError},
    io::{self, Write as _},
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

/// A folder on its way.
pub(super) struct Staging {
    target: PathBuf,
    folder: PathBuf,
    lock: File,
}

impl Staging {
    /// Begins with an empty folder next to `target`.
    pub(super) fn begin(target: &Path) -> Result<Self, Error> {
        let target = std::path::absolute(target).map_err(|error| failed("name", target, &error))?;
        let folder = target.with_added_extension("new");
        let parent = target.parent().unwrap_or(&target);
        DirBuilder::new().recursive(true).mode(0o700).create(parent).map_err(|error| failed("make", parent, &error))?;
        match DirBuilder::new().mode(0o700).create(&folder) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(failed("make", &folder, &error)),
            Ok(()) | Err(_) => {}
        }
        let lock = File::open(&folder).map_err(|error| failed("open", &folder, &error))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(busy(&folder)),
            Err(TryLockError::Error(error)) => return Err(failed("lock", &folder, &error)),
        }
        let staging = Self { target, folder, lock };
        staging.clear()?;
        Ok(staging)
    }

    /// Where things are put meanwhile.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Puts a file into the folder, synced.
    pub(super) fn put(&self, name: &str, bytes: &[u8]) -> Result<(), Error> {
        let path = self.folder.join(name);
        let mut options = OpenOptions::new();
        let file = options.write(true).create_new(true).mode(0o600).open(&path);
        let written = file.and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_all()));
        written.map_err(|error| failed("write", &path, &error))
    }

    /// Gives the folder its name, once the names in it are durable; and then that name is.
    pub(super) fn finish(self) -> Result<(), Error> {
        self.lock.sync_all().map_err(|error| failed("sync", &self.folder, &error))?;
        fs::rename(&self.folder, &self.target).map_err(|error| {
            let shown = failed("rename the finished folder to", &self.target, &error);
            if matches!(error.kind(), io::ErrorKind::ResourceBusy | io::ErrorKind::CrossesDevices) {
                return shown.hint("a mount point cannot be replaced: name a folder inside it");
            }
            shown
        })?;
        let parent = self.target.parent().unwrap_or(&self.target);
        let synced = File::open(parent).and_then(|folder| folder.sync_all());
        synced.map_err(|error| failed("sync", parent, &error))
    }

    /// Removes the folder after a failure. If this process is killed, the next backup removes it.
    pub(super) fn abandon(self) {
        let _ = fs::remove_dir_all(&self.folder);
    }

    fn clear(&self) -> Result<(), Error> {
        let read = |error| failed("look into", &self.folder, &error);
        // The previous holder of the lock may have renamed the folder in between.
        let (ours, there) = (self.lock.metadata().map_err(read)?, fs::metadata(&self.folder).map_err(read)?);
        if (ours.dev(), ours.ino()) != (there.dev(), there.ino()) {
            return Err(busy(&self.folder));
        }
        for entry in fs::read_dir(&self.folder).map_err(read)? {
            let path = entry.map_err(read)?.path();
            let is_folder = fs::symlink_metadata(&path).is_ok_and(|found| found.is_dir());
            let removed = if is_folder { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
            removed.map_err(|error| failed("remove", &path, &error))?;
        }
        Ok(())
    }
}

fn busy(folder: &Path) -> Error {
    Error::new(Code::Busy, format!("another process is already creating {}", folder.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leftovers_are_cleared_one_at_a_time_may_work_and_nothing_is_written_over() {
        let rig = tempfile::tempdir().unwrap();
        let target = rig.path().join("deep/copy");
        let first = Staging::begin(&target).unwrap();
        first.put("a", b"1").unwrap();
        assert_eq!(Staging::begin(&target).err().unwrap().code, Code::Busy);
        drop(first); // as a kill would leave it
        assert!(target.with_added_extension("new").join("a").exists());
        let second = Staging::begin(&target).unwrap();
        assert_eq!(fs::read_dir(second.folder()).unwrap().count(), 0);
        second.put("b", b"2").unwrap();
        assert!(second.put("b", b"3").is_err());
        second.finish().unwrap();
        assert_eq!(fs::read(target.join("b")).unwrap(), b"2");
        let third = Staging::begin(&target).unwrap();
        third.put("c", b"3").unwrap();
        assert_eq!(third.finish().err().unwrap().code, Code::StoreIo, "somebody else has the name");
        assert_eq!(fs::read_dir(&target).unwrap().count(), 1);
    }
}
