//! Making a root out of a backup.
//!
//! Everything is copied, and the copy is checked, before the folder gets its name. The new root has the same node and a new origin epoch:
//! what the first life wrote after the backup is known to others, and a second op in the same place of the same chain would make two
//! histories out of one. The epoch is the time in seconds, so two restores of one backup, such as a drill and the real one, differ as well.

use super::{
    Manifest, Staging, failed,
    make::check,
    manifest::{self, no_backup},
};
use crate::{
    error::{Code, Error},
    progress::Progress,
    time,
};
use relaymesh_runtime::root_clock;
use relaymesh_store::Reader as _;
use relaymesh_store_sqlite::{Options, Root, SqliteReader, SqliteStore};
use std::{fs, io, path::Path};

/// What was made.
pub(crate) struct Restored {
    pub(crate) manifest: Manifest,
    /// The epoch that begins.
    pub(crate) origin_epoch: u32,
}

/// Makes the root `target`, which is absent or empty, out of the backup in `source`.
pub(crate) fn restore(source: &Path, target: &Path) -> Result<Restored, Error> {
    let manifest = Manifest::read(source)?;
    refuse_used(target)?;
    let staging = Staging::begin(target)?;
    match fill(source, &manifest, &staging) {
        Ok(origin_epoch) => staging.finish().map(|()| Restored { manifest, origin_epoch }),
        Err(error) => {
            staging.abandon();
            Err(error)
        }
    }
}

/// A root is never overwritten, not even a damaged one.
fn refuse_used(target: &Path) -> Result<(), Error> {
    match fs::read_dir(target).map(|mut entries| entries.next().is_none()) {
        Ok(true) => Ok(()),
        Ok(false) => {
            let message = format!("{} is not empty; a restore never overwrites anything", target.display());
            Err(Error::new(Code::Refused, message).hint("name a folder that does not exist yet, with `--root DIR`"))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(failed("look into", target, &error)),
    }
}

fn fill(source: &Path, manifest: &Manifest, staging: &Staging) -> Result<u32, Error> {
    let folder = staging.folder();
    let damaged = |error: Error| if error.code == Code::Damaged { no_backup(source, &error.message) } else { error };
    for name in manifest.files.keys() {
        copy(&source.join(name), &folder.join(name)).map_err(|error| gone(source, name, &error))?;
    }
    manifest.check(folder).map_err(|why| no_backup(source, &why))?;
    // A backup of an older relaymesh is brought up to date by this, too.
    let seconds = u32::try_from(time::now_ms() / 1000).unwrap_or(0);
    let adopted = SqliteStore::adopt(folder, seconds, &Options::default()).map_err(Error::from);
    let (store, recovery) = adopted.map_err(damaged)?;
    store.close()?;
    copy_blobs(source, manifest, folder)?;
    let tasks = check(folder).map_err(damaged)?;
    let head = SqliteReader::open(folder)?.head()?;
    let (found, said) = ((head.chain.origin, head.pos, tasks), (manifest.node, manifest.pos, manifest.tasks));
    if found != said {
        return Err(no_backup(
            source,
            &format!("{} has (node, ops, tasks) {said:?}, but the store has {found:?}", manifest::FILE),
        ));
    }
    // Stamps go on from today; ages from the newest op, so that what was brought back is not deleted at the first start.
    let newest_ms = head.hlc().map_or(0, |hlc| hlc.wall_ms);
    root_clock::restored(folder, newest_ms).map_err(|error| failed("write", &folder.join(root_clock::FILE), &error))?;
    Ok(recovery.origin_epoch)
}

/// Blobs are checked with the rows that name them; one that is too many is left behind.
fn copy_blobs(source: &Path, manifest: &Manifest, folder: &Path) -> Result<(), Error> {
    let names = SqliteReader::open(folder)?.blob_names()?.missing;
    let (from, into) = (source.join(Root::BLOBS), folder.join(Root::BLOBS));
    if names.len() as u64 != manifest.blobs {
        let why = format!("{} lists {} blobs, but the store needs {}", manifest::FILE, manifest.blobs, names.len());
        return Err(no_backup(source, &why));
    }
    if names.is_empty() {
        return Ok(());
    }
    let mut made = fs::DirBuilder::new();
    std::os::unix::fs::DirBuilderExt::mode(&mut made, 0o700);
    made.create(&into).map_err(|error| failed("make", &into, &error))?;
    let mut progress = Progress::new("copied blobs:", manifest.blobs);
    for (done, hash) in (1..).zip(names) {
        let name = hash.to_string();
        copy(&from.join(&name), &into.join(&name)).map_err(|error| gone(source, &name, &error))?;
        progress.tell(done);
    }
    let synced = fs::File::open(&into).and_then(|folder| folder.sync_all());
    synced.map_err(|error| failed("sync", &into, &error))
}

fn gone(source: &Path, name: &str, error: &io::Error) -> Error {
    if error.kind() == io::ErrorKind::NotFound {
        return no_backup(source, &format!("{name} is missing"));
    }
    failed("copy", &source.join(name), error)
}

/// A copy for its owner alone, synced.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let mut source = fs::File::open(from)?;
    let mut target = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(to)?;
    io::copy(&mut source, &mut target)?;
    target.sync_all()
}
