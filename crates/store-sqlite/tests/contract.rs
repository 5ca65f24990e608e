//! Every promise of the seam, kept by this store on a real disk; and the memory store agrees on random histories.

use relaymesh_core::id::NodeId;
use relaymesh_store::{Error, contract::Backend};
use relaymesh_store_sqlite::{Options, Root, SqliteStore};
use tempfile::TempDir;

/// A root in a folder of its own.
struct Sqlite(TempDir);

impl Backend for Sqlite {
    type Store = SqliteStore;

    fn fresh() -> Self {
        Self(tempfile::tempdir().expect("a folder for the test"))
    }

    fn open(&mut self) -> Result<SqliteStore, Error> {
        if Root::new(self.0.path()).database().exists() {
            return SqliteStore::open(self.0.path(), &Options::default());
        }
        SqliteStore::create(self.0.path(), NodeId::new(1, 1), &Options::default())
    }
}

relaymesh_store::contract_suite!(Sqlite);

/// The memory store on a disk that outlives it.
struct Memory(relaymesh_store::memory::Disk);

impl Backend for Memory {
    type Store = relaymesh_store::memory::MemoryStore;

    fn fresh() -> Self {
        Self(relaymesh_store::memory::Disk::new(NodeId::new(1, 1)))
    }

    fn open(&mut self) -> Result<Self::Store, Error> {
        self.0.open()
    }
}

#[test]
fn memory_and_sqlite_agree_on_random_histories() {
    relaymesh_store::contract::differential::<Memory, Sqlite>(0..6);
}
