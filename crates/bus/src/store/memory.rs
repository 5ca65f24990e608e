//! The mesh store in memory: no file, gone with the process (A3).
//!
//! A [`Disk`] outlives the store that it was taken from, so that a test can restart one: what the contract says of restarts is
//! then asked of this store as of every other.

use super::{Limits, MeshStore, Traffic};
use crate::{
    envelope::Nonce,
    inbound::{self, Arrival, Mark, Refusal},
    outbound::{self, Block, Exhausted, Failed, Full, Item, OutboxId, Sender},
    sign::Fingerprint,
};
use relaymesh_store::{Error, traffic::Changes};
use std::sync::{Arc, Mutex, PoisonError};

/// A mesh store in memory.
#[derive(Debug)]
pub struct MemoryMeshStore {
    disk: Disk,
}

/// What a restart keeps.
#[derive(Debug, Clone)]
pub struct Disk(Arc<Mutex<Traffic>>);

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
        Self(Arc::new(Mutex::new(Traffic::new(Limits { inbound, outbound }))))
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

    /// One step. Nobody writes down what changed. Whoever panicked in one left everything as it was or as it should be: every
    /// rule checks before it changes.
    fn step<T>(&self, step: impl FnOnce(&mut Traffic, &mut Changes) -> T) -> Result<T, Error> {
        let mut traffic = self.disk.0.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(step(&mut traffic, &mut Changes::default()))
    }
}

impl MeshStore for MemoryMeshStore {
    type Error = Error;

    async fn admit(&self, arrival: Arrival) -> Result<Result<(), Refusal>, Error> {
        self.step(|traffic, changes| traffic.admit(&arrival, changes))
    }

    async fn nonce_seen(&self, peer: Fingerprint, nonce: Nonce) -> Result<bool, Error> {
        self.step(|traffic, _| traffic.has_seen(&peer, &nonce))
    }

    async fn high_water(&self, peer: Fingerprint) -> Result<Option<Mark>, Error> {
        self.step(|traffic, _| traffic.high_water(&peer))
    }

    async fn sender(&self) -> Result<Sender, Error> {
        self.step(|traffic, _| traffic.sender())
    }

    async fn reserve(&self, count: u64) -> Result<Result<Block, Exhausted>, Error> {
        self.step(|traffic, changes| traffic.reserve(count, changes))
    }

    async fn begin_epoch(&self, epoch: u64) -> Result<bool, Error> {
        self.step(|traffic, changes| traffic.begin_epoch(epoch, changes))
    }

    async fn enqueue(&self, item: Item) -> Result<Result<OutboxId, Full>, Error> {
        self.step(|traffic, changes| traffic.enqueue(item, changes))
    }

    async fn due(&self, now_ms: u64, limit: usize) -> Result<Vec<(OutboxId, Item)>, Error> {
        self.step(|traffic, _| traffic.due(now_ms, limit))
    }

    async fn fail(&self, id: OutboxId, reason: String, not_before_ms: u64) -> Result<Failed, Error> {
        self.step(|traffic, changes| traffic.fail(id, &reason, not_before_ms, changes))
    }

    async fn hurry(&self, peer: Fingerprint, now_ms: u64) -> Result<(), Error> {
        self.step(|traffic, changes| traffic.hurry(&peer, now_ms, changes))
    }

    async fn remove(&self, id: OutboxId) -> Result<Option<Item>, Error> {
        self.step(|traffic, changes| traffic.remove(id, changes))
    }

    async fn expire(&self, now_ms: u64) -> Result<Vec<(OutboxId, Item)>, Error> {
        self.step(|traffic, changes| traffic.expire(now_ms, changes))
    }
}
