//! Whether the ops are those that were written.
//!
//! A node has one chain per epoch, one after the other in its log. The tempting shortcut at a change of epoch is to
//! begin wherever the next op says; then whoever cuts the log and appends an op of "epoch 2" goes unnoticed. So a new
//! epoch is believed only when it is higher, of the same node, begins with the hash that every chain begins with, and is
//! dated after everything before it; and the end must be the head's.

use super::Problem;
use crate::{Head, Reader, StoredOp};
use relaymesh_core::op::{Body, Break, Chain, ChainHead, Op, log};

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

/// An op that was checked, or a stub, and where the chain stood there.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) stored: StoredOp,
    pub(super) op: Option<Op>,
    pub(super) chain: Chain,
}

/// A walk along the ops up to a head: pages until an empty one, then the end.
#[derive(Debug)]
pub(super) struct Walk {
    pub(super) head: Head,
    /// Ops up to here may be gone.
    pub(super) horizon: u64,
    pub(super) checked: Checked,
}

impl Walk {
    pub(super) fn new<R: Reader>(reader: &mut R, from: Checked) -> Result<Self, Problem> {
        Ok(Self { head: reader.head()?, horizon: reader.life()?.horizon, checked: from })
    }

    /// The next ops, each checked. Empty at the head. A page ends at the horizon.
    pub(super) fn next_page<R: Reader>(&mut self, reader: &mut R) -> Result<Vec<Link>, Problem> {
        let left = self.head.pos.saturating_sub(self.checked.pos);
        let limit = PAGE.min(usize::try_from(left).unwrap_or(PAGE));
        let mut page = Vec::with_capacity(limit);
        if limit == 0 {
            return Ok(page);
        }
        let is_below = self.checked.pos < self.horizon;
        for stored in reader.ops(self.checked.pos, limit)? {
            if is_below && stored.pos > self.horizon {
                break;
            }
            let (chain, op) = self.step_over(&stored)?;
            self.checked = Checked { pos: stored.pos, chain: Some(chain.clone()) };
            page.push(Link { stored, op, chain });
        }
        Ok(page)
    }

    /// Checks one op, or a stub.
    fn step_over(&mut self, stored: &StoredOp) -> Result<(Chain, Option<Op>), Problem> {
        let (pos, before) = (stored.pos, self.checked.pos);
        if let Some(chain) = stored.stub() {
            let ops = pos.saturating_sub(before);
            let known = self.checked.chain.clone();
            let start = || Chain::new(chain.origin, chain.origin_epoch.min(1));
            let fits = pos > before && pos <= self.horizon && chain.follows(&known.unwrap_or_else(start), ops);
            return if fits { Ok((chain, None)) } else { Err(Problem::Stub { pos, horizon: self.horizon }) };
        }
        if pos != before + 1 {
            return Err(Problem::Missing { pos: before + 1, found: pos });
        }
        let known = self.checked.chain.take();
        let (chain, op) = step(known.clone(), stored)?;
        if self.horizon > 0 && pos == self.horizon + 1 {
            self.check_checkpoint(&op, known.as_ref())?;
        }
        Ok((chain, Some(op)))
    }

    /// The op after the horizon must say where the log stood there.
    fn check_checkpoint(&self, op: &Op, before: Option<&Chain>) -> Result<(), Problem> {
        let horizon = self.horizon;
        let wrong = |detail: String| Err(Problem::Checkpoint { pos: op.pos, horizon, detail });
        let Body::Log(log::Body::Checkpoint { pos, heads, .. }) = &op.body else {
            return wrong(format!("it is a {:?}", op.body.kind()));
        };
        if *pos != horizon {
            return wrong(format!("it is one of {pos} ops"));
        }
        let named = |chain: &Chain| {
            let is_it = |head: &&ChainHead| (head.origin, head.origin_epoch) == (chain.origin, chain.origin_epoch);
            heads.iter().find(is_it).is_some_and(|head| (head.seq, head.hash) == (chain.seq, chain.head))
        };
        match before {
            Some(chain) if !named(chain) => wrong(format!("it names another head than {}", chain.head)),
            Some(_) | None => Ok(()),
        }
    }

    /// What was checked, if it ends where the head says, and the log there.
    pub(super) fn end<R: Reader>(self, reader: &mut R) -> Result<Checked, Problem> {
        let Self { head, checked, .. } = self;
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
