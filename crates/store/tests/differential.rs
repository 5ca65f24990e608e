//! The memory store against itself: that histories are varied and snapshots repeatable. Stores on a disk run the same
//! comparison against the memory store.

use relaymesh_core::id::NodeId;
use relaymesh_store::{
    Error,
    contract::{Backend, differential},
    memory::{Disk, MemoryStore},
};

struct Memory(Disk);

impl Backend for Memory {
    type Store = MemoryStore;

    fn fresh() -> Self {
        Self(Disk::new(NodeId::new(7, 7)))
    }

    fn open(&mut self) -> Result<MemoryStore, Error> {
        self.0.open()
    }
}

#[test]
fn memory_agrees_with_memory() {
    differential::<Memory, Memory>(0..30);
}
