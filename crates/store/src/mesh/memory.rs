//! The mesh store in memory: no file, gone with the process (A3).
//!
//! A [`Disk`] outlives the store that it was taken from, so that a test can restart one: what the contract says of restarts is
//! then asked of this store as of every other.

use super::MeshStore;
use crate::Error;
use relaymesh_core::{
    envelope::Nonce,
    inbound::{self, Arrival, Inbox, Mark, Refusal},
    outbound::{self, Block, Exhausted, Failed, Full, Item, Outbox, OutboxId, Sender},
    sign::Fingerprint,
};
use std::sync::{Arc, Mutex, PoisonError};

/// A mesh store in memory.
#[derive(Debug)]
pub struct MemoryMeshStore {
    disk: Disk,
}

/// What a restart keeps.
#[derive(Debug, Clone)]
pub struct Disk(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    inbox: Inbox,
    sender: Sender,
    outbox: Outbox,
}

impl Default for MemoryMeshStore {
    fn default() -> Self {
        Disk::default().open()
    }
}

impl Default for Disk {
    fn default() -> Self {
        Self::new(inbound::Limits::default(), outbound::Limits::default())
    }
}

impl Disk {
    /// A place with nothing in it.
    pub fn new(inbound: inbound::Limits, outbound: outbound::Limits) -> Self {
        let state = State { inbox: Inbox::new(inbound), sender: Sender::default(), outbox: Outbox::new(outbound) };
        Self(Arc::new(Mutex::new(state)))
    }

    /// The store in this place.
    pub fn open(&self) -> MemoryMeshStore {
        MemoryMeshStore { disk: self.clone() }
    }
}

impl MemoryMeshStore {
    /// What outlives it.
    pub fn disk(&self) -> Disk {
        self.disk.clone()
    }

    /// One step. Whoever panicked in one left the state as it was or as it should be: every rule checks before it changes.
    fn step<T>(&self, step: impl FnOnce(&mut State) -> T) -> Result<T, Error> {
        Ok(step(&mut self.disk.0.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}

impl MeshStore for MemoryMeshStore {
    type Error = Error;

    async fn admit(&self, arrival: Arrival) -> Result<Result<(), Refusal>, Error> {
        self.step(|state| state.inbox.admit(&arrival))
    }

    async fn nonce_seen(&self, peer: Fingerprint, nonce: Nonce) -> Result<bool, Error> {
        self.step(|state| state.inbox.has_seen(&peer, &nonce))
    }

    async fn high_water(&self, peer: Fingerprint) -> Result<Option<Mark>, Error> {
        self.step(|state| state.inbox.high_water(&peer))
    }

    async fn sender(&self) -> Result<Sender, Error> {
        self.step(|state| state.sender)
    }

    async fn reserve(&self, count: u64) -> Result<Result<Block, Exhausted>, Error> {
        self.step(|state| {
            let (sender, block) = state.sender.reserve(count)?;
            state.sender = sender;
            Ok(block)
        })
    }

    async fn begin_epoch(&self, epoch: u64) -> Result<bool, Error> {
        self.step(|state| match state.sender.begin(epoch) {
            Some(sender) => {
                state.sender = sender;
                true
            }
            None => false,
        })
    }

    async fn enqueue(&self, item: Item) -> Result<Result<OutboxId, Full>, Error> {
        self.step(|state| state.outbox.enqueue(item))
    }

    async fn due(&self, now_ms: u64, limit: usize) -> Result<Vec<(OutboxId, Item)>, Error> {
        self.step(|state| state.outbox.due(now_ms, limit))
    }

    async fn fail(&self, id: OutboxId, reason: String, not_before_ms: u64) -> Result<Failed, Error> {
        self.step(|state| state.outbox.fail(id, &reason, not_before_ms))
    }

    async fn hurry(&self, peer: Fingerprint, now_ms: u64) -> Result<(), Error> {
        self.step(|state| state.outbox.hurry(&peer, now_ms))
    }

    async fn remove(&self, id: OutboxId) -> Result<Option<Item>, Error> {
        self.step(|state| state.outbox.remove(id))
    }

    async fn expire(&self, now_ms: u64) -> Result<Vec<(OutboxId, Item)>, Error> {
        self.step(|state| state.outbox.expire(now_ms))
    }
}
