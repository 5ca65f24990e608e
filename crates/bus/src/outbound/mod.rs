//! Outbound: numbers that are never used twice, and what waits for peers that cannot be reached (A5, A6, D17).
//!
//! ```text
//!  Sequences   reserve a block durably ──► give numbers out of it ──► none left: reserve the next
//!              a restart begins behind the last block: numbers are lost, and none is used twice
//!
//!  Outbox      enqueue ──► waits ──► due (first of its peer, its time has come) ──► sent: remove
//!                           ▲  ▲                     │
//!                           │  └── the peer is back ─┤ failed: fail (attempts + 1, later, why)
//!                           └────────────────────────┘ expired or tried too often: given up, and told
//! ```
//!
//! - To write the counter down after each envelope costs a sync each; to write it down now and then uses numbers twice after
//!   a crash. A block that is durable before its first number is used costs one sync for a thousand.
//! - What waits in the outbox is not signed yet. An envelope that was signed hours ago has a sequence that was overtaken
//!   meanwhile; the sequence is taken when it goes (D17). A nonce may be kept over all tries: the other side then knows a
//!   second one for what it is.
//! - Of each peer only the first is ever due: whoever drains sends one after the other, so nothing is overtaken by its own.

mod outbox;
mod sequence;
#[cfg(test)]
mod tests;

pub use outbox::{Failed, Full, Limits, Outbox};
pub use relaymesh_store::traffic::{Item, OutboxId, Sender};
pub use sequence::{Block, Exhausted, SEQUENCE_BLOCK, Sequences, reserve};
