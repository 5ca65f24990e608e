//! The mesh seam: what a node remembers of its traffic with others, apart from the log (A1).
//!
//! Nonces and marks of what came in, the numbers of what goes out, and the outbox are journals: of this node only, neither
//! rebuilt nor compared. The rules are beside it ([`crate::inbound`], [`crate::outbound`]); a store
//! keeps what they decide. [`MemoryMeshStore`] is the smallest one and the default of whoever embeds a bus (A3).
//!
//! There are two doors. [`MeshStore`] is for whoever embeds a bus and has no writer of its own. Whoever has one, as the driver
//! has, lets [`Traffic`] decide and commits the [`Changes`](relaymesh_store::traffic::Changes) with the effects, in one [`Batch`](relaymesh_store::Batch) (D15).
//!
//! What lies here is not encrypted: envelopes are signed, not sealed, so an outbox on disk is readable for whoever reads the
//! disk.

mod memory;
mod traffic;

pub use memory::{Disk, MemoryMeshStore};
pub use traffic::{Limits, Traffic};

use crate::{
    envelope::Nonce,
    inbound::{Arrival, Mark, Refusal},
    outbound::{Block, Exhausted, Failed, Full, Item, OutboxId, Sender},
    sign::Fingerprint,
};
use std::future::Future;

/// What a node remembers of its traffic with others. May be used from any thread.
///
/// It is asynchronous, unlike [`Store`](relaymesh_store::Store): whoever takes an envelope from a link waits for a commit that it
/// shares with others, and must not hold up the link's thread meanwhile. There is no runtime in it: a future here is ready at
/// once or is woken by the store's own writer.
///
/// *Durable* and *readable* when a future is ready with `Ok`; *ordered* as the calls were made, where calls do not overlap. An
/// `Err` is the store's failure, and then nobody knows; a refusal by a rule is inside of `Ok`, and then nothing changed.
pub trait MeshStore: Send + Sync + 'static {
    /// What can go wrong with the store itself.
    type Error: std::error::Error + Into<relaymesh_store::Error> + Send + Sync + 'static;

    /// Admits an envelope and remembers nonce and sequence, or refuses it and changes nothing: one atomic step (D15).
    /// *Idempotent*: no, and that is the point; the second of two equal calls is refused, also if they overlap.
    fn admit(&self, arrival: Arrival) -> impl Future<Output = Result<Result<(), Refusal>, Self::Error>> + Send;

    /// Whether a nonce of this sender is remembered. For people; to decide by it would be a race.
    fn nonce_seen(&self, peer: Fingerprint, nonce: Nonce) -> impl Future<Output = Result<bool, Self::Error>> + Send;

    /// How far a sender has come.
    fn high_water(&self, peer: Fingerprint) -> impl Future<Output = Result<Option<Mark>, Self::Error>> + Send;

    /// This node as a sender.
    fn sender(&self) -> impl Future<Output = Result<Sender, Self::Error>> + Send;

    /// Reserves the next `count` numbers for envelopes. *Durable* before any of them is used; no two calls share one, over
    /// restarts as well (A5).
    fn reserve(&self, count: u64) -> impl Future<Output = Result<Result<Block, Exhausted>, Self::Error>> + Send;

    /// Begins a later life as a sender, which counts from 1 (D17). False: this one is as late already. *Idempotent*: yes.
    fn begin_epoch(&self, epoch: u64) -> impl Future<Output = Result<bool, Self::Error>> + Send;

    /// Puts something at the end of its peer's queue.
    fn enqueue(&self, item: Item) -> impl Future<Output = Result<Result<OutboxId, Full>, Self::Error>> + Send;

    /// What can go now: of each peer the first alone; longest due first.
    fn due(&self, now_ms: u64, limit: usize)
    -> impl Future<Output = Result<Vec<(OutboxId, Item)>, Self::Error>> + Send;

    /// A try failed: later again, or given up.
    fn fail(
        &self,
        id: OutboxId,
        reason: String,
        not_before_ms: u64,
    ) -> impl Future<Output = Result<Failed, Self::Error>> + Send;

    /// A peer is back: its first need not wait any longer. *Idempotent*: yes.
    fn hurry(&self, peer: Fingerprint, now_ms: u64) -> impl Future<Output = Result<(), Self::Error>> + Send;

    /// It went. *Idempotent*: yes; a second time it is none.
    fn remove(&self, id: OutboxId) -> impl Future<Output = Result<Option<Item>, Self::Error>> + Send;

    /// Gives up whatever is over, and tells what it was, once.
    fn expire(&self, now_ms: u64) -> impl Future<Output = Result<Vec<(OutboxId, Item)>, Self::Error>> + Send;
}
