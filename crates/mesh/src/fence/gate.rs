//! The gate: what a store remembers of the fences that it has seen in one realm, and what it refuses because of it.

use relaymesh_bus::envelope::FenceToken;
use relaymesh_core::id::NodeId;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The newest authority that was seen in a realm, and how far each origin has come under it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gate {
    epoch: u64,
    coordinator: Option<NodeId>,
    /// The newest sequence of each origin in this epoch; as many as there are nodes.
    sequences: BTreeMap<NodeId, u64>,
}

/// Why a write is fenced. Nothing was changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Stale {
    /// A newer coordinator has been seen.
    #[error("epoch {given} is over: epoch {newest} has been seen")]
    Epoch {
        /// The token's.
        given: u64,
        /// The newest one.
        newest: u64,
    },
    /// Another coordinator has this epoch.
    #[error("epoch {epoch} is {holder}'s, not {given}'s")]
    Coordinator {
        /// The epoch of both.
        epoch: u64,
        /// Who was seen with it first.
        holder: NodeId,
        /// The token's.
        given: NodeId,
    },
    /// The origin has written later than this already.
    #[error("sequence {given} of {origin} was overtaken: {newest} has been seen")]
    Sequence {
        /// Who wrote.
        origin: NodeId,
        /// The token's.
        given: u64,
        /// The newest one.
        newest: u64,
    },
    /// There is no epoch 0: nobody has ever held it.
    #[error("epoch 0 is nobody's")]
    Never,
}

impl Gate {
    /// The newest epoch that was seen; 0 before the first.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Whether a write of `origin` with this token would pass.
    pub fn check(&self, token: FenceToken, origin: NodeId) -> Result<(), Stale> {
        if token.epoch == 0 {
            return Err(Stale::Never);
        }
        if token.epoch < self.epoch {
            return Err(Stale::Epoch { given: token.epoch, newest: self.epoch });
        }
        if token.epoch > self.epoch {
            return Ok(());
        }
        match self.coordinator {
            Some(holder) if holder != token.coordinator => {
                Err(Stale::Coordinator { epoch: self.epoch, holder, given: token.coordinator })
            }
            Some(_) | None => match self.sequences.get(&origin) {
                Some(&newest) if token.sequence <= newest => {
                    Err(Stale::Sequence { origin, given: token.sequence, newest })
                }
                Some(_) | None => Ok(()),
            },
        }
    }

    /// Lets a write pass and remembers its token, or refuses it and remembers nothing.
    pub fn admit(&mut self, token: FenceToken, origin: NodeId) -> Result<(), Stale> {
        self.check(token, origin)?;
        if token.epoch > self.epoch {
            self.sequences.clear();
        }
        self.epoch = token.epoch;
        self.coordinator = Some(token.coordinator);
        self.sequences.insert(origin, token.sequence);
        Ok(())
    }

    /// Takes note of a newer epoch without a write, as when a lease is seen to change hands.
    pub fn advance(&mut self, epoch: u64, coordinator: NodeId) {
        if epoch > self.epoch {
            *self = Self { epoch, coordinator: Some(coordinator), sequences: BTreeMap::new() };
        }
    }
}
