//! A backend, the store that is open on it, and an author that writes to it: what a promise is told in.

use super::{Backend, author::Author, snapshot::Snapshot};
use crate::{Batch, Error, Store};

/// The reader of a backend's store.
pub type ReaderOf<B> = <<B as Backend>::Store as Store>::Reader;

/// A backend, its store, and the author that writes to it.
pub struct World<B: Backend> {
    backend: B,
    store: Option<B::Store>,
    /// Who writes.
    pub author: Author,
}

impl<B: Backend> World<B> {
    /// A fresh backend, opened.
    pub fn new() -> Self {
        let mut backend = B::fresh();
        let store = backend.open().unwrap();
        let author = Author::resume(&mut store.reader().unwrap());
        Self { backend, store: Some(store), author }
    }

    /// A new reader.
    pub fn reader(&self) -> ReaderOf<B> {
        self.store.as_ref().unwrap().reader().unwrap()
    }

    /// Where blobs go.
    pub fn blobs(&self) -> <B::Store as Store>::Blobs {
        self.store.as_ref().unwrap().blobs()
    }

    /// Commits what the author has made since the last time, and gives it back.
    pub fn commit(&mut self) -> Batch {
        let batch = self.author.take();
        self.try_commit(&batch).unwrap();
        batch
    }

    /// Commits any batch.
    pub fn try_commit(&mut self, batch: &Batch) -> Result<(), Error> {
        self.store.as_mut().unwrap().commit(batch)
    }

    /// Commits a batch that must be refused, and checks that nothing changed: not now and not for a later reader.
    pub fn refuse(&mut self, batch: &Batch) {
        let before = self.snapshot();
        let error = self.try_commit(batch).unwrap_err();
        assert!(matches!(error, Error::Conflict { .. }), "expected a conflict, found {error:?}");
        self.snapshot().must_equal(&before, "the store before the refused batch");
    }

    /// Opens the store a second time while the first one lives.
    pub fn open_again(&mut self) -> Result<B::Store, Error> {
        self.backend.open()
    }

    /// Drops the store and opens it again. The author knows nothing but what it finds there.
    pub fn restart(&mut self) {
        drop(self.store.take());
        self.store = Some(self.backend.open().unwrap());
        let now_ms = self.author.now_ms;
        self.author = Author::resume(&mut self.reader());
        self.author.now_ms = self.author.now_ms.max(now_ms);
    }

    /// Every answer that a new reader gives.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot::of(&mut self.reader())
    }
}

impl<B: Backend> Default for World<B> {
    fn default() -> Self {
        Self::new()
    }
}
