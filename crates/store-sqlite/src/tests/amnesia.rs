//! A store that has forgotten something says so, whatever made it forget (D3).

use super::World;
use crate::{Options, SqliteReader, SqliteStore};
use relaymesh_core::op::Chain;
use relaymesh_store::{Error, Reader, Store, contract::author::Author};
use std::fs;

fn amnesia(found: Result<SqliteStore, Error>) -> String {
    match found {
        Err(Error::Amnesia { detail }) => detail,
        Err(other) => panic!("expected amnesia, found {other:?}"),
        Ok(_) => panic!("expected amnesia, and it opened"),
    }
}

/// A world whose database is from two tasks ago.
fn with_an_older_copy() -> (World, u64) {
    let mut world = World::new();
    world.finish_one();
    world.close();
    let copy = fs::read(world.root().database()).unwrap();
    let known = world.reader().head().unwrap().pos;
    world.store = Some(world.open().unwrap());
    world.finish_one();
    world.finish_one();
    world.close();
    fs::write(world.root().database(), copy).unwrap();
    (world, known)
}

#[test]
fn an_older_copy_put_back_is_amnesia() {
    let (world, known) = with_an_older_copy();
    let detail = amnesia(world.open());
    assert!(detail.contains(&format!("ends at op {known}, but 9 were acknowledged")), "{detail}");
    assert!(detail.contains("relaymesh log recover"), "{detail}");
    // It stays so however often one asks, and can still be read.
    amnesia(world.open());
    assert_eq!(SqliteReader::open(world.root().folder()).unwrap().head().unwrap().pos, known);
}

#[test]
fn recovery_accepts_the_loss_and_begins_a_new_epoch() {
    let (world, known) = with_an_older_copy();
    let (mut store, recovery) = SqliteStore::recover(world.root().folder(), &Options::default()).unwrap();
    assert_eq!((recovery.store_pos, recovery.acknowledged_pos), (known, Some(9)));
    assert_eq!((recovery.lost, recovery.origin_epoch), (Some(known + 1..=9), 2));
    let head = store.head().clone();
    assert_eq!(head.chain.head, Chain::new(head.chain.origin, 2).head);
    let mut author = Author::resume(&mut store.reader().unwrap());
    author.submit(&relaymesh_store::contract::graph::Graph::single());
    store.commit(&author.take()).unwrap();
    drop(store);
    let store = world.open().unwrap();
    assert_eq!((store.head().pos, store.head().chain.origin_epoch, store.head().chain.seq), (known + 1, 2, 1));
}

#[test]
fn an_older_copy_from_before_a_recovery_is_amnesia_too() {
    let (world, _) = with_an_older_copy();
    let copy = fs::read(world.root().database()).unwrap();
    drop(SqliteStore::recover(world.root().folder(), &Options::default()).unwrap());
    fs::write(world.root().database(), copy).unwrap();
    let detail = amnesia(world.open());
    assert!(detail.contains("epoch 2 was started"), "{detail}");
    let (_, recovery) = SqliteStore::recover(world.root().folder(), &Options::default()).unwrap();
    assert_eq!(recovery.origin_epoch, 3);
}

#[test]
fn another_history_of_the_same_length_is_amnesia() {
    let (mut world, _) = with_an_older_copy();
    let sidecar = fs::read(world.root().head()).unwrap();
    drop(SqliteStore::recover(world.root().folder(), &Options::default()).unwrap());
    world.store = Some(world.open().unwrap());
    world.author = Author::resume(&mut world.reader());
    (0..3).for_each(|_| _ = world.finish_one());
    world.close();
    fs::write(world.root().head(), sidecar).unwrap();
    let detail = amnesia(world.open());
    assert!(detail.contains("op 9 was acknowledged with hash"), "{detail}");
}

#[test]
fn a_flipped_bit_in_the_write_ahead_log_is_amnesia_or_nothing() {
    let mut world = World::new();
    (0..4).for_each(|_| _ = world.finish_one());
    let whole = world.reader().head().unwrap();
    world.crash();
    let wal = fs::read(world.root().wal()).unwrap();
    assert!(wal.len() > 20_000, "the log is still there: {}", wal.len());
    let mut forgot = 0;
    for at in (40..wal.len()).step_by(wal.len() / 60) {
        let mut bent = wal.clone();
        bent[at] ^= 0x10;
        fs::write(world.root().wal(), &bent).unwrap();
        let _ = fs::remove_file(world.root().shm());
        match world.open() {
            Ok(store) => {
                assert_eq!(store.head(), &whole, "byte {at}");
                store.poison.set("leave the log for the next round");
            }
            Err(Error::Amnesia { .. }) => forgot += 1,
            Err(other) => panic!("byte {at}: {other:?}"),
        }
        assert_eq!(fs::read(world.root().wal()).unwrap().len(), bent.len(), "the evidence stays");
    }
    assert!(forgot > 30, "most bits matter: {forgot}");
}

#[test]
fn recovery_keeps_the_damaged_log_aside() {
    let mut world = World::new();
    world.finish_one();
    world.finish_one();
    world.crash();
    let mut bent = fs::read(world.root().wal()).unwrap();
    let middle = bent.len() / 2;
    bent[middle] ^= 1;
    fs::write(world.root().wal(), &bent).unwrap();
    fs::remove_file(world.root().shm()).unwrap();
    amnesia(world.open());
    let (_, recovery) = SqliteStore::recover(world.root().folder(), &Options::default()).unwrap();
    assert_eq!(fs::read(recovery.kept_wal.unwrap()).unwrap(), bent);
}

#[test]
fn a_database_that_is_gone_is_amnesia_also_for_create() {
    let mut world = World::new();
    world.finish_one();
    world.close();
    fs::remove_file(world.root().database()).unwrap();
    assert!(amnesia(world.open()).contains("is missing"));
    let node = relaymesh_core::id::NodeId::new(1, 1);
    amnesia(SqliteStore::create(world.root().folder(), node, &Options::default()));
}

#[test]
fn a_store_ahead_of_its_sidecar_is_fine() {
    let mut world = World::new();
    world.finish_one();
    let sidecar = fs::read(world.root().head()).unwrap();
    world.finish_one();
    world.close();
    fs::write(world.root().head(), &sidecar).unwrap();
    drop(world.open().unwrap());
    assert_ne!(fs::read(world.root().head()).unwrap(), sidecar, "the sidecar has caught up");
}

#[test]
fn without_a_sidecar_nobody_can_tell() {
    let mut world = World::new();
    world.finish_one();
    world.close();
    fs::remove_file(world.root().head()).unwrap();
    let Err(Error::Damaged { detail }) = world.open() else { panic!("the sidecar is missing") };
    assert!(detail.contains("relaymesh log recover"), "{detail}");
    let (store, recovery) = SqliteStore::recover(world.root().folder(), &Options::default()).unwrap();
    assert_eq!((recovery.acknowledged_pos, recovery.lost, recovery.origin_epoch), (None, None, 2));
    drop(store);
    world.open().unwrap();
}

#[test]
fn one_bad_slot_is_survived_and_two_are_not() {
    let mut world = World::new();
    world.finish_one();
    world.close();
    let whole = fs::read(world.root().head()).unwrap();
    for slot in [0, 4096] {
        let mut bent = whole.clone();
        bent[slot + 50] ^= 1;
        fs::write(world.root().head(), &bent).unwrap();
        drop(world.open().unwrap());
    }
    let mut bent = whole.clone();
    (bent[50], bent[4096 + 50]) = (!bent[50], !bent[4096 + 50]);
    fs::write(world.root().head(), &bent).unwrap();
    assert!(matches!(world.open(), Err(Error::Damaged { .. })));
}
