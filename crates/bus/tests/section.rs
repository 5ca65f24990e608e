//! Traffic as a section of a batch, on every store: what an envelope did and that it was admitted are one (D15).

use relaymesh_bus::contract::section;
use relaymesh_core::id::NodeId;
use relaymesh_store::{Error, contract::Backend, memory};
use relaymesh_store_sqlite::{Options, Root, SqliteStore};
use tempfile::TempDir;

/// The memory store on a disk that outlives it.
struct Memory(memory::Disk);

impl Backend for Memory {
    type Store = memory::MemoryStore;

    fn fresh() -> Self {
        Self(memory::Disk::new(NodeId::new(1, 1)))
    }

    fn open(&mut self) -> Result<memory::MemoryStore, Error> {
        self.0.open()
    }
}

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

mod memory_store {
    use super::Memory;
    relaymesh_bus::section_contract_suite!(Memory);
}

mod sqlite_store {
    use super::Sqlite;
    relaymesh_bus::section_contract_suite!(Sqlite);
}

#[test]
fn a7_memory_and_sqlite_agree_on_random_histories_with_traffic() {
    section::differential::<Memory, Sqlite>(0..6);
}

#[test]
fn memory_agrees_with_memory_on_random_histories_with_traffic() {
    section::differential::<Memory, Memory>(0..4);
}
