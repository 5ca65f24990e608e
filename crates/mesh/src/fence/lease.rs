//! The lease of a coordinator. Its row stays when nobody holds it, because the epoch must never start again.

use relaymesh_bus::envelope::FenceToken;
use relaymesh_core::id::NodeId;
use serde::{Deserialize, Serialize};

/// The row of a realm: its newest epoch, and who holds it, if anybody does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// The newest epoch that was given out; 0 before the first. Only grows.
    pub epoch: u64,
    /// Who holds it.
    pub held: Option<Held>,
}

/// Who coordinates, and until when.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Held {
    /// The coordinator.
    pub by: NodeId,
    /// From this time on anybody may acquire.
    pub deadline_ms: u64,
}

/// Why a lease was not given. Nothing was changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Somebody else coordinates.
    #[error("{by} coordinates in epoch {epoch}, until {deadline_ms}")]
    Held {
        /// Who.
        by: NodeId,
        /// In which epoch.
        epoch: u64,
        /// Until when.
        deadline_ms: u64,
    },
    /// The lease that the word is about is not there any more.
    #[error("epoch {given} is over: the newest is {newest}, and it is not held by {by} any more")]
    Fenced {
        /// Who asked.
        by: NodeId,
        /// Its epoch.
        given: u64,
        /// The newest one.
        newest: u64,
    },
    /// The numbers are used up. Nobody will see this.
    #[error("there is no epoch after {epoch}")]
    Exhausted {
        /// The newest one.
        epoch: u64,
    },
}

impl Lease {
    /// Gives the realm to `by` until `deadline_ms`, in a new epoch, which is returned. The holder itself asks for a new epoch
    /// as well: whoever only wants to go on renews.
    pub fn acquire(&mut self, by: NodeId, now_ms: u64, deadline_ms: u64) -> Result<u64, Refusal> {
        if let Some(held) = self.holder(now_ms).filter(|held| held.by != by) {
            return Err(Refusal::Held { by: held.by, epoch: self.epoch, deadline_ms: held.deadline_ms });
        }
        self.epoch = self.epoch.checked_add(1).ok_or(Refusal::Exhausted { epoch: self.epoch })?;
        self.held = Some(Held { by, deadline_ms });
        Ok(self.epoch)
    }

    /// Moves the deadline of the epoch that `by` holds; never to an earlier time. A lease that has run out can be renewed as
    /// long as nobody has acquired: no other epoch has been given out meanwhile.
    pub fn renew(&mut self, by: NodeId, epoch: u64, deadline_ms: u64) -> Result<(), Refusal> {
        let held = self.shown(by, epoch)?;
        self.held = Some(Held { by, deadline_ms: held.deadline_ms.max(deadline_ms) });
        Ok(())
    }

    /// Gives the realm back. The epoch stays.
    pub fn release(&mut self, by: NodeId, epoch: u64) -> Result<(), Refusal> {
        self.shown(by, epoch)?;
        self.held = None;
        Ok(())
    }

    /// What is left when `by` starts again: it holds nothing, and the epoch is where it was.
    pub fn restart(&mut self, by: NodeId) {
        self.held = self.held.filter(|held| held.by != by);
    }

    /// Who coordinates at `now_ms`.
    pub fn holder(&self, now_ms: u64) -> Option<Held> {
        self.held.filter(|held| held.deadline_ms > now_ms)
    }

    /// The token of a write that `by` coordinates at `now_ms`; none if it does not.
    pub fn token(&self, by: NodeId, sequence: u64, now_ms: u64) -> Option<FenceToken> {
        let held = self.holder(now_ms).filter(|held| held.by == by)?;
        Some(FenceToken { epoch: self.epoch, coordinator: held.by, sequence })
    }

    fn shown(&self, by: NodeId, epoch: u64) -> Result<Held, Refusal> {
        let held = self.held.filter(|held| held.by == by && epoch == self.epoch);
        held.ok_or(Refusal::Fenced { by, given: epoch, newest: self.epoch })
    }
}
