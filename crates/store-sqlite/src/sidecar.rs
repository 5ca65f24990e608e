//! The sidecar: what the store has acknowledged, remembered outside of the database (D3).
//!
//! Two slots take turns, so a torn write costs the newest word and never the one before it. Each slot has its own
//! sector, far enough from the other that one bad block does not hold both.
//!
//! The order is the point: a slot is written after COMMIT has returned, so the sidecar never knows of an op that the
//! database was not told to keep. The other way round is harmless: a store may know more than its sidecar.

pub mod slot;

use crate::{Root, failure, modes};
use relaymesh_store::Error;
pub(crate) use slot::Mark;
use slot::{SLOT_BYTES, encode};
use std::{
    fs::{File, OpenOptions},
    io::ErrorKind,
    os::unix::fs::FileExt,
    sync::Arc,
};

const SLOT_OFFSETS: [u64; 2] = [0, 4096];
const FILE_BYTES: u64 = 8192;

/// The open sidecar.
#[derive(Debug)]
pub(crate) struct Sidecar {
    file: Arc<File>,
    turn: u64,
    newest: Mark,
}

impl Sidecar {
    /// Makes the sidecar of a new root, durable before it returns.
    pub(crate) fn create(root: &Root, mark: Mark) -> Result<Self, Error> {
        let path = root.head();
        let failed = |error| failure::io("cannot write the sidecar", &path, &error);
        let file = modes::new_file(&path)?;
        file.set_len(FILE_BYTES).map_err(failed)?;
        let mut sidecar = Self { file: Arc::new(file), turn: 0, newest: mark };
        sidecar.rewrite(mark).map_err(failed)?;
        sidecar.file.sync_all().map_err(failed)?;
        modes::sync_folder(root)?;
        Ok(sidecar)
    }

    /// Opens the sidecar and takes the newest slot that can be read; `None` when the file is missing or neither can.
    pub(crate) fn open(root: &Root) -> Result<Option<Self>, Error> {
        let path = root.head();
        let file = match OpenOptions::new().read(true).write(true).open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failure::io("cannot open the sidecar", &path, &error)),
        };
        let newest = read(&file).map_err(|error| failure::io("cannot read the sidecar", &path, &error))?;
        Ok(newest.map(|(turn, newest)| Self { file: Arc::new(file), turn, newest }))
    }

    /// The newest word of the sidecar in this root, for somebody who writes nothing; `None` when it is missing or damaged. A disk that
    /// does not answer is an error of its own: nothing is known to be damaged then.
    pub(crate) fn peek(root: &Root) -> Result<Option<Mark>, Error> {
        let path = root.head();
        let newest = match File::open(&path) {
            Ok(file) => read(&file),
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => Err(error),
        };
        let newest = newest.map_err(|error| failure::io("cannot read the sidecar", &path, &error))?;
        Ok(newest.map(|(_, newest)| newest))
    }

    /// The newest word.
    pub(crate) fn newest(&self) -> Mark {
        self.newest
    }

    /// What has to be synced.
    pub(crate) fn file(&self) -> Arc<File> {
        Arc::clone(&self.file)
    }

    /// Writes the next word over the older slot.
    pub(crate) fn write(&mut self, mark: Mark) -> std::io::Result<()> {
        let turn = self.turn + 1;
        self.file.write_all_at(&encode(turn, mark), SLOT_OFFSETS[(turn % 2) as usize])?;
        self.turn = turn;
        self.newest = mark;
        Ok(())
    }

    /// Writes the word over both slots, so that neither speaks of what is given up.
    pub(crate) fn rewrite(&mut self, mark: Mark) -> std::io::Result<()> {
        for _ in SLOT_OFFSETS {
            self.write(mark)?;
            self.file.sync_data()?;
        }
        Ok(())
    }
}

/// The newest word that can be read, and its turn. Reads only; for those who do not hold the lock. An error if the disk gave neither.
fn read(file: &File) -> std::io::Result<Option<(u64, Mark)>> {
    let mut slots = Vec::with_capacity(SLOT_OFFSETS.len());
    let mut failed = None;
    for offset in SLOT_OFFSETS {
        let mut bytes = [0; SLOT_BYTES];
        match file.read_exact_at(&mut bytes, offset) {
            Ok(()) => slots.push(bytes),
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => {}
            Err(error) => failed = Some(error),
        }
    }
    match (slot::newest(slots), failed) {
        (None, Some(error)) => Err(error),
        (newest, _) => Ok(newest),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use relaymesh_core::{hash::Hash, id::NodeId};
    use slot::{SUMMED_BYTES, decode};

    fn mark(pos: u64) -> Mark {
        Mark { origin: NodeId::new(1, 2), origin_epoch: 3, pos, seq: pos, hash: Hash::sha256(&pos.to_be_bytes()) }
    }

    fn fresh() -> (tempfile::TempDir, Root, Sidecar) {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::new(folder.path());
        let sidecar = Sidecar::create(&root, mark(0)).unwrap();
        (folder, root, sidecar)
    }

    #[test]
    fn the_newest_word_comes_back() {
        let (_folder, root, mut sidecar) = fresh();
        for pos in 1..9 {
            sidecar.write(mark(pos)).unwrap();
            assert_eq!(Sidecar::open(&root).unwrap().unwrap().newest(), mark(pos));
        }
        assert_eq!(std::fs::metadata(root.head()).unwrap().len(), FILE_BYTES);
    }

    #[test]
    fn every_flipped_bit_leaves_the_word_before_it() {
        let (_folder, root, mut sidecar) = fresh();
        sidecar.write(mark(1)).unwrap();
        sidecar.write(mark(2)).unwrap();
        let whole = std::fs::read(root.head()).unwrap();
        // Every byte, with another bit in each.
        for bit in (0..(SUMMED_BYTES + 32) * 8).step_by(9) {
            for offset in SLOT_OFFSETS {
                let mut bent = whole.clone();
                bent[offset as usize + bit / 8] ^= 1 << (bit % 8);
                std::fs::write(root.head(), bent).unwrap();
                let found = Sidecar::open(&root).unwrap().unwrap().newest().pos;
                let is_newest = decode(whole[offset as usize..][..SLOT_BYTES].try_into().unwrap()).unwrap().1.pos == 2;
                assert_eq!(found, if is_newest { 1 } else { 2 }, "bit {bit} at {offset}");
            }
        }
    }

    #[test]
    fn a_recovery_leaves_no_slot_that_speaks_of_what_was_lost() {
        let (_folder, root, mut sidecar) = fresh();
        sidecar.write(mark(7)).unwrap();
        sidecar.rewrite(mark(3)).unwrap();
        for offset in SLOT_OFFSETS {
            let whole = std::fs::read(root.head()).unwrap();
            let mut bent = whole.clone();
            bent[offset as usize] ^= 1;
            std::fs::write(root.head(), bent).unwrap();
            assert_eq!(Sidecar::open(&root).unwrap().unwrap().newest().pos, 3);
            std::fs::write(root.head(), whole).unwrap();
        }
    }

    #[test]
    fn no_slot_no_sidecar() {
        let (_folder, root, _sidecar) = fresh();
        std::fs::write(root.head(), [0; 100]).unwrap();
        assert!(Sidecar::open(&root).unwrap().is_none());
        std::fs::remove_file(root.head()).unwrap();
        assert!(Sidecar::open(&root).unwrap().is_none());
    }
    #[test]
    fn a_disk_that_does_not_answer_is_not_called_damage() {
        let (_folder, root, _sidecar) = fresh();
        std::fs::remove_file(root.head()).unwrap();
        assert_eq!(Sidecar::peek(&root), Ok(None));
        // A folder can be opened and not be read, much like a file on a disk that is failing.
        std::fs::create_dir(root.head()).unwrap();
        let Err(Error::Io { detail }) = Sidecar::peek(&root) else { panic!("a folder has no words") };
        assert!(detail.contains("cannot read the sidecar"), "{detail}");
    }
}
