//! The mesh store in memory keeps every promise.

use relaymesh_bus::{
    contract::{self, MeshBackend, numbered, ready},
    inbound as inbox, outbound as outgoing,
    store::{Disk, MemoryMeshStore, MeshStore},
};
use std::future::Future;

struct Memory(Disk);

impl MeshBackend for Memory {
    type Store = MemoryMeshStore;

    fn fresh(inbound: inbox::Limits, outbound: outgoing::Limits) -> Self {
        Self(Disk::new(inbound, outbound))
    }

    fn open(&mut self) -> MemoryMeshStore {
        self.0.open()
    }

    fn wait<F: Future>(future: F) -> F::Output {
        ready(future)
    }
}

relaymesh_bus::mesh_contract_suite!(Memory);

#[test]
fn a3_the_default_has_room_for_4096_nonces_counts_from_one_and_writes_no_file() {
    let store = MemoryMeshStore::default();
    assert_eq!(ready(store.reserve(1)).unwrap().unwrap().first, 1);
    let admit = |number: u64| ready(store.admit(numbered(number))).unwrap();
    for number in 1..=4_097 {
        assert_eq!(admit(number), Ok(()));
    }
    let seen = |number| ready(store.nonce_seen(numbered(number).peer(), numbered(number).nonce())).unwrap();
    assert!(!seen(1) && seen(2) && seen(4_097), "first in, first out");
    assert!(admit(4_097).is_err() && admit(1).is_err());
}

#[test]
fn d15_of_many_copies_that_arrive_at_once_one_is_admitted() {
    let store = MemoryMeshStore::default();
    for number in 1..=50 {
        let copy = numbered(number);
        let admitted: usize = std::thread::scope(|scope| {
            let threads: Vec<_> =
                (0..4).map(|_| scope.spawn(|| usize::from(ready(store.admit(copy)).unwrap().is_ok()))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        assert_eq!(admitted, 1);
    }
}

#[test]
fn memory_agrees_with_memory_on_random_histories() {
    contract::differential::<Memory, Memory>(0..4);
}
