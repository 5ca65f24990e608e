//! Checkpoints that were asked for, the compaction that follows one, and the pace of all upkeep.
//!
//! Nobody waits for upkeep, so it must not make anybody wait. Doing a slice whenever the writer is free is the tempting rule: a client that
//! sends its next submit when it has the last answer then always finds the writer at a slice, and gets a quarter of its speed. So as long
//! as other things are decided, upkeep is done in small slices, each in a batch that is written anyway: a quarter of what that batch has,
//! or a little more, and then it rests for several times as long as the batch took. When nothing else was decided for a moment, it takes
//! all the time there is.

use super::{caller::Caller, command::Reply};
use relaymesh_core::op::Scope;
use relaymesh_store::{
    Error, Reader,
    life::{Dropped, droppable},
    proven,
};
use std::collections::BTreeSet;

/// Ops that are looked at in one go.
pub(super) const COMPACT_MAX: usize = 256;
/// Under load, a slice is this part of a whole one, after a rest.
const UNDER_LOAD: usize = 4;
/// Without a rest, it is this part of what its batch has anyway; if that is enough to be worth it.
const OF_A_BATCH: usize = 4;
const WORTH_IT: usize = 8;
/// Others are there until nothing of theirs was decided for so long.
const QUIET_MS: u64 = 10;
/// Under load, upkeep rests for so many times as long as the batch took that its last slice was in. What is over is let go of as fast as it
/// comes, then, unless the writer is busy most of the time: a longer rest would make the store grow.
const REST_TIMES: u64 = 4;
const REST_MS: std::ops::RangeInclusive<u64> = 2..=250;
/// Scopes that may be purged between a checkpoint and the end of its compaction.
const PURGED_MAX: usize = 16_384;

#[derive(Default)]
pub(super) struct Upkeep {
    /// Callers that wait for a checkpoint.
    asked: Vec<(Caller, Reply)>,
    /// What may be dropped, once this engine has made a checkpoint.
    compaction: Option<Compaction>,
    pace: Pace,
}

/// When upkeep may go on, by the monotonic clock.
#[derive(Default)]
struct Pace {
    /// When something else was decided last.
    loaded_ms: Option<u64>,
    /// The batch with the newest slice, and when that was decided; until it is settled.
    slice: Option<(u64, u64)>,
    /// Under load, not before this.
    rested_ms: u64,
}

impl Pace {
    fn is_loaded(&self, now_ms: u64) -> bool {
        self.loaded_ms.is_some_and(|at_ms| now_ms <= at_ms.saturating_add(QUIET_MS))
    }
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

    /// Something else than upkeep was decided.
    pub(super) fn note_load(&mut self, now_ms: u64) {
        self.pace.loaded_ms = Some(now_ms);
    }

    /// Whether a slice may be done now. `joined` is how many ops it would join, in a batch that is written anyway.
    pub(super) fn may_go_on(&self, now_ms: u64, joined: Option<usize>) -> bool {
        let Pace { slice, rested_ms, .. } = self.pace;
        let has_turn = |ops: usize| now_ms >= rested_ms || ops / OF_A_BATCH >= WORTH_IT;
        !self.pace.is_loaded(now_ms) || (slice.is_none() && joined.is_some_and(has_turn))
    }

    /// When the load is over, if nothing more of it comes.
    pub(super) fn quiet_at(&self) -> Option<u64> {
        Some(self.pace.loaded_ms?.saturating_add(QUIET_MS + 1))
    }

    /// How much of `whole` may be done in one go. The slice is in batch `number`, which has so many ops.
    pub(super) fn begin_slice(&mut self, whole: usize, (number, ops): (u64, usize), now_ms: u64) -> usize {
        self.pace.slice = Some((number, now_ms));
        if !self.pace.is_loaded(now_ms) {
            return whole;
        }
        let small = if now_ms >= self.pace.rested_ms { whole / UNDER_LOAD } else { 1 };
        whole.min(small.max(ops / OF_A_BATCH))
    }

    /// Whether the newest slice is in this batch.
    pub(super) fn has_slice_in(&self, number: u64) -> bool {
        self.pace.slice.is_some_and(|(of, _)| of == number)
    }

    /// The batch with the newest slice is durable.
    pub(super) fn end_slice(&mut self, now_ms: u64) {
        let Some((_, began_ms)) = self.pace.slice.take() else { return };
        let rest_ms = now_ms.saturating_sub(began_ms).saturating_mul(REST_TIMES);
        self.pace.rested_ms = now_ms.saturating_add(rest_ms.clamp(*REST_MS.start(), *REST_MS.end()));
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
    pub(super) fn compact<R: Reader>(
        &mut self,
        settled: u64,
        reader: &mut R,
        ops_max: usize,
    ) -> Result<Option<Compacted>, Error> {
        let Some(Compaction { horizon, batch, pos, purged }) = &mut self.compaction else { return Ok(None) };
        let horizon = *horizon;
        if *batch > settled {
            return Ok(Some(Compacted { dropped: Dropped::default(), pos: *pos, horizon }));
        }
        // What is damaged may name another scope than it did, and must not be dropped because that one is gone.
        let mut page = proven::stored(reader, *pos, ops_max)?;
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
        self.pace.slice = None;
    }
}
