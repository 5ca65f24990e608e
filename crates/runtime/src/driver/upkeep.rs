//! Checkpoints that were asked for, and the compaction that follows one.

use super::{caller::Caller, command::Reply};
use relaymesh_core::op::Scope;
use relaymesh_store::{
    Error, Reader,
    life::{Dropped, droppable},
    proven,
};
use std::collections::BTreeSet;

/// Ops that are looked at in one go.
const COMPACT_MAX: usize = 256;
/// Scopes that may be purged between a checkpoint and the end of its compaction.
const PURGED_MAX: usize = 16_384;

#[derive(Default)]
pub(super) struct Upkeep {
    /// Callers that wait for a checkpoint.
    asked: Vec<(Caller, Reply)>,
    /// What may be dropped, once this engine has made a checkpoint.
    compaction: Option<Compaction>,
}

struct Compaction {
    /// Nothing above this.
    horizon: u64,
    /// The batch with the checkpoint. Until it is durable, a reader takes what was purged before it for live.
    batch: u64,
    /// Ops up to here were looked at. From the first on and in order: the op that purges a scope goes after all others
    /// about it.
    pos: u64,
    /// Nothing about these: they were purged after the checkpoint.
    purged: BTreeSet<Scope>,
}

/// How far a compaction has come.
pub(super) struct Compacted {
    pub(super) dropped: Dropped,
    pub(super) pos: u64,
    pub(super) horizon: u64,
}

impl Upkeep {
    /// Whether nobody waits for a checkpoint.
    pub(super) fn is_idle(&self) -> bool {
        self.asked.is_empty()
    }

    pub(super) fn ask(&mut self, caller: Caller, reply: Reply) {
        self.asked.push((caller, reply));
    }

    /// The first caller that waits for a checkpoint.
    pub(super) fn first_asked(&self) -> Option<&Caller> {
        self.asked.first().map(|(caller, _)| caller)
    }

    /// Everybody who waits for a checkpoint. They no longer wait here.
    pub(super) fn take_asked(&mut self) -> impl Iterator<Item = Reply> {
        std::mem::take(&mut self.asked).into_iter().map(|(_, reply)| reply)
    }

    /// Batch `batch` has a checkpoint of the log up to `horizon`: what was purged before it may be dropped.
    pub(super) fn begin(&mut self, horizon: u64, batch: u64) {
        self.compaction = Some(Compaction { horizon, batch, pos: 0, purged: BTreeSet::new() });
    }

    /// A scope was purged. A checkpoint whose compaction nobody continues is forgotten when too many were.
    pub(super) fn note_purged(&mut self, scope: Scope) {
        if let Some(compaction) = &mut self.compaction {
            compaction.purged.insert(scope);
        }
        self.compaction.take_if(|compaction| compaction.purged.len() > PURGED_MAX);
    }

    /// Looks at some more ops and says which may go. `None`: there is nothing to drop. `settled` is the newest batch that
    /// a reader sees.
    pub(super) fn compact<R: Reader>(&mut self, settled: u64, reader: &mut R) -> Result<Option<Compacted>, Error> {
        let Some(Compaction { horizon, batch, pos, purged }) = &mut self.compaction else { return Ok(None) };
        let horizon = *horizon;
        if *batch > settled {
            return Ok(Some(Compacted { dropped: Dropped::default(), pos: *pos, horizon }));
        }
        // What is damaged may name another scope than it did, and must not be dropped because that one is gone.
        let mut page = proven::stored(reader, *pos, COMPACT_MAX)?;
        page.retain(|op| op.pos <= horizon);
        let is_over = &mut |scope| Ok(!purged.contains(&scope) && !reader.is_live(scope)?);
        let dropped = droppable(&page, is_over)?;
        *pos = page.last().map_or(horizon, |op| op.pos);
        let compacted = Compacted { dropped, pos: *pos, horizon };
        if compacted.pos == horizon {
            self.compaction = None;
        }
        Ok(Some(compacted))
    }

    /// A batch is rolled back, and the checkpoint may have been in it.
    pub(super) fn undo(&mut self) {
        self.compaction = None;
    }
}
