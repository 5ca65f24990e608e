//! What the rules of traffic decided, in the form in which a store keeps it; and what a store kept.
//!
//! [`Changes`] is a section of a [`Batch`](crate::Batch): what an envelope did to the log and that it was admitted are durable
//! together, or neither is (D15). The tempting way is two commits, one after the other. With the admission first, a crash
//! between them loses the envelope, because its next copy is a replay; with the effect first, the envelope takes effect twice.
//!
//! Invariant: a store refuses, with the whole batch, what does not fit the rows that are there. A nonce is there once, a mark
//! only grows, numbers of a sender only grow, an id of the outbox is given once. So a second face on the same rows, or a bug,
//! cannot put anything back.

use relaymesh_core::{
    envelope::Nonce,
    inbound::{Admitted, Mark},
    outbound::{Item, OutboxId, Sender},
    sign::Fingerprint,
};

/// What one commit keeps of a node's traffic with others. Empty, it costs nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// Inbound: envelopes that were admitted, in order.
    pub inbound: Vec<Admitted>,
    /// This node as a sender from now on: a block of numbers was reserved, or an epoch begun.
    pub sender: Option<Sender>,
    /// What becomes of what waits for peers, in order.
    pub outbox: Vec<OutboxPut>,
}

/// What becomes of something in the outbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OutboxPut {
    /// It waits from now on. The id is greater than any before it.
    Added(OutboxId, Item),
    /// It was tried in vain, or need not wait so long. The message itself, which may be long, stays where it is.
    Changed {
        /// Which.
        id: OutboxId,
        /// Not before this time.
        not_before_ms: u64,
        /// How often it was tried.
        attempts: u32,
        /// Why the last try failed.
        reason: Option<String>,
    },
    /// It went, or was given up.
    Removed(OutboxId),
}

impl Changes {
    /// Whether there is nothing to keep.
    pub fn is_empty(&self) -> bool {
        let Self { inbound, sender, outbox } = self;
        inbound.is_empty() && sender.is_none() && outbox.is_empty()
    }
}

/// All that a store has of a node's traffic with others.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Kept {
    /// How far each sender has come, by sender.
    pub marks: Vec<(Fingerprint, Mark)>,
    /// Nonces, by the number of their admission.
    pub nonces: Vec<(u64, Fingerprint, Nonce)>,
    /// This node as a sender.
    pub sender: Sender,
    /// The last id that the outbox gave.
    pub outbox_last: u64,
    /// What waits, by id.
    pub outbox: Vec<(OutboxId, Item)>,
}
