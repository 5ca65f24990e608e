//! Tests of what only this store promises; the promises of every store are in `tests/contract.rs`.

mod amnesia;
mod damage;
mod failures;
mod keys;
mod locks;
mod migrations;
mod plans;
mod views;
mod wal;

use crate::{Options, Root, SqliteReader, SqliteStore};
use relaymesh_core::{id::NodeId, id::TaskId};
use relaymesh_store::{
    Store,
    contract::{author::Author, graph::Graph},
};
use tempfile::TempDir;

/// A root with a store in it and somebody who writes to it.
pub(crate) struct World {
    pub(crate) folder: TempDir,
    pub(crate) store: Option<SqliteStore>,
    pub(crate) author: Author,
}

impl World {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::create(&folder.path().join("root"), NodeId::new(1, 1), &Options::default()).unwrap();
        let author = Author::resume(&mut store.reader().unwrap());
        Self { folder, store: Some(store), author }
    }

    pub(crate) fn root(&self) -> Root {
        Root::new(&self.folder.path().join("root"))
    }

    pub(crate) fn store(&mut self) -> &mut SqliteStore {
        self.store.as_mut().unwrap()
    }

    pub(crate) fn commit(&mut self) {
        let batch = self.author.take();
        self.store().commit(&batch).unwrap();
    }

    /// One task from submit to done, in two commits.
    pub(crate) fn finish_one(&mut self) -> TaskId {
        let task = self.author.submit(&Graph::single());
        self.commit();
        self.author.finish(task, 0);
        self.commit();
        task
    }

    pub(crate) fn reader(&self) -> SqliteReader {
        SqliteReader::open(self.root().folder()).unwrap()
    }

    /// Closes the store, and leaves the write-ahead log as a crash would.
    pub(crate) fn crash(&mut self) {
        let store = self.store.take().unwrap();
        store.poison.set("a crash");
        drop(store);
    }

    pub(crate) fn close(&mut self) {
        drop(self.store.take());
    }

    pub(crate) fn open(&self) -> Result<SqliteStore, relaymesh_store::Error> {
        SqliteStore::open(self.root().folder(), &Options::default())
    }
}
