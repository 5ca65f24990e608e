//! A bus to embed: messages between keys, each taken once and in order, whether or not the other one is there.
//!
//! ```text
//!  send ──► outbox (durable) ──► Drain::poll ──bytes──► your link ──bytes──► Bus::receive ──► a message, once
//!                ▲                                          │                     │
//!                └── handle_failed: later, or given up ◄────┴── handle_taken ◄────┘ Receipt::Taken
//! ```
//!
//! - **Everything goes through the outbox.** The tempting shortcut sends at once what can be sent and spools the rest; then
//!   what is sent now overtakes what was spooled before.
//! - **Signed when it goes.** What waits has a nonce and no number. The number is taken from a block that is durable (D17), and of each peer
//!   only the first is under way, so nothing overtakes its own.
//! - **One nonce for a message, however often it is tried.** If the answer of the other side is lost, it is sent again, with
//!   another number and the same nonce, and is refused there as one that was here before: that counts as taken. So a message is
//!   taken once as long as its nonce is remembered; after thousands of others ([`NONCES_MAX`]) a very late try could be taken again.
//! - **Admitted, then yours.** A message that [`Bus::receive`] gave out does not come again, also if the process ends
//!   before you are done with it. Whoever has a writer puts the effect and the admission into one commit
//!   instead ([`Traffic`], D15); the bus alone cannot.
//! - **A bus that forgot begins a new life.** A store that knows of no number may be new or may have lost everything, as the one in memory does with
//!   each restart. Then the epoch is the time (D17), and peers that remember an earlier life take it for what it is.
//!
//! There is no runtime: futures are ready at once or are woken by the store. Time, randomness and keys come in as arguments.
//! Signed is not secret: what waits in the outbox and what is on a link can be read there.
//!
//! [`NONCES_MAX`]: crate::inbound::NONCES_MAX
//! [`Traffic`]: crate::store::Traffic

mod drain;
mod error;
mod message;
mod receive;
mod send;

pub use drain::{Drain, GivenUp, Parcel, Polled, Why};
pub use error::Error;
pub use message::{Kind, Message, Unreadable};
pub use receive::{Incoming, Receipt, Received, Refused};
pub use send::Draft;

use crate::{
    outbound::Sender,
    retry::Retry,
    sign::{Fingerprint, PublicKey, Signer},
    store::{MemoryMeshStore, MeshStore},
};
use relaymesh_core::id::NodeId;
use std::sync::Arc;

/// Who a bus is. Clones are the same bus, and may be used from any thread.
#[derive(Debug)]
pub struct Bus<S = MemoryMeshStore> {
    signer: Arc<Signer>,
    node: NodeId,
    store: Arc<S>,
}

impl<S> Clone for Bus<S> {
    fn clone(&self) -> Self {
        Self { signer: self.signer.clone(), node: self.node, store: self.store.clone() }
    }
}

impl Bus<MemoryMeshStore> {
    /// A bus that remembers as long as it lives, and leaves no file behind.
    pub async fn in_memory(
        signer: Signer,
        node: NodeId,
        now_ms: u64,
    ) -> Result<(Self, Drain<MemoryMeshStore>), Error<relaymesh_store::Error>> {
        Self::open(MemoryMeshStore::default(), signer, node, now_ms).await
    }
}

impl<S: MeshStore> Bus<S> {
    /// A bus on a store, and the one that drains its outbox. There is one drain, because two would overtake each other.
    ///
    /// `now_ms` is the wall clock: it becomes the sender's epoch if the store knows of none.
    pub async fn open(
        store: S,
        signer: Signer,
        node: NodeId,
        now_ms: u64,
    ) -> Result<(Self, Drain<S>), Error<S::Error>> {
        if store.sender().await.map_err(Error::Store)? == Sender::default() {
            store.begin_epoch(now_ms).await.map_err(Error::Store)?;
        }
        let bus = Self { signer: Arc::new(signer), node, store: Arc::new(store) };
        let drain = Drain::new(bus.clone(), Retry::default());
        Ok((bus, drain))
    }

    /// The key that others know it by.
    pub fn public_key(&self) -> PublicKey {
        self.signer.public_key()
    }

    /// The name of that key.
    pub fn fingerprint(&self) -> Fingerprint {
        self.public_key().fingerprint()
    }

    /// What it remembers, for people and for tests.
    pub fn store(&self) -> &S {
        &self.store
    }
}
