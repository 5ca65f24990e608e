//! Every promise of the mesh seam, kept by this store on a real disk; and the memory store agrees on random histories (A7).

use relaymesh_bus::{
    contract::{MeshBackend, differential, numbered, ready},
    inbound as inbox, outbound as outgoing,
    sqlite::{Options, SqliteMeshStore},
    store::{Disk, Limits, MemoryMeshStore, MeshStore},
};
use relaymesh_core::id::NodeId;
use std::{
    future::Future,
    pin::pin,
    sync::Arc,
    task::{Context, Poll, Wake, Waker},
    thread::Thread,
};
use tempfile::TempDir;

/// A root in a folder of its own.
struct Sqlite(TempDir, Limits);

fn open(folder: &TempDir, limits: Limits) -> SqliteMeshStore {
    SqliteMeshStore::open(folder.path(), NodeId::new(1, 1), &Options::default(), limits).expect("a store on this disk")
}

impl MeshBackend for Sqlite {
    type Store = SqliteMeshStore;

    fn fresh(inbound: inbox::Limits, outbound: outgoing::Limits) -> Self {
        Self(tempfile::tempdir().expect("a folder for the test"), Limits { inbound, outbound })
    }

    fn open(&mut self) -> SqliteMeshStore {
        open(&self.0, self.1)
    }

    fn wait<F: Future>(future: F) -> F::Output {
        wait(future)
    }
}

relaymesh_bus::mesh_contract_suite!(Sqlite);

/// The memory store on a disk that outlives it.
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

#[test]
fn a7_memory_and_sqlite_agree_on_random_histories() {
    differential::<Memory, Sqlite>(0..6);
}

#[test]
fn d15_of_many_copies_that_arrive_at_once_one_is_admitted() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder, Limits::default());
    for number in 1..=20 {
        let copy = numbered(number);
        let admitted: usize = std::thread::scope(|scope| {
            let threads: Vec<_> =
                (0..4).map(|_| scope.spawn(|| usize::from(wait(store.admit(copy)).unwrap().is_ok()))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        assert_eq!(admitted, 1);
    }
}

#[test]
fn a3_with_the_default_limits_it_is_the_queue_of_4096_on_a_disk_as_well() {
    let folder = tempfile::tempdir().unwrap();
    let arrivals: Vec<_> = (1..=4_100).map(numbered).collect();
    let store = open(&folder, Limits::default());
    std::thread::scope(|scope| {
        let all: Vec<_> = arrivals.iter().map(|arrival| store.admit(*arrival)).collect();
        scope.spawn(|| wait(together(all)).into_iter().for_each(|admitted| assert_eq!(admitted.unwrap(), Ok(()))));
    });
    drop(store);
    let store = open(&folder, Limits::default());
    let seen = |number: usize| {
        let arrival = arrivals[number - 1];
        wait(store.nonce_seen(arrival.peer(), arrival.nonce())).unwrap()
    };
    assert!(!seen(4) && seen(5) && seen(4_100), "first in, first out, over a restart");
    assert!(arrivals.iter().all(|arrival| wait(store.admit(*arrival)).unwrap().is_err()));
}

/// All of them at once, in order.
async fn together<F: Future>(futures: Vec<F>) -> Vec<F::Output> {
    let mut futures: Vec<_> = futures.into_iter().map(|future| (Box::pin(future), None)).collect();
    std::future::poll_fn(|context| {
        for (future, output) in futures.iter_mut().filter(|(_, output)| output.is_none()) {
            if let Poll::Ready(ready) = future.as_mut().poll(context) {
                *output = Some(ready);
            }
        }
        match futures.iter().all(|(_, output)| output.is_some()) {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    })
    .await;
    futures.into_iter().filter_map(|(_, output)| output).collect()
}

struct Bell(Thread);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Runs a future on this thread.
fn wait<F: Future>(future: F) -> F::Output {
    let waker = Waker::from(Arc::new(Bell(std::thread::current())));
    let (mut context, mut future) = (Context::from_waker(&waker), pin!(future));
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park(),
        }
    }
}
