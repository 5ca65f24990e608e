//! Ops as they are shown to people and programs: each checked against its hash when it is read.
//!
//! An op has no sum of its own: its hash covers the hash before it. So a page is read with the op before it, and the check costs one
//! hash an op. The tempting shortcut is to decode what lies there: a flipped bit in an author is a good name still, and was served as
//! the truth until somebody verified the whole log. An op that does not match its hash is told as damaged, and those around it
//! are told all the same.

use crate::{Error, Reader, StoredOp};
use relaymesh_core::{
    hash::Hash,
    id::NodeId,
    op::{Chain, Op, link_hash},
};

/// What stands at a position of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Proven {
    /// An op that matches its hash.
    Op(Box<Op>, Hash),
    /// A stub: ops up to this position were compacted. Where the chain stood there.
    Gone(u64, Chain),
    /// What stands at this position is not what was written there.
    Damaged(u64, String),
}

impl Proven {
    /// Its position.
    pub fn pos(&self) -> u64 {
        match self {
            Self::Op(op, _) => op.pos,
            Self::Gone(pos, _) | Self::Damaged(pos, _) => *pos,
        }
    }
}

/// Ops after `after`, in order, like [`Reader::ops`], each checked.
pub fn ops<R: Reader + ?Sized>(reader: &mut R, after: u64, limit: usize) -> Result<Vec<Proven>, Error> {
    let page = reader.ops(after, limit)?;
    let mut check = Check::new(reader, after, &page)?;
    Ok(page.iter().map(|stored| check.next(stored)).collect())
}

/// The same ops as they are stored; `Damaged` if one of them is.
pub fn stored<R: Reader + ?Sized>(reader: &mut R, after: u64, limit: usize) -> Result<Vec<StoredOp>, Error> {
    let page = reader.ops(after, limit)?;
    let mut check = Check::new(reader, after, &page)?;
    match page.iter().find_map(|stored| check.damage(stored)) {
        Some(detail) => Err(Error::Damaged { detail }),
        None => Ok(page),
    }
}

/// Goes along a page.
struct Check {
    /// The hash before the next op, where it is known.
    previous: Option<Hash>,
    /// Where a stub may stand, and whose; read only for a page that has one.
    stubs: Option<(u64, NodeId)>,
}

impl Check {
    /// There is no op before the first one, and none is needed before a stub.
    fn new<R: Reader + ?Sized>(reader: &mut R, after: u64, page: &[StoredOp]) -> Result<Self, Error> {
        let mut check = Self { previous: None, stubs: None };
        if after > 0 && page.first().is_some_and(|first| first.pos == after + 1) {
            let found = reader.ops(after - 1, 1)?;
            check.previous = found.first().filter(|stored| stored.pos == after).map(|stored| stored.hash);
        }
        if page.iter().any(|stored| stored.stub().is_some()) {
            check.stubs = Some((reader.life()?.horizon, reader.head()?.chain.origin));
        }
        Ok(check)
    }

    fn next(&mut self, stored: &StoredOp) -> Proven {
        let pos = stored.pos;
        if let Some(detail) = self.damage(stored) {
            return Proven::Damaged(pos, detail);
        }
        match (stored.stub(), Op::decode(pos, &stored.bytes)) {
            (Some(chain), _) => Proven::Gone(pos, chain),
            (None, Ok(op)) => Proven::Op(Box::new(op), stored.hash),
            (None, Err(error)) => Proven::Damaged(pos, format!("op {pos}: {error}")),
        }
    }

    /// What is wrong with the next op. One bit makes a stub of an op; but a stub stands below the horizon, and names our own chain.
    fn damage(&mut self, stored: &StoredOp) -> Option<String> {
        let pos = stored.pos;
        let is_sound = match (stored.stub(), self.stubs) {
            (Some(chain), Some((horizon, origin))) => pos <= horizon && chain.origin == origin,
            (Some(_), None) => false,
            (None, _) => is_link(self.previous, stored),
        };
        self.previous = Some(stored.hash);
        let what = "its bytes, or the hash before it, were changed on the disk";
        (!is_sound).then(|| format!("op {pos} does not match its hash: {what}"))
    }
}

/// Whether the op follows the one with this hash, or begins a chain: the first op of a log or of a later epoch follows the hash that its
/// chain begins with.
fn is_link(previous: Option<Hash>, stored: &StoredOp) -> bool {
    if previous.is_some_and(|previous| link_hash(&previous, &stored.bytes) == stored.hash) {
        return true;
    }
    let Ok(op) = Op::decode(stored.pos, &stored.bytes) else { return false };
    let start = Chain::new(op.header.origin, op.header.origin_epoch);
    op.header.seq == start.next_seq() && link_hash(&start.head, &stored.bytes) == stored.hash
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Store,
        contract::{author::Author, gallery::gallery, graph::Graph},
        memory::MemoryStore,
    };
    use relaymesh_core::id::NodeId;

    /// A store whose log has two epochs, and how long it is.
    fn store() -> (MemoryStore, Author, u64) {
        let mut store = MemoryStore::new(NodeId::new(7, 7));
        let mut author = Author::resume(&mut store.reader().unwrap());
        for _ in 0..2 {
            gallery(&mut author);
            store.commit(&author.take()).unwrap();
            author.begin_epoch();
        }
        let pos = store.reader().unwrap().head().unwrap().pos;
        (store, author, pos)
    }

    #[test]
    fn sound_ops_are_those_that_were_written_on_pages_of_any_length() {
        let (store, _, end) = store();
        let mut reader = store.reader().unwrap();
        let expected = reader.ops(0, usize::MAX).unwrap();
        for limit in [1, 2, 7, 1_000] {
            let mut after = 0;
            while after < end {
                assert_eq!(stored(&mut reader, after, limit).unwrap(), reader.ops(after, limit).unwrap());
                for proven in ops(&mut reader, after, limit).unwrap() {
                    after += 1;
                    let Proven::Op(op, hash) = proven else { panic!("op {after}: {proven:?}") };
                    let known = &expected[usize::try_from(after).unwrap() - 1];
                    assert_eq!((op.pos, hash), (known.pos, known.hash));
                }
            }
        }
        assert!(ops(&mut reader, end, 10).unwrap().is_empty());
        assert!(ops(&mut reader, end + 9, 10).unwrap().is_empty());
    }

    #[test]
    fn a_flipped_bit_of_an_op_is_told_where_it_is_and_all_others_are_served() {
        let (store, _, end) = store();
        let (disk, mut reader) = (store.disk(), store.reader().unwrap());
        for pos in 1..=end {
            let len = disk.state().ops[&pos].bytes.len();
            // Every byte of the header, in which the author is, and then some.
            for at in (0..len.min(120)).chain([len - 1]) {
                let flip = || disk.state().ops.get_mut(&pos).unwrap().bytes[at] ^= 0x01;
                flip();
                let first = pos.saturating_sub(3);
                for (after, limit) in [(pos - 1, 1), (first, 6)] {
                    let found = ops(&mut reader, after, limit).unwrap();
                    for proven in &found {
                        let is_damaged = matches!(proven, Proven::Damaged(..));
                        assert_eq!(is_damaged, proven.pos() == pos, "op {pos}, byte {at}: {proven:?}");
                    }
                    assert!(matches!(stored(&mut reader, after, limit), Err(Error::Damaged { .. })));
                }
                flip();
            }
        }
    }

    #[test]
    fn a_flipped_bit_of_a_hash_is_told_too_and_so_is_an_op_in_the_wrong_place() {
        let (store, _, _) = store();
        let (disk, mut reader) = (store.disk(), store.reader().unwrap());
        let damaged = |found: Vec<Proven>| -> Vec<u64> {
            found.iter().filter(|proven| matches!(proven, Proven::Damaged(..))).map(Proven::pos).collect()
        };
        disk.state().ops.get_mut(&5).unwrap().hash.0[9] ^= 4;
        assert_eq!(damaged(ops(&mut reader, 0, 20).unwrap()), [5, 6], "nobody can tell which of the two it was");
        disk.state().ops.get_mut(&5).unwrap().hash.0[9] ^= 4;
        {
            let mut state = disk.state();
            let ops = &mut state.ops;
            let (fourth, fifth) = (ops[&4].clone(), ops[&5].clone());
            ops.insert(4, StoredOp { pos: 4, ..fifth });
            ops.insert(5, StoredOp { pos: 5, ..fourth });
        }
        assert_eq!(damaged(ops(&mut reader, 0, 20).unwrap()), [4, 5, 6]);
    }

    #[test]
    fn what_is_left_of_a_compacted_log_is_served_from_any_position() {
        let (mut store, mut author, _) = store();
        let task = author.submit(&Graph::single());
        author.checkpoint();
        store.commit(&author.take()).unwrap();
        let mut reader = store.reader().unwrap();
        while author.drop_ops(&mut reader, 5) > 0 {
            store.commit(&author.take()).unwrap();
        }
        author.claim(task, 0);
        store.commit(&author.take()).unwrap();
        let end = reader.head().unwrap().pos;
        let whole = ops(&mut reader, 0, usize::MAX).unwrap();
        for after in 0..end {
            let found = ops(&mut reader, after, usize::MAX).unwrap();
            assert!(found.iter().all(|proven| !matches!(proven, Proven::Damaged(..))), "after {after}: {found:?}");
            assert!(whole.ends_with(&found), "after {after}");
        }
    }
}
