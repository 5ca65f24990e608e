//! Making a backup while the daemon runs.

use super::{
    FILES, KEY, Manifest, Staging, failed,
    manifest::{self, Listed},
};
use crate::{
    commands::log::found,
    error::{Code, Error},
    progress::Progress,
    root, time,
};
use relaymesh_store::{Reader as _, verify};
use relaymesh_store_sqlite::{Root, SqliteReader, backup::Stage};
use std::{fs, io, path::Path};

/// Makes a backup of `root` in the folder `target`, which is not there yet. Whether the key of the secrets goes with it the caller says.
pub(crate) fn make(root: &Path, target: &Path, with_key: bool) -> Result<Manifest, Error> {
    root::there(root)?;
    if fs::symlink_metadata(target).is_ok() {
        let message = format!("{} already exists; a backup never overwrites anything", target.display());
        return Err(Error::new(Code::Refused, message).hint("name a folder that does not exist yet"));
    }
    let mut reader = SqliteReader::open(root)?;
    // A copy of a store that has forgotten something would pass for the whole.
    reader.remembers(root)?;
    let staging = Staging::begin(target)?;
    match fill(root, &mut reader, &staging, with_key) {
        Ok(manifest) => staging.finish().map(|()| manifest),
        Err(error) => {
            staging.abandon();
            Err(error)
        }
    }
}

fn fill(root: &Path, reader: &mut SqliteReader, staging: &Staging, with_key: bool) -> Result<Manifest, Error> {
    let (mut pages, mut blobs) = (Progress::new("copied pages:", 0), Progress::new("copied blobs:", 0));
    let copied = reader.copy_to(staging.folder(), &mut |stage| match stage {
        Stage::Pages(done, all) => pages.tell_of(done, all),
        Stage::Blobs(done, all) => blobs.tell_of(done, all),
    })?;
    let mut has_key = false;
    for name in FILES.into_iter().chain(with_key.then_some(KEY)) {
        let path = root.join(name);
        match fs::read(&path) {
            Ok(bytes) => {
                staging.put(name, &bytes)?;
                has_key |= name == KEY;
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(failed("read", &path, &error)),
        }
    }
    let tasks = check(staging.folder())?;
    let mut files = std::collections::BTreeMap::new();
    for name in FILES.into_iter().chain([KEY, Root::DATABASE]) {
        let path = staging.folder().join(name);
        match Listed::of(&path) {
            Ok(listed) => drop(files.insert(name.to_owned(), listed)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(failed("read", &path, &error)),
        }
    }
    let manifest = Manifest {
        format: Manifest::FORMAT,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        made_at: time::rfc3339(time::now_ms()),
        node: copied.head.chain.origin,
        origin_epoch: copied.head.chain.origin_epoch,
        pos: copied.head.pos,
        state_hash: format!("{:032x}", copied.head.state.0),
        tasks,
        blobs: copied.blobs.0,
        blob_bytes: copied.blobs.1,
        has_key,
        files,
    };
    let text = serde_json::to_vec_pretty(&manifest).map_err(|error| Error::new(Code::Internal, error.to_string()))?;
    staging.put(manifest::FILE, &text)?;
    Ok(manifest)
}

/// Reads every op, row and blob of a copy: it is a backup only if all of it is as it was written. Says how many tasks there are.
pub(super) fn check(folder: &Path) -> Result<u64, Error> {
    let mut reader = SqliteReader::open(folder)?;
    let mut progress = Progress::new("checked ops:", reader.head()?.pos);
    verify::chain(&mut reader, verify::Checked::default(), &mut |pos| progress.tell(pos)).map_err(found)?;
    let mut progress = Progress::new("checked tasks:", reader.counts()?.0);
    let checked = verify::rows(&mut reader, &mut |tasks| progress.tell(tasks)).map_err(found)?;
    drop(reader);
    let copy = Root::new(folder);
    for left in [copy.wal(), copy.shm()] {
        // The files that a reader leaves next to a database without a writer are empty.
        match fs::remove_file(&left) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed("remove", &left, &error)),
            Ok(()) | Err(_) => {}
        }
    }
    Ok(checked.tasks)
}
