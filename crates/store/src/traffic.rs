//! What the rules of traffic decided, in the form in which a store keeps it; and what a store kept.
//!
//! [`Changes`] is a section of a [`Batch`](crate::Batch): what an envelope did to the log and that it was admitted are durable
//! together, or neither is (D15). The tempting way is two commits, one after the other. With the admission first, a crash
//! between them loses the envelope, because its next copy is a replay; with the effect first, the envelope takes effect twice.
//!
//! Invariant: a store refuses, with the whole batch, what does not fit the rows that are there. A nonce is there once, a mark
//! only grows, numbers of a sender only grow, an id of the outbox is given once. So a second face on the same rows, or a bug,
//! cannot put anything back.

use relaymesh_core::{canonical::MAX_SAFE_INTEGER, hex::hex_bytes};

hex_bytes! {
    /// The name of a key: BLAKE3 of its bytes.
    Fingerprint, "a fingerprint", 32;
    /// What makes an envelope one of its own: drawn at random by the sender.
    Nonce, "a nonce", 24;
}

/// How far a sender has come: its newest epoch, and the greatest sequence in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mark {
    /// The life of the sender.
    pub epoch: u64,
    /// How far it counted in it.
    pub sequence: u64,
}

/// What an admission changed: all that a store has to keep of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Admitted {
    /// Who sent it.
    pub peer: Fingerprint,
    /// How far the sender has come by it.
    pub mark: Mark,
    /// What it is remembered by.
    pub nonce: Nonce,
    /// The number of the admission. Later ones are greater.
    pub number: u64,
    /// The numbers of earlier admissions whose nonces are given up for it.
    pub forgotten: Vec<u64>,
}

/// What a store keeps of this node as a sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sender {
    /// This life. Grows when the node lost its memory or was restored (D17).
    pub epoch: u64,
    /// The greatest number that may have been used in it. 0: none.
    pub reserved: u64,
}

impl Sender {
    /// A new life that counts from 1, if it is later than this one. A store that forgot how far it counted begins one, too.
    pub fn begin(self, epoch: u64) -> Option<Self> {
        (epoch > self.epoch && epoch <= MAX_SAFE_INTEGER).then_some(Self { epoch, reserved: 0 })
    }
}

/// The name of something that waits. Later ones are greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct OutboxId(pub u64);

/// Something that waits for a peer. Signed when it goes, not before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// For whom.
    pub peer_fp: Fingerprint,
    /// What is to be sent, without its sequence.
    pub message: Vec<u8>,
    /// Not before this time.
    pub not_before_ms: u64,
    /// Given up from this time on.
    pub expires_ms: u64,
    /// How often it was tried.
    pub attempts: u32,
    /// Why the last try failed.
    pub reason: Option<String>,
}

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
