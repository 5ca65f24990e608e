//! The lock: one process per root.
//!
//! The file stays when the process goes: deleting it would let a process that waits on the deleted file and one that
//! makes a new file both believe that they hold it. The operating system lets go of the lock itself, however we end.

use crate::{Root, failure};
use relaymesh_store::Error;
use std::{
    fs::{File, OpenOptions, TryLockError},
    io::{Read, Write},
    os::unix::fs::OpenOptionsExt,
};

/// Held for the life of a store.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the lock of `root`, or says who has it.
    pub(crate) fn take(root: &Root) -> Result<Self, Error> {
        let path = root.lock();
        let failed = |what| {
            let path = path.clone();
            move |error| failure::io(what, &path, &error)
        };
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let mut file = options.open(&path).map_err(failed("cannot open the lock"))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(in_use(root, &mut file)),
            Err(TryLockError::Error(error)) => return Err(failed("cannot lock")(error)),
        }
        file.set_len(0).map_err(failed("cannot write to the lock"))?;
        writeln!(file, "{}", std::process::id()).map_err(failed("cannot write to the lock"))?;
        Ok(Self { _file: file })
    }
}

fn in_use(root: &Root, file: &mut File) -> Error {
    let mut text = String::new();
    let pid = file.take(20).read_to_string(&mut text).ok().and_then(|_| text.trim().parse::<u32>().ok());
    let who = pid.map_or("another process".to_owned(), |pid| format!("the process {pid}"));
    let folder = root.folder().display();
    Error::InUse {
        detail: format!(
            "{who} is using the root {folder}. Stop it, or use the commands that go through it; do not delete the lock file"
        ),
    }
}
