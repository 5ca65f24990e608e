//! Whether the ops are those that were written.
//!
//! A node has one chain per epoch, one after the other in its log. The tempting shortcut at a change of epoch is to
//! begin wherever the next op says; then whoever cuts the log and appends an op of "epoch 2" goes unnoticed. So a new
//! epoch is believed only when it is higher, of the same node, begins with the hash that every chain begins with, and is
//! dated after everything before it; and the end must be the head's.

use super::Problem;
use crate::{Head, Reader, StoredOp};
use relaymesh_core::op::{Break, Chain, Op};

/// How many ops are read at a time.
const PAGE: usize = 1_000;

/// How far a log has been checked. `Checked::default()` is the start of any log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Checked {
    /// The last op that was checked; 0 for none.
    pub pos: u64,
    /// The chain up to there; `None` for none.
    pub chain: Option<Chain>,
}

/// Checks every op after `from` up to the head. What it gives can be given to it again, to check only what is new.
///
/// `progress` is told the number of the last op that was checked, once a page.
pub fn chain<R: Reader>(reader: &mut R, from: Checked, progress: &mut dyn FnMut(u64)) -> Result<Checked, Problem> {
    let mut walk = Walk::new(reader, from)?;
    while !walk.next_page(reader)?.is_empty() {
        progress(walk.checked.pos);
    }
    walk.end(reader)
}

/// A walk along the ops up to a head: pages until an empty one, then the end.
#[derive(Debug)]
pub(super) struct Walk {
    pub(super) head: Head,
    pub(super) checked: Checked,
}

impl Walk {
    pub(super) fn new<R: Reader>(reader: &mut R, from: Checked) -> Result<Self, Problem> {
        Ok(Self { head: reader.head()?, checked: from })
    }

    /// The next ops, each checked. Empty at the head.
    pub(super) fn next_page<R: Reader>(&mut self, reader: &mut R) -> Result<Vec<(StoredOp, Op, Chain)>, Problem> {
        let left = self.head.pos.saturating_sub(self.checked.pos);
        let limit = PAGE.min(usize::try_from(left).unwrap_or(PAGE));
        let mut page = Vec::with_capacity(limit);
        if limit == 0 {
            return Ok(page);
        }
        for stored in reader.ops(self.checked.pos, limit)? {
            let expected = self.checked.pos + 1;
            if stored.pos != expected {
                return Err(Problem::Missing { pos: expected, found: stored.pos });
            }
            let (chain, op) = step(self.checked.chain.take(), &stored)?;
            self.checked = Checked { pos: stored.pos, chain: Some(chain.clone()) };
            page.push((stored, op, chain));
        }
        Ok(page)
    }

    /// What was checked, if it ends where the head says, and the log there.
    pub(super) fn end<R: Reader>(self, reader: &mut R) -> Result<Checked, Problem> {
        let Self { head, checked } = self;
        let beyond = reader.ops(head.pos.max(checked.pos), 1)?.first().map(|op| op.pos);
        let now = reader.head()?;
        if now != head {
            return Err(Problem::Moved { from: head.pos, to: now.pos });
        }
        let found = beyond.unwrap_or(checked.pos);
        if found != head.pos {
            return Err(Problem::HeadPosition { expected: head.pos, found });
        }
        let start = Chain::new(head.chain.origin, head.chain.origin_epoch);
        let chain = checked.chain.clone().unwrap_or_else(|| start.clone());
        // A node that has just begun a new epoch has no op in it yet; its clock goes on from the old one.
        let start = Chain { hlc: head.chain.hlc, ..start };
        let begun = head.chain == start && start.origin == chain.origin && start.origin_epoch > chain.origin_epoch;
        if chain != head.chain && !begun {
            let (expected, found) = (Box::new(head.chain), Box::new(chain));
            return Err(Problem::HeadChain { pos: head.pos, expected, found });
        }
        Ok(checked)
    }
}

/// Steps over one op, into a new epoch if it begins one.
fn step(chain: Option<Chain>, stored: &StoredOp) -> Result<(Chain, Op), Break> {
    let StoredOp { pos, bytes, hash } = stored;
    let Some(mut chain) = chain else {
        let op = Op::decode(*pos, bytes).map_err(|error| Break::Decode { pos: *pos, error })?;
        let mut chain = Chain::new(op.header.origin, op.header.origin_epoch);
        return chain.verify(*pos, bytes, *hash).map(|op| (chain, op));
    };
    let broken = match chain.verify(*pos, bytes, *hash) {
        Ok(op) => return Ok((chain, op)),
        Err(broken) => broken,
    };
    let Some(mut next) = next_epoch(&chain, stored) else { return Err(broken) };
    next.verify(*pos, bytes, *hash).map(|op| (next, op))
}

/// The chain that the op begins, if it says that it begins one. The time goes on from the one before.
fn next_epoch(chain: &Chain, stored: &StoredOp) -> Option<Chain> {
    let header = Op::decode(stored.pos, &stored.bytes).ok()?.header;
    let grown = header.origin == chain.origin && header.origin_epoch > chain.origin_epoch;
    grown.then(|| Chain { hlc: chain.hlc, ..Chain::new(header.origin, header.origin_epoch) })
}
