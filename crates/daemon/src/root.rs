//! The root: find it, open it for reading or writing, make it.

use crate::text::note;
use relaymesh_api::{
    error::{Code, Error},
    time,
};
use relaymesh_core::id::NodeId;
use relaymesh_runtime::settings::{NORMAL, Settings};
use relaymesh_store::Store as _;
use relaymesh_store_sqlite::{Options, Root, SqliteReader, SqliteStore, Sync};
use std::{io::ErrorKind, os::unix::fs::MetadataExt as _, path::Path};

/// Whether there is a root in this folder.
pub fn exists(folder: &Path) -> bool {
    Root::new(folder).database().exists()
}

/// A root is a folder that we may look into, or will be one. Said once, here, and not by whichever file is not found in it.
pub fn is_folder(root: &Path) -> Result<(), Error> {
    let there = root.ancestors().find_map(|path| Some((path, path.metadata().ok()?)));
    match there {
        Some((path, found)) if !found.is_dir() => {
            let message = format!("the root cannot be {}: {} is not a folder", root.display(), path.display());
            Err(Error::new(Code::Usage, message).hint("name a folder with `--root DIR` or RELAYMESH_ROOT"))
        }
        Some((path, found)) if path == root => match path.read_dir() {
            Err(error) if error.kind() == ErrorKind::PermissionDenied => Err(shut(root, found.uid())),
            Ok(_) | Err(_) => Ok(()),
        },
        Some(_) | None => Ok(()),
    }
}

/// A root of somebody else.
fn shut(root: &Path, owner: u32) -> Error {
    let message = format!("no permission to read {}: it belongs to user {owner}", root.display());
    Error::new(Code::StoreIo, message).hint("run as that user, or name another root with `--root DIR`")
}

/// Makes a root with a fresh node id.
pub fn create(folder: &Path, options: &Options) -> Result<(SqliteStore, NodeId), Error> {
    let node = NodeId::new(time::now_ms(), rand::random());
    Ok((SqliteStore::create(folder, node, options)?, node))
}

/// Opens a root for reading. Works while another process writes to it.
pub fn read(folder: &Path) -> Result<SqliteReader, Error> {
    there(folder)?;
    let mut reader = SqliteReader::open(folder)?;
    if let Err(error) = reader.remembers(folder) {
        note(&format!("warning: this output may be older than what was acknowledged. {error}"));
    }
    Ok(reader)
}

/// Opens a root for writing, and holds its lock.
pub fn open(folder: &Path, options: &Options) -> Result<SqliteStore, Error> {
    there(folder)?;
    Ok(SqliteStore::open(folder, options)?)
}

/// The same; makes the root if there is none, and says so.
pub fn open_or_create(folder: &Path, options: &Options) -> Result<SqliteStore, Error> {
    if exists(folder) {
        return open(folder, options);
    }
    let (store, _) = create(folder, options)?;
    note(&format!("note: created a new root in {}", folder.display()));
    Ok(store)
}

/// What the settings say about the store.
pub fn options(settings: &Settings) -> Options {
    let sync = if settings.synchronous == NORMAL { Sync::Normal } else { Sync::Full };
    Options { sync, min_free_disk_bytes: settings.min_free_disk_bytes, ..Options::default() }
}

/// A reader of a store that is open here.
pub fn reader(store: &SqliteStore) -> Result<SqliteReader, Error> {
    Ok(store.reader()?)
}

/// A folder without a database is no root, unless something is left of one: then the open says what is wrong with it.
pub fn there(folder: &Path) -> Result<(), Error> {
    if exists(folder) || Root::new(folder).head().exists() {
        return Ok(());
    }
    Err(Error::new(Code::NoRoot, format!("there is no root in {}", folder.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The level is set and read back when the store is opened: a mismatch would refuse it.
    #[test]
    fn d1_the_setting_decides_when_a_commit_is_synced() {
        let root = tempfile::tempdir().unwrap();
        let normal = Settings { synchronous: NORMAL.to_owned(), ..Settings::default() };
        assert_eq!(options(&Settings::default()).sync, Sync::Full);
        assert_eq!(options(&normal).sync, Sync::Normal);
        let (store, _) = create(root.path(), &options(&normal)).unwrap();
        store.close().unwrap();
        assert!(open(root.path(), &options(&Settings::default())).is_ok());
    }
}
