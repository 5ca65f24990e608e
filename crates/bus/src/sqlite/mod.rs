//! The mesh store on SQLite: what a node remembers of its traffic, in the same database and by the same writer (A4, A5).
//!
//! Nonces, marks, reserved numbers, the sender's epoch and the outbox are tables beside the log (`mesh_*`). There is one way to
//! write them: the `mesh` section of a [`Batch`](relaymesh_store::Batch). A driver puts an envelope's effect and its admission
//! into one (D15). [`SqliteMeshStore`] is for whoever embeds a bus and has no driver: it owns the writer on a thread of its own,
//! and its batches have that section alone. A second file with a connection of its own would be shorter, and would have its own
//! answers to a full disk, a failed sync, an old schema and a flipped bit.
//!
//! What lies there is in the clear, like everything in the database: see `docs/concepts/security.md`.

mod answer;
mod writer;

#[cfg(test)]
mod tests;

pub use crate::store::Limits;
pub use relaymesh_store_sqlite::Options;

use crate::store::{MeshStore, Traffic};
use crate::{
    envelope::Nonce,
    inbound::{Arrival, Mark, Refusal},
    outbound::{Block, Exhausted, Failed, Full, Item, OutboxId, Sender},
    sign::Fingerprint,
};
use answer::ask;
use relaymesh_core::id::NodeId;
use relaymesh_store::{Error, traffic::Changes};
use relaymesh_store_sqlite::{Root, SqliteStore};
use std::{path::Path, sync::Arc, thread::JoinHandle};
use writer::{Desk, Writer};

/// A mesh store on SQLite.
///
/// *Durable* when a future is ready with `Ok`: committed with `synchronous=FULL`, together with whatever else waited. `Full`: nothing
/// changed, and the next call may succeed. `Poisoned`: it is unknown what is durable, and every later call is `Poisoned`, until
/// the store is opened again (D2).
///
/// A future that is dropped before the writer came to it has changed nothing; dropped later, nobody knows.
pub struct SqliteMeshStore {
    desk: Arc<Desk>,
    thread: Option<JoinHandle<SqliteStore>>,
}

impl SqliteMeshStore {
    /// Opens the store in the folder `root`, or makes one for `node` if there is none.
    pub fn open(root: &Path, node: NodeId, options: &Options, limits: Limits) -> Result<Self, Error> {
        let path = Root::new(root).database();
        let is_there = path.try_exists().map_err(|error| io("cannot look at", &path, &error))?;
        let store = match is_there {
            true => SqliteStore::open(root, options)?,
            false => SqliteStore::create(root, node, options)?,
        };
        Self::start(store, limits)
    }

    /// Takes over the writer of an open store.
    pub fn start(store: SqliteStore, limits: Limits) -> Result<Self, Error> {
        let root = store.root().folder().to_owned();
        let writer = Writer::new(store, limits)?;
        let desk = Arc::new(Desk::default());
        let served = desk.clone();
        let thread = std::thread::Builder::new().name("mesh-store".to_owned()).spawn(move || writer.run(&served));
        let thread = thread.map_err(|error| io("cannot start a thread for", &root, &error))?;
        Ok(Self { desk, thread: Some(thread) })
    }

    /// Deals with what waits and gives the writer back, for whoever wants it for something else or wants to close it.
    pub fn stop(mut self) -> Result<SqliteStore, Error> {
        self.end().unwrap_or_else(|| Err(answer::ended()))
    }

    fn end(&mut self) -> Option<Result<SqliteStore, Error>> {
        self.desk.close();
        self.thread.take().map(|thread| thread.join().map_err(|_| answer::ended()))
    }

    async fn step<T: Send + 'static>(
        &self,
        step: impl FnOnce(&mut Traffic, &mut Changes) -> T + Send + 'static,
    ) -> Result<T, Error> {
        let (call, answer) = ask(step);
        self.desk.leave(call);
        answer.await
    }
}

impl std::fmt::Debug for SqliteMeshStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SqliteMeshStore").finish_non_exhaustive()
    }
}

impl Drop for SqliteMeshStore {
    /// Deals with what waits and closes the store.
    fn drop(&mut self) {
        let _ = self.end();
    }
}

impl MeshStore for SqliteMeshStore {
    type Error = Error;

    async fn admit(&self, arrival: Arrival) -> Result<Result<(), Refusal>, Error> {
        self.step(move |traffic, changes| traffic.admit(&arrival, changes)).await
    }

    async fn nonce_seen(&self, peer: Fingerprint, nonce: Nonce) -> Result<bool, Error> {
        self.step(move |traffic, _| traffic.has_seen(&peer, &nonce)).await
    }

    async fn high_water(&self, peer: Fingerprint) -> Result<Option<Mark>, Error> {
        self.step(move |traffic, _| traffic.high_water(&peer)).await
    }

    async fn sender(&self) -> Result<Sender, Error> {
        self.step(|traffic, _| traffic.sender()).await
    }

    async fn reserve(&self, count: u64) -> Result<Result<Block, Exhausted>, Error> {
        self.step(move |traffic, changes| traffic.reserve(count, changes)).await
    }

    async fn begin_epoch(&self, epoch: u64) -> Result<bool, Error> {
        self.step(move |traffic, changes| traffic.begin_epoch(epoch, changes)).await
    }

    async fn enqueue(&self, item: Item) -> Result<Result<OutboxId, Full>, Error> {
        self.step(move |traffic, changes| traffic.enqueue(item, changes)).await
    }

    async fn due(&self, now_ms: u64, limit: usize) -> Result<Vec<(OutboxId, Item)>, Error> {
        self.step(move |traffic, _| traffic.due(now_ms, limit)).await
    }

    async fn fail(&self, id: OutboxId, reason: String, not_before_ms: u64) -> Result<Failed, Error> {
        self.step(move |traffic, changes| traffic.fail(id, &reason, not_before_ms, changes)).await
    }

    async fn hurry(&self, peer: Fingerprint, now_ms: u64) -> Result<(), Error> {
        self.step(move |traffic, changes| traffic.hurry(&peer, now_ms, changes)).await
    }

    async fn remove(&self, id: OutboxId) -> Result<Option<Item>, Error> {
        self.step(move |traffic, changes| traffic.remove(id, changes)).await
    }

    async fn expire(&self, now_ms: u64) -> Result<Vec<(OutboxId, Item)>, Error> {
        self.step(move |traffic, changes| traffic.expire(now_ms, changes)).await
    }
}

fn io(what: &str, path: &Path, error: &std::io::Error) -> Error {
    Error::Io { detail: format!("{what} {}: {error}", path.display()) }
}
