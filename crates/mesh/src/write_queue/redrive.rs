//! Redrive: an operator wants a failed write tried again, as it was or under the authority of today.

use super::{
    OPEN_MAX,
    queue::{Queue, Refusal},
    state::Entry,
    table::{Status, Verb},
};
use crate::{fence::FenceToken, reconcile::Precondition};
use relaymesh_core::id::WriteId;

/// What an operator who has looked puts in the place of what was fenced or overtaken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Renewed {
    /// The coordinator of today.
    pub fence: Option<FenceToken>,
    /// The revision that was looked at.
    pub precondition: Precondition,
}

impl Queue {
    /// Makes a failed row pending, at its old place in the order and with its old intent, so that it is still done once.
    pub fn redrive(&mut self, id: WriteId, renewed: Option<Renewed>, now_ms: u64) -> Result<&Entry, Refusal> {
        let mut entry = self.movable(id, Verb::Redrive)?;
        if self.open.len() >= OPEN_MAX {
            return Err(Refusal::Full);
        }
        if let Some(Renewed { fence, precondition }) = renewed {
            let epoch = |fence: Option<FenceToken>| fence.map_or(0, |fence| fence.epoch);
            let (given, had) = (epoch(fence), epoch(entry.write.fence));
            if given < had {
                return Err(Refusal::OlderFence { id, given, had });
            }
            entry.write.fence = fence;
            entry.write.precondition = precondition;
        }
        entry.outcome = None;
        entry.next_attempt_ms = now_ms;
        self.moved(entry, Verb::Redrive, Status::Pending, now_ms)
    }
}
