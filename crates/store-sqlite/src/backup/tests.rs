//! Copies beside a writer that writes, and purges, meanwhile.

use super::*;
use crate::{Options, SqliteStore, tests::World};
use relaymesh_core::id::TaskId;
use relaymesh_store::{Blobs as _, Content, Reader as _, Store as _, contract::graph::Graph, verify};

/// A task whose input is a blob.
fn submit(world: &mut World, bytes: &[u8]) -> (TaskId, Hash) {
    let blob = world.store().blobs().put(bytes).unwrap();
    let hash = blob.hash;
    let task = world.author.submit(&Graph::single().content(0, Content::Blob(blob)));
    world.commit();
    (task, hash)
}

/// Everything in the copy is as it was written, its blobs included.
fn sound(folder: &Path) -> Head {
    let mut reader = SqliteReader::open(folder).unwrap();
    verify::chain(&mut reader, verify::Checked::default(), &mut |_| {}).unwrap();
    verify::rows(&mut reader, &mut |_| {}).unwrap();
    assert_eq!(reader.blob_names().unwrap().missing, []);
    reader.head().unwrap()
}

#[test]
fn a_copy_is_of_one_moment_while_the_writer_goes_on() {
    let mut world = World::new();
    (0..200).for_each(|_| {
        world.finish_one();
    });
    submit(&mut world, &[7; 9000]);
    let into = world.folder.path().join("copy");
    fs::create_dir(&into).unwrap();
    let before = world.reader().head().unwrap();
    let mut reader = world.reader();
    let mut stages = Vec::new();
    // The writer commits whenever the copy says that it has come on.
    let copied = reader
        .copy_to(&into, &mut |stage| {
            world.finish_one();
            stages.push(stage);
        })
        .unwrap();
    assert_eq!((&copied.head, copied.rounds, copied.blobs), (&before, 1, (1, 9000)));
    assert!(world.reader().head().unwrap().pos > before.pos, "the writer went on");
    assert_eq!(sound(&into), before);
    let pages = stages.iter().filter(|stage| matches!(stage, Stage::Pages(..))).count();
    assert!(pages > 3, "the writer wrote in the middle of it: {stages:?}");
    assert_eq!(stages.last(), Some(&Stage::Blobs(1, 1)));
    assert!(!Root::new(&into).head().exists(), "nobody goes on with a copy as it is");
    assert!(matches!(SqliteStore::open(&into, &Options::default()), Err(Error::Damaged { .. })));
}

/// What is purged between the moment and the copy of its blob: a newer moment is taken, and nothing of the old one is left.
#[test]
fn a_blob_that_is_purged_meanwhile_takes_a_newer_moment() {
    let mut world = World::new();
    let (purged, gone) = submit(&mut world, &[1; 9000]);
    let (_, stays) = submit(&mut world, &[2; 9000]);
    world.author.finish(purged, 0);
    world.commit();
    let into = world.folder.path().join("copy");
    fs::create_dir(&into).unwrap();
    let mut reader = world.reader();
    let mut to_purge = Some(purged);
    let copied = reader
        .copy_to(&into, &mut |stage| {
            if let (Stage::Pages(..), Some(task)) = (stage, to_purge.take()) {
                world.author.purge(task).unwrap();
                world.commit();
                world.author.checkpoint();
                world.commit();
                let mut looks = world.reader();
                world.author.drop_ops(&mut looks, 100);
                world.commit();
                assert!(!world.root().blobs().join(gone.to_string()).exists(), "the purge removes the file");
            }
        })
        .unwrap();
    assert_eq!((copied.rounds, copied.blobs), (2, (1, 9000)));
    assert_eq!(sound(&into), world.reader().head().unwrap());
    assert!(into.join("blobs").join(stays.to_string()).exists());
    assert!(!into.join("blobs").join(gone.to_string()).exists());
}

#[test]
fn a_blob_that_is_lost_or_bent_stops_the_copy() {
    for bent in [false, true] {
        let mut world = World::new();
        let (_, hash) = submit(&mut world, &[3; 9000]);
        let file = world.root().blobs().join(hash.to_string());
        if bent {
            fs::write(&file, b"other").unwrap()
        } else {
            fs::remove_file(&file).unwrap()
        }
        let into = world.folder.path().join("copy");
        fs::create_dir(&into).unwrap();
        let Err(Error::Damaged { detail }) = world.reader().copy_to(&into, &mut |_| {}) else { panic!("it is lost") };
        assert!(detail.contains(&hash.to_string()), "{detail}");
    }
}

/// Two stores out of one copy, and the original: three chains from there on, and none of them is another's.
#[test]
fn a_copy_becomes_a_store_with_an_epoch_of_its_own() {
    let mut world = World::new();
    let task = world.finish_one();
    let mut epochs = Vec::new();
    for (name, epoch_min) in [("a", 7), ("b", 8)] {
        let into = world.folder.path().join(name);
        fs::create_dir(&into).unwrap();
        world.reader().copy_to(&into, &mut |_| {}).unwrap();
        let (store, recovery) = SqliteStore::adopt(&into, epoch_min, &Options::default()).unwrap();
        assert_eq!((recovery.store_pos, recovery.acknowledged_pos, recovery.lost), (3, None, None));
        epochs.push(store.head().chain.origin_epoch);
        assert!(store.reader().unwrap().task(task).unwrap().is_some());
        store.close().unwrap();
        SqliteStore::open(&into, &Options::default()).unwrap().close().unwrap();
    }
    assert_eq!(epochs, [7, 8]);
    assert_eq!(world.store().head().chain.origin_epoch, 1);
}
