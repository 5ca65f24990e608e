//! Each kind of damage, and which check finds it.

mod chain;
mod rebuild;
mod rows;

use crate::{
    Reader, Store,
    contract::{
        author::Author,
        gallery::gallery,
        graph::{Graph, asking},
    },
    memory::{Disk, MemoryReader, MemoryStore},
};
use relaymesh_core::id::{NodeId, TaskId};

/// A store with something of everything in it, over two epochs.
struct Fixture {
    store: MemoryStore,
    disk: Disk,
    reader: MemoryReader,
    author: Author,
    tasks: Vec<TaskId>,
}

impl Fixture {
    fn new() -> Self {
        let store = MemoryStore::new(NodeId::new(7, 7));
        let (disk, mut reader) = (store.disk(), store.reader().unwrap());
        let author = Author::resume(&mut reader);
        let mut fixture = Self { store, disk, reader, author, tasks: Vec::new() };
        fixture.tasks = gallery(&mut fixture.author);
        fixture.author.submit(&Graph::of(vec![asking("never", Some(u64::MAX))]));
        fixture.commit();
        fixture.author.begin_epoch();
        let more = gallery(&mut fixture.author);
        fixture.tasks.extend(more);
        fixture.commit();
        fixture
    }

    fn commit(&mut self) {
        self.store.commit(&self.author.take()).unwrap();
    }

    fn head_pos(&mut self) -> u64 {
        self.reader.head().unwrap().pos
    }
}

fn quiet() -> impl FnMut(u64) {
    |_| {}
}
