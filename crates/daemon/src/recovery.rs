//! The recovery point: where the log stood when the daemon stopped, and whether it stopped in order (R12).
//!
//! Nothing is recovered *from* it; the store does that from its own files. It is for people, who ask after a start: did the last one end
//! well, and is everything there that was there then? So a start overwrites the file with *not clean* before anything else happens, and only
//! a stop that has written everything and released its leases says *clean*. A process that ends in the middle leaves the first.

use relaymesh_api::{local::LastStop, time};
use relaymesh_store::Head;
use serde::{Deserialize, Serialize};
use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

/// The file in the root.
const FILE: &str = "recovery-point.json";

/// What the file says.
#[derive(Debug, Serialize, Deserialize)]
struct Written {
    clean: bool,
    pos: u64,
    head: String,
    at_ms: u64,
}

/// Writes down how this daemon ends.
#[derive(Debug)]
pub(crate) struct RecoveryPoint {
    path: PathBuf,
}

impl RecoveryPoint {
    /// Reads how the last daemon ended, and writes down that this one has not. Only who holds the root may call it. `None`: there was none,
    /// or it was of a version that wrote nothing.
    pub(crate) fn begin(root: &Path, head: &Head) -> io::Result<(Self, Option<LastStop>)> {
        let point = Self { path: root.join(FILE) };
        let last = match fs::read(&point.path) {
            Ok(bytes) => Some(last(serde_json::from_slice(&bytes).ok(), head)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        point.write(false, head)?;
        Ok((point, last))
    }

    /// Everything is durable and nothing is leased any more. Called while the root is still held, so that no successor has begun.
    pub(crate) fn end(&self, head: &Head) -> io::Result<()> {
        self.write(true, head)
    }

    fn write(&self, clean: bool, head: &Head) -> io::Result<()> {
        let written = Written { clean, pos: head.pos, head: head.chain.head.to_string(), at_ms: time::now_ms() };
        let new = self.path.with_extension("json.new");
        let mut file = OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(&new)?;
        file.write_all(&serde_json::to_vec_pretty(&written)?)?;
        file.sync_all()?;
        fs::rename(&new, &self.path)?;
        self.path.parent().map_or(Ok(()), |root| File::open(root)?.sync_all())
    }
}

/// How the last daemon ended. One that did not end in order left the log where it is now.
fn last(written: Option<Written>, head: &Head) -> LastStop {
    match written {
        Some(Written { clean: true, pos, head, at_ms }) => LastStop { clean: true, pos, head, at_ms: Some(at_ms) },
        Some(Written { clean: false, .. }) | None => {
            LastStop { clean: false, pos: head.pos, head: head.chain.head.to_string(), at_ms: None }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use relaymesh_core::id::NodeId;

    #[test]
    fn r12_a_stop_is_clean_only_if_the_daemon_said_so() {
        let root = tempfile::tempdir().unwrap();
        let at = |pos| Head { pos, ..Head::new(NodeId::from_bytes([1; 16]), 1) };
        let (first, last) = RecoveryPoint::begin(root.path(), &at(0)).unwrap();
        assert_eq!(last, None, "a new root");
        first.end(&at(7)).unwrap();
        let (_, last) = RecoveryPoint::begin(root.path(), &at(9)).unwrap();
        let last = last.unwrap();
        assert_eq!((last.clean, last.pos, last.at_ms.is_some()), (true, 7, true), "the log may have grown meanwhile");
        let (_, last) = RecoveryPoint::begin(root.path(), &at(12)).unwrap();
        let killed = LastStop { clean: false, pos: 12, head: at(0).chain.head.to_string(), at_ms: None };
        assert_eq!(last, Some(killed.clone()), "nobody said how it ended");
        fs::write(root.path().join(FILE), "cut sh").unwrap();
        assert_eq!(RecoveryPoint::begin(root.path(), &at(12)).unwrap().1, Some(killed), "damage is not clean");
    }
}
