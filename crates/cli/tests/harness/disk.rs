//! A small disk that fills up: a file system of its own where one may be mounted, and elsewhere a folder with a bound, kept by fail
//! points. The store stops early on the first (it sees how much is free) and runs into the wall on the second.

use super::{
    failpoints,
    process::{self, run},
    striker::Striker,
};
use std::{
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
    process::Command,
};

/// Commits stop below this much free space, so a file system needs it besides what is to be used.
const KEPT_FREE_BYTES: u64 = 16 << 20;

/// A small disk.
pub(crate) struct Disk {
    folder: PathBuf,
    room_bytes: u64,
    is_mounted: bool,
}

impl Disk {
    /// A disk in this folder, which is there, with room for so many bytes: mounted where that is allowed, else bounded. `None`:
    /// neither can be had, and that was said.
    pub(crate) fn mounted(folder: &Path, room_bytes: u64) -> Option<Self> {
        let size = format!("size={},mode=0700", room_bytes + KEPT_FREE_BYTES);
        let mut mount = Command::new("mount");
        let mounted = cfg!(target_os = "linux")
            .then(|| process::tried(mount.args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(folder)))
            .flatten();
        if mounted.is_some_and(|ran| ran.code() == Some(0)) {
            return Some(Self { folder: folder.to_owned(), room_bytes, is_mounted: true });
        }
        println!("no file system can be mounted here: fail points keep a bound instead");
        Self::bounded(folder, room_bytes)
    }

    /// The same without a file system of its own.
    pub(crate) fn bounded(folder: &Path, room_bytes: u64) -> Option<Self> {
        let is_there = Striker::FailPoints.is_there("a full disk without a file system of its own");
        is_there.then(|| Self { folder: folder.to_owned(), room_bytes, is_mounted: false })
    }

    /// What a process needs to find the disk as small as it is, when it is run from this folder.
    pub(crate) fn variables(&self, run_from: &Path) -> Vec<(&'static str, OsString)> {
        if self.is_mounted {
            return Vec::new();
        }
        failpoints::lend(run_from);
        failpoints::bound(&self.folder, self.room_bytes).to_vec()
    }

    /// Takes the rest of the room, to the last byte, with this file.
    pub(crate) fn fill(&self, file: &str) -> PathBuf {
        let file = self.folder.join(file);
        if self.is_mounted {
            let more = usize::try_from(self.room_bytes + 2 * KEPT_FREE_BYTES).unwrap_or(usize::MAX);
            assert!(fs::write(&file, vec![7; more]).is_err(), "the disk is larger than thought");
        } else {
            let used = length(&self.folder).unwrap_or_else(|error| panic!("cannot look at the disk: {error}"));
            let rest = usize::try_from(self.room_bytes.saturating_sub(used)).unwrap_or(usize::MAX);
            fs::write(&file, vec![7; rest]).unwrap_or_else(|error| panic!("cannot fill the disk: {error}"));
        }
        file
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        if self.is_mounted {
            // Somebody may still have a folder on it that is removed later: detach the disk from the tree at once.
            run(Command::new("umount").arg("-l").arg(&self.folder), None);
        }
    }
}

/// How long all files of a folder are.
fn length(folder: &Path) -> io::Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let found = entry.metadata()?;
        bytes += if found.is_dir() { length(&entry.path())? } else { found.len() };
    }
    Ok(bytes)
}
