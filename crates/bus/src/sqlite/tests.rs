//! What only this store promises: groups, failures, crashes, damage. The promises of every mesh store are in `tests/mesh.rs`.

use super::{
    SqliteMeshStore,
    answer::{Answer, Call, ask},
    writer::{Desk, Writer},
};
use crate::{
    contract::{arrived, numbered, ready},
    inbound::Refusal,
    outbound::{Block, Item, OutboxId, Sender},
    sign::Fingerprint,
    store::{Limits, MeshStore, Traffic},
};
use relaymesh_core::id::NodeId;
use relaymesh_store::{
    Batch, Error, Reader, Store,
    contract::{author::Author, graph::Graph},
    traffic::Changes,
};
use relaymesh_store_sqlite::{Options, Root, SqliteReader, SqliteStore};
use rusqlite::{Connection, ffi};
use std::{
    future::Future,
    pin::pin,
    sync::Arc,
    task::{Context, Poll, Wake, Waker},
};
use tempfile::TempDir;

/// A root with a store in it and somebody who writes to it.
struct World {
    folder: TempDir,
    store: Option<SqliteStore>,
    author: Author,
}

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::create(&folder.path().join("root"), NodeId::new(1, 1), &Options::default()).unwrap();
        let author = Author::resume(&mut store.reader().unwrap());
        Self { folder, store: Some(store), author }
    }

    fn root(&self) -> Root {
        Root::new(&self.folder.path().join("root"))
    }

    fn store(&mut self) -> &mut SqliteStore {
        self.store.as_mut().unwrap()
    }

    fn commit(&mut self) {
        let batch = self.author.take();
        self.store().commit(&batch).unwrap();
    }

    /// One task from submit to done, in two commits.
    fn finish_one(&mut self) {
        let task = self.author.submit(&Graph::single());
        self.commit();
        self.author.finish(task, 0);
        self.commit();
    }

    fn reader(&self) -> SqliteReader {
        SqliteReader::open(self.root().folder()).unwrap()
    }

    fn open(&self) -> Result<SqliteStore, Error> {
        SqliteStore::open(self.root().folder(), &Options::default())
    }
}

struct Bell(std::thread::Thread);

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

type Step<T> = fn(&mut Traffic, &mut Changes) -> T;

fn writer(world: &mut World) -> Writer {
    Writer::new(world.store.take().unwrap(), Limits::default()).unwrap()
}

/// Ends as a crash does: the write-ahead log stays as it is.
fn crash(world: &mut World, store: SqliteStore) {
    let _ = store.set_poison("a crash");
    drop(store);
    world.store = Some(world.open().unwrap());
}

/// Gives the writer one group with all of these in it, and their answers.
fn group<T: Send + 'static, const N: usize>(writer: &mut Writer, steps: [Step<T>; N]) -> [Result<T, Error>; N] {
    let (mut calls, answers): (Vec<Box<dyn Call>>, Vec<Answer<T>>) = steps.into_iter().map(ask).unzip();
    writer.serve(&mut calls);
    answers.into_iter().map(ready).collect::<Vec<_>>().try_into().unwrap_or_else(|_| panic!("as many as asked"))
}

fn one<T: Send + 'static>(writer: &mut Writer, step: Step<T>) -> Result<T, Error> {
    let [answer] = group(writer, [step]);
    answer
}

fn item() -> Item {
    let peer_fp = Fingerprint([1; 32]);
    Item { peer_fp, message: b"hello".to_vec(), not_before_ms: 0, expires_ms: 900, attempts: 0, reason: None }
}

#[test]
fn a_group_shares_one_commit_and_its_fate_and_nothing_of_it_is_left_in_memory() {
    for (statement, code) in
        [("BEGIN IMMEDIATE", ffi::SQLITE_FULL), ("WRITE", ffi::SQLITE_FULL), ("COMMIT", ffi::SQLITE_FULL)]
    {
        let mut world = World::new();
        world.store().faults.arm(statement, code);
        let mut writer = writer(&mut world);
        let steps: [Step<bool>; 4] = [
            |traffic, changes| traffic.admit(&numbered(1), changes).is_ok(),
            |traffic, changes| traffic.admit(&numbered(1), changes).is_ok(),
            |traffic, changes| traffic.reserve(10, changes).is_ok(),
            |traffic, changes| traffic.enqueue(item(), changes).is_ok(),
        ];
        let answers = group(&mut writer, steps);
        assert!(answers.iter().all(|answer| matches!(answer, Err(Error::Full { .. }))), "{statement}: {answers:?}");
        let untouched = one(&mut writer, |traffic, _| {
            let seen = traffic.has_seen(&numbered(1).peer(), &numbered(1).nonce());
            (seen, traffic.sender(), traffic.due(1, 9).len())
        });
        assert_eq!(untouched, Ok((false, Sender::default(), 0)), "{statement}");
        assert_eq!(group(&mut writer, steps), [Ok(true), Ok(false), Ok(true), Ok(true)], "there is room again");
    }
}

#[test]
fn d2_a_failed_sync_is_poison_for_all_and_a_new_start_settles_it() {
    let mut world = World::new();
    world.store().faults.arm("COMMIT", ffi::SQLITE_IOERR_FSYNC);
    let store = SqliteMeshStore::start(world.store.take().unwrap(), Limits::default()).unwrap();
    let admit = |number| wait(store.admit(numbered(number)));
    assert!(matches!(admit(1), Err(Error::Poisoned { .. })));
    assert!(matches!(admit(2), Err(Error::Poisoned { .. })));
    assert!(matches!(wait(store.sender()), Err(Error::Poisoned { .. })), "reads too");
    drop(store);
    world.store = Some(world.open().unwrap());
    let mut writer = writer(&mut world);
    assert_eq!(one(&mut writer, |traffic, changes| traffic.admit(&numbered(2), changes)), Ok(Ok(())));
}

#[test]
fn a5_a_replay_captured_before_a_crash_is_refused_after_it() {
    let mut world = World::new();
    for number in 1..=3 {
        let mut writer = writer(&mut world);
        let captured = one(&mut writer, |traffic, changes| {
            let next = traffic.high_water(&numbered(1).peer()).map_or(1, |mark| mark.sequence + 1);
            (1..next).for_each(|old| assert_eq!(traffic.admit(&numbered(old), changes), Err(Refusal::Replay)));
            traffic.admit(&numbered(next), changes).map(|()| next)
        });
        assert_eq!(captured, Ok(Ok(number)));
        let desk = Desk::default();
        desk.close();
        crash(&mut world, writer.run(&desk));
    }
}

#[test]
fn d17_a_crash_between_reserving_and_using_gives_no_number_twice() {
    let mut world = World::new();
    for life in 0..3 {
        let mut writer = writer(&mut world);
        let block = one(&mut writer, |traffic, changes| traffic.reserve(10, changes));
        assert_eq!(block, Ok(Ok(Block { epoch: 0, first: life * 10 + 1, last: life * 10 + 10 })));
        let desk = Desk::default();
        desk.close();
        crash(&mut world, writer.run(&desk));
    }
}

#[test]
fn d17_a_store_that_was_recovered_begins_a_new_life_as_a_sender() {
    let mut world = World::new();
    world.finish_one();
    let mut writer = writer(&mut world);
    one(&mut writer, |traffic, changes| traffic.reserve(70, changes)).unwrap().unwrap();
    one(&mut writer, |traffic, changes| traffic.admit(&numbered(4), changes)).unwrap().unwrap();
    drop(writer);
    let (store, _) = SqliteStore::recover(world.root().folder(), &Options::default()).unwrap();
    let kept = store.reader().unwrap().traffic().unwrap();
    assert!(kept.sender.epoch > 1_700_000_000_000, "the time: {:?}", kept.sender);
    assert_eq!((kept.sender.reserved, kept.nonces.len()), (0, 1), "and what came in is not forgotten");
}

#[test]
fn d15_what_a_driver_committed_with_its_ops_is_known_here() {
    let mut world = World::new();
    world.author.submit(&Graph::single());
    let mut batch = world.author.take();
    Traffic::new(Limits::default()).admit(&numbered(1), &mut batch.traffic).unwrap();
    world.store().commit(&batch).unwrap();
    let mut writer = writer(&mut world);
    let steps: [Step<Result<(), Refusal>>; 2] = [
        |traffic, changes| traffic.admit(&numbered(1), changes),
        |traffic, changes| traffic.admit(&arrived(2, 0, 1, 1), changes),
    ];
    assert_eq!(group(&mut writer, steps), [Ok(Err(Refusal::Replay)), Ok(Ok(()))]);
    assert_eq!(world.reader().head().unwrap(), batch.head, "traffic alone moves no head");
}

#[test]
fn d15_an_effect_whose_commit_fails_leaves_its_envelope_to_come_again() {
    for (statement, code) in [("WRITE", ffi::SQLITE_FULL), ("COMMIT", ffi::SQLITE_FULL)] {
        let mut world = World::new();
        world.author.submit(&Graph::single());
        let mut batch = world.author.take();
        Traffic::new(Limits::default()).admit(&numbered(1), &mut batch.traffic).unwrap();
        world.store().faults.arm(statement, code);
        assert!(matches!(world.store().commit(&batch), Err(Error::Full { .. })));
        let mut reader = world.reader();
        assert_eq!((reader.counts().unwrap().0, reader.traffic().unwrap().nonces.len()), (0, 0));
        world.store().commit(&batch).unwrap();
        assert_eq!((reader.counts().unwrap().0, reader.traffic().unwrap().nonces.len()), (1, 1));
    }
}

#[test]
fn whoever_does_not_wait_any_more_has_changed_nothing() {
    let mut world = World::new();
    let mut writer = writer(&mut world);
    let (call, answer) = ask(|traffic, changes| traffic.admit(&numbered(1), changes));
    drop(answer);
    writer.serve(&mut [call]);
    assert_eq!(one(&mut writer, |traffic, changes| traffic.admit(&numbered(1), changes)), Ok(Ok(())));
}

#[test]
fn a_writer_that_ends_leaves_nobody_waiting() {
    let mut world = World::new();
    let store = SqliteMeshStore::start(world.store.take().unwrap(), Limits::default()).unwrap();
    let broken = wait(store.step(|_, _| -> () { panic!("a bug in a rule") }));
    assert!(matches!(broken, Err(Error::Poisoned { .. })), "{broken:?}");
    let later = wait(store.step(|traffic, _| traffic.sender()));
    assert!(matches!(later, Err(Error::Poisoned { .. })), "{later:?}");
    assert!(matches!(store.stop(), Err(Error::Poisoned { .. })));
    drop(world.open().unwrap());
}

#[test]
fn what_waits_is_dealt_with_before_the_end_and_the_writer_is_given_back() {
    let mut world = World::new();
    let store = SqliteMeshStore::start(world.store.take().unwrap(), Limits::default()).unwrap();
    let (call, answer) = ask(|traffic, changes| traffic.enqueue(item(), changes));
    store.desk.leave(call);
    let mut store = store.stop().unwrap();
    assert_eq!(ready(answer), Ok(Ok(OutboxId(1))));
    let head = store.head().clone();
    store.commit(&Batch::new(head)).unwrap();
}

#[test]
fn bent_rows_are_found_when_they_are_read() {
    for (sql, said) in [
        ("UPDATE mesh_marks SET sequence = 1", "the mark of"),
        ("UPDATE mesh_own SET reserved = 1", "the numbers of this node"),
        ("UPDATE mesh_own SET sum = NULL", "the numbers of this node"),
        ("DELETE FROM mesh_own", "the numbers of this node"),
        ("UPDATE mesh_outbox SET message = x'00'", "what waits in the outbox as 1"),
        ("UPDATE mesh_outbox SET peer = zeroblob(32)", "what waits in the outbox as 1"),
        ("UPDATE mesh_outbox SET peer = zeroblob(31)", "cannot read the traffic"),
        ("DELETE FROM mesh_marks", "a sender without a mark"),
    ] {
        let mut world = World::new();
        let mut writer = writer(&mut world);
        let steps: [Step<bool>; 3] = [
            |traffic, changes| traffic.admit(&numbered(5), changes).is_ok(),
            |traffic, changes| traffic.reserve(10, changes).is_ok(),
            |traffic, changes| traffic.enqueue(item(), changes).is_ok(),
        ];
        assert_eq!(group(&mut writer, steps), [Ok(true), Ok(true), Ok(true)]);
        drop(writer);
        Connection::open(world.root().database()).unwrap().execute_batch(sql).unwrap();
        let found = SqliteMeshStore::start(world.open().unwrap(), Limits::default()).map(drop);
        assert!(matches!(&found, Err(Error::Damaged { detail }) if detail.contains(said)), "{sql}: {found:?}");
    }
}
