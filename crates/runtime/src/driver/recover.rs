//! Start, and start over: attempts under way are made again from the rows (D6).
//!
//! An attempt of this node's own agents died with the process: its lease is revoked at once. A worker from outside may
//! well be alive: its lease gets one fresh full term. But not at the first start in a new origin epoch, after a restore or a loss: what
//! became of that lease since the moment that this store knows of, nobody can tell, so it is revoked like the others.

use super::engine::Engine;
use crate::world::{Hold, World};
use relaymesh_core::{id::StepId, op::ExpireReason, task};
use relaymesh_store::{Batch, Error, Reader};
use std::sync::Arc;

const PAGE: usize = 256;

impl<R: Reader, W: World> Engine<R, W> {
    /// Takes up every lease of this node that nothing here watches. Also after a roll-back: what it undid may have been
    /// the end of an attempt, or this very recovery, and nothing may be stranded by that.
    pub(super) fn recover(&mut self) -> Result<(), Error> {
        let now = self.world.now();
        let mut after = None;
        loop {
            let page = self.reader.leased(self.identity.node, after, PAGE)?;
            let Some(last) = page.last() else { return Ok(()) };
            after = Some(*last);
            for key in page {
                let Some(task) = self.live.load_key(key.task(), &mut self.reader)? else { continue };
                self.resume(StepId { task, index: key.place() }, now.mono_ms);
            }
        }
    }

    fn resume(&mut self, step: StepId, mono_ms: u64) {
        if self.attempts.contains(step) {
            return;
        }
        let Some((row, _)) = self.step(step.task, step.index) else { return };
        let (epoch, Some(lease)) = (row.epoch, row.lease.clone()) else { return };
        let is_of_an_earlier_life = self.pipeline.head().chain.seq == 0 && lease.worker != self.identity.asker;
        if lease.worker == self.identity.worker || is_of_an_earlier_life {
            let caller = self.identity.driver.clone();
            let jitter_ms = self.jitter_ms(step);
            let body = task::Body::ExpireWork { step: step.index, epoch, reason: ExpireReason::OwnerGone, jitter_ms };
            // Cannot be refused: the rows were just read, and this node owns the lease.
            let _ = self.write(step.task, &caller, body);
        } else {
            let lease_ms = lease.deadline_ms.saturating_sub(lease.claimed_ms);
            let hold = Hold { step, epoch, token: lease.token };
            self.attempts.resume_outside(hold, lease.worker, lease_ms, mono_ms);
            if lease.worker == self.identity.asker {
                // It may have been claimed and not yet asked. Asking again is asking once.
                self.attempts.start(hold, Arc::new(Batch::new(self.pipeline.head().clone())));
            }
        }
    }
}
