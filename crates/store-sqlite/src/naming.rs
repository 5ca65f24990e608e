//! Makes the names of blobs durable: syncs the folder `blobs`, once for all who wait, and never twice for the same names.
//!
//! ```text
//!   put a   … rename ──► wait ─┐
//!   put b   … rename ──► wait ─┼─► one sync of the folder ──► a, b and c go on
//!   put c   … rename ──► wait ─┘
//! ```
//!
//! A sync that failed may have dropped what it was to save, and the next one may succeed all the same. So a failed one is
//! poison (D2), and everybody who comes later sees the poison before a sync. A sync of one's own for each put is the tempting way:
//! then one put fails, and another one that began a moment later is acknowledged.

use crate::{Root, failure, poison::Poison};
use relaymesh_store::Error;
use std::{
    fs::File,
    io,
    path::Path,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
};

/// Syncs a file or a folder, which has this path.
type Sync = fn(&File, &Path) -> io::Result<()>;

#[derive(Debug)]
pub(crate) struct Naming {
    turns: Mutex<Turns>,
    ended: Condvar,
    poison: Poison,
    sync: Sync,
}

#[derive(Debug, Default)]
struct Turns {
    begun: u64,
    ended: u64,
    /// The root is synced once: before that, the folder itself may have no durable name.
    root_is_synced: bool,
}

impl Naming {
    pub(crate) fn new(poison: Poison) -> Self {
        Self::with(poison, |file, _| file.sync_all())
    }

    /// The same with another way to sync.
    fn with(poison: Poison, sync: Sync) -> Self {
        Self { turns: Mutex::default(), ended: Condvar::new(), poison, sync }
    }

    /// Syncs what was written to a file. One that failed may be written again from the start, but not synced again: for want of room it
    /// is `Full`, otherwise poison.
    pub(crate) fn sync_file(&self, file: &File, path: &Path) -> Result<(), Error> {
        self.poison.check()?;
        (self.sync)(file, path).map_err(|error| {
            let failed = failure::io("cannot sync the blob", path, &error);
            if matches!(failed, Error::Full { .. }) {
                return failed;
            }
            self.poison.set(format!("cannot sync the blob {}: {error}", path.display()))
        })
    }

    /// Returns when every name that the folder had when this was called is durable.
    pub(crate) fn sync_names(&self, root: &Root) -> Result<(), Error> {
        let mut turns = self.turns();
        // One that has begun may have missed the newest name.
        let wanted = turns.begun + 1;
        loop {
            self.poison.check()?;
            if turns.ended >= wanted {
                return Ok(());
            }
            if turns.begun > turns.ended {
                turns = self.ended.wait(turns).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            turns.begun += 1;
            let root_is_synced = turns.root_is_synced;
            drop(turns);
            let synced = if root_is_synced { Ok(()) } else { self.sync_folder(root.folder()) };
            let synced = synced.and_then(|()| self.sync_folder(&root.blobs()));
            turns = self.turns();
            turns.ended = turns.begun;
            turns.root_is_synced |= synced.is_ok();
            self.ended.notify_all();
            synced?;
        }
    }

    /// Poison is set before anybody is woken.
    fn sync_folder(&self, folder: &Path) -> Result<(), Error> {
        let synced = File::open(folder).and_then(|file| (self.sync)(&file, folder));
        synced.map_err(|error| self.poison.set(format!("cannot sync the folder {}: {error}", folder.display())))
    }

    fn turns(&self) -> MutexGuard<'_, Turns> {
        self.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    };

    /// Fails every sync of a folder `blobs`.
    pub(crate) fn failing_names(poison: Poison) -> Naming {
        Naming::with(poison, |_, path| if path.ends_with("blobs") { Err(io::Error::other("EIO")) } else { Ok(()) })
    }

    /// Fails every sync of a file that is being written.
    pub(crate) fn failing_files(poison: Poison) -> Naming {
        Naming::with(poison, |file, _| if file.metadata()?.is_file() { Err(io::Error::other("EIO")) } else { Ok(()) })
    }

    static SYNCS: AtomicUsize = AtomicUsize::new(0);

    #[test]
    fn many_share_a_sync_and_each_has_one_that_began_after_it_asked() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::new(folder.path());
        std::fs::create_dir(root.blobs()).unwrap();
        let count = |_: &File, path: &Path| {
            SYNCS.fetch_add(usize::from(path.ends_with("blobs")), Ordering::SeqCst);
            Ok(())
        };
        let naming = Arc::new(Naming::with(Poison::default(), count));
        for before in 0..3 {
            assert_eq!(SYNCS.load(Ordering::SeqCst), before);
            naming.sync_names(&root).unwrap();
        }
        let at_once: Vec<_> = (0..16)
            .map(|_| {
                let (naming, root) = (Arc::clone(&naming), root.clone());
                std::thread::spawn(move || naming.sync_names(&root))
            })
            .collect();
        assert!(at_once.into_iter().all(|thread| thread.join().unwrap().is_ok()));
        assert!((4..=19).contains(&SYNCS.load(Ordering::SeqCst)));
    }
}
