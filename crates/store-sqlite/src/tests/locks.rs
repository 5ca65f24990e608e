//! One process per root, and nobody else's eyes.

use super::World;
use crate::{Options, SqliteStore};
use relaymesh_core::id::NodeId;
use relaymesh_store::{Error, Reader};
use std::{
    fs::{self, Permissions},
    os::unix::fs::{MetadataExt, PermissionsExt},
};

#[test]
fn a_second_open_is_refused_with_the_name_of_the_first() {
    let mut world = World::new();
    let Err(Error::InUse { detail }) = world.open() else { panic!("the root is in use") };
    assert!(detail.contains(&format!("the process {} is using the root", std::process::id())), "{detail}");
    world.close();
    assert!(world.root().lock().exists(), "the lock is never deleted");
    world.open().unwrap();
}

#[test]
fn a_reader_needs_no_lock() {
    let mut world = World::new();
    let mut reader = world.reader();
    world.finish_one();
    assert_eq!(reader.head().unwrap(), world.store().head().clone());
    assert_eq!(reader.counts().unwrap(), (1, 1));
}

#[test]
fn a_store_is_not_made_twice() {
    let mut world = World::new();
    world.close();
    let again = SqliteStore::create(world.root().folder(), NodeId::new(1, 1), &Options::default());
    assert!(matches!(again, Err(Error::Conflict { .. })));
}

#[test]
fn a_store_that_was_half_made_is_made_anew() {
    let mut world = World::new();
    world.close();
    fs::rename(world.root().database(), world.root().database_new()).unwrap();
    assert!(matches!(world.open(), Err(Error::Io { .. })));
    SqliteStore::create(world.root().folder(), NodeId::new(1, 1), &Options::default()).unwrap();
    assert!(!world.root().database_new().exists());
}

#[test]
fn an_empty_folder_is_no_store() {
    let folder = tempfile::tempdir().unwrap();
    assert!(matches!(SqliteStore::open(folder.path(), &Options::default()), Err(Error::Io { .. })));
    assert!(matches!(crate::SqliteReader::open(folder.path()), Err(Error::Io { .. })));
    let missing = folder.path().join("missing");
    assert!(matches!(SqliteStore::open(&missing, &Options::default()), Err(Error::Io { .. })));
}

#[test]
fn everything_is_for_its_owner_alone() {
    let mut world = World::new();
    world.finish_one();
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().mode() & 0o7777;
    assert_eq!(mode(world.root().folder()), 0o700);
    let there: Vec<_> = world.root().files().into_iter().filter(|file| file.exists()).collect();
    assert_eq!(there.len(), 5, "{there:?}");
    there.iter().for_each(|file| assert_eq!(mode(file), 0o600, "{}", file.display()));

    world.close();
    fs::set_permissions(world.root().folder(), Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(world.root().database(), Permissions::from_mode(0o644)).unwrap();
    drop(world.open().unwrap());
    assert_eq!((mode(world.root().folder()), mode(&world.root().database())), (0o700, 0o600));
}

#[test]
fn a_link_in_the_place_of_a_file_is_refused() {
    let mut world = World::new();
    world.close();
    let elsewhere = world.folder.path().join("elsewhere");
    fs::rename(world.root().database(), &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, world.root().database()).unwrap();
    assert!(matches!(world.open(), Err(Error::Unusable { .. })));
}
