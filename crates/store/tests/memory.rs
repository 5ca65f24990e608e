//! The memory store keeps every promise, and fails the way it is told to.

use relaymesh_core::{id::NodeId, row::RowKey, task::TaskRows};
use relaymesh_store::{
    Error, Reader, Store, TaskFilter,
    contract::{Backend, author::Author, gallery::gallery, graph::Graph},
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

relaymesh_store::contract_suite!(Memory);

fn started() -> (MemoryStore, Author) {
    let store = MemoryStore::new(NodeId::new(7, 7));
    let author = Author::resume(&mut store.reader().expect("memory can always be read"));
    (store, author)
}

fn poisoned() -> Error {
    Error::Poisoned { detail: "the sync failed".to_owned() }
}

#[test]
fn a_new_store_holds_its_disk() {
    let (store, _) = started();
    let disk = store.disk();
    assert!(matches!(disk.open(), Err(Error::InUse { .. })));
    drop(store);
    assert!(disk.open().is_ok());
}

#[test]
fn after_a_full_disk_the_same_batch_fits() {
    let (mut store, mut author) = started();
    author.submit(&Graph::single());
    let batch = author.take();
    let full = Error::Full { detail: "no space left".to_owned() };
    store.disk().fail_next_commit(full.clone(), false);
    assert_eq!(store.commit(&batch), Err(full));
    assert_eq!(store.reader().unwrap().counts().unwrap(), (0, 0));
    store.commit(&batch).unwrap();
    assert_eq!(store.reader().unwrap().head().unwrap(), batch.head);
}

#[test]
fn a_poisoned_store_takes_nothing_until_it_is_opened_again() {
    for applied in [false, true] {
        let (mut store, mut author) = started();
        author.submit(&Graph::single());
        let batch = author.take();
        let disk = store.disk();
        disk.fail_next_commit(poisoned(), applied);
        assert_eq!(store.commit(&batch), Err(poisoned()));
        assert_eq!(store.commit(&batch), Err(poisoned()), "for ever");
        assert_eq!(store.reader().unwrap().counts().unwrap(), (0, 0), "not visible before the new start");
        drop(store);
        let mut store = disk.open().unwrap();
        assert_eq!(store.reader().unwrap().counts().unwrap().0, u64::from(applied));
        assert_eq!(store.commit(&batch).is_ok(), !applied);
    }
}

#[test]
fn a_damaged_row_is_named_when_it_is_read() {
    let (mut store, mut author) = started();
    let tasks = gallery(&mut author);
    store.commit(&author.take()).unwrap();
    let (disk, mut reader) = (store.disk(), store.reader().unwrap());
    assert!(disk.corrupt_row(RowKey::Step(tasks[0], 2)));
    let error = reader.task(tasks[0]).unwrap_err();
    assert!(matches!(&error, Error::Damaged { detail } if detail.contains("step 2")), "{error}");
    assert!(disk.corrupt_row(RowKey::Task(tasks[1])));
    assert!(matches!(reader.task(tasks[1]), Err(Error::Damaged { .. })));
    assert!(matches!(reader.tasks(&TaskFilter::default(), None, 100), Err(Error::Damaged { .. })));
    let rows: TaskRows = reader.task(tasks[2]).unwrap().unwrap();
    assert_eq!(rows.task.id, tasks[2]);
    assert!(!disk.corrupt_row(RowKey::Step(tasks[0], 99)));
}
