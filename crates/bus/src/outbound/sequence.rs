//! Numbers for envelopes: from durable blocks, each number once.

use relaymesh_core::canonical::MAX_SAFE_INTEGER;
use relaymesh_store::traffic::Sender;

/// How many numbers are reserved at once, unless a caller wants another number.
pub const SEQUENCE_BLOCK: u64 = 1_024;

/// Numbers that are reserved: both ends are in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block {
    /// The life in which they count.
    pub epoch: u64,
    /// The first.
    pub first: u64,
    /// The last.
    pub last: u64,
}

/// There is no number left in this epoch. A new epoch has them all again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("sequence_exhausted: epoch {epoch} has no sequence left")]
pub struct Exhausted {
    /// The epoch.
    pub epoch: u64,
}

/// The next block of a sender, and what the store has to keep before any number of it is used. Of no numbers it makes one.
pub fn reserve(sender: Sender, count: u64) -> Result<(Sender, Block), Exhausted> {
    let first = sender.reserved + 1;
    if first > MAX_SAFE_INTEGER {
        return Err(Exhausted { epoch: sender.epoch });
    }
    let last = sender.reserved.saturating_add(count.max(1)).min(MAX_SAFE_INTEGER);
    Ok((Sender { reserved: last, ..sender }, Block { epoch: sender.epoch, first, last }))
}

/// Gives out the numbers of blocks. [`handle_reserved`](Self::handle_reserved) whenever [`poll_next`](Self::poll_next) has none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sequences {
    block: Option<Block>,
}

impl Sequences {
    /// The next number and its epoch, or none: then a block has to be reserved first.
    pub fn poll_next(&mut self) -> Option<(u64, u64)> {
        let block = self.block.as_mut().filter(|block| block.first <= block.last)?;
        let next = (block.epoch, block.first);
        block.first += 1;
        Some(next)
    }

    /// A block is durable. What was left of the one before it is given up.
    pub fn handle_reserved(&mut self, block: Block) {
        self.block = Some(block);
    }
}
