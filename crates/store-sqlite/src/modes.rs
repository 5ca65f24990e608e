//! Modes: what lies in a root is for its owner alone. Results and prompts are private.

use crate::{Root, failure};
use relaymesh_store::Error;
use std::{
    fs::{DirBuilder, File, Permissions},
    io::ErrorKind,
    os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt},
    path::Path,
};

const FOLDER_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;

/// Makes the folder, or takes one that is there and ours.
pub(crate) fn make_folder(root: &Root) -> Result<(), Error> {
    let folder = root.folder();
    DirBuilder::new()
        .recursive(true)
        .mode(FOLDER_MODE)
        .create(folder)
        .map_err(|error| failure::io("cannot create the root", folder, &error))?;
    enforce(root)
}

/// Makes a folder in the root, or takes one that is there and ours.
pub(crate) fn make_subfolder(folder: &Path) -> Result<(), Error> {
    match DirBuilder::new().mode(FOLDER_MODE).create(folder) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        Err(error) => return Err(failure::io("cannot make", folder, &error)),
    }
    one(folder, FOLDER_MODE)
}

/// Sees to it that the folder and every file in it have the right mode. What is not ours to change stops the open.
pub(crate) fn enforce(root: &Root) -> Result<(), Error> {
    one(root.folder(), FOLDER_MODE)?;
    root.files().iter().try_for_each(|file| one(file, FILE_MODE))
}

/// A new file with the right mode.
pub(crate) fn new_file(path: &Path) -> Result<File, Error> {
    use std::os::unix::fs::OpenOptionsExt;
    let mut options = std::fs::OpenOptions::new();
    options.read(true).write(true).create(true).truncate(true).mode(FILE_MODE);
    options.open(path).map_err(|error| failure::io("cannot make", path, &error))
}

/// Makes the names in the folder durable.
pub(crate) fn sync_folder(root: &Root) -> Result<(), Error> {
    let folder = root.folder();
    File::open(folder)
        .and_then(|file| file.sync_all())
        .map_err(|error| failure::io("cannot sync the folder", folder, &error))
}

fn one(path: &Path, wanted: u32) -> Result<(), Error> {
    let found = match std::fs::symlink_metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == ErrorKind::NotFound && wanted == FILE_MODE => return Ok(()),
        Err(error) => return Err(failure::io("cannot look at", path, &error)),
    };
    let (mode, owner, ours) = (found.mode() & 0o7777, found.uid(), rustix::process::geteuid().as_raw());
    if owner != ours {
        return Err(Error::Unusable {
            detail: format!(
                "{} belongs to user {owner}, but this process runs as {ours}: run as that user, or change the owner of the root",
                path.display()
            ),
        });
    }
    let shape = if wanted == FOLDER_MODE { found.is_dir() } else { found.is_file() };
    if !shape {
        let what = if wanted == FOLDER_MODE { "folder" } else { "plain file" };
        return Err(Error::Unusable { detail: format!("{} is not a {what}: move it away", path.display()) });
    }
    if mode == wanted {
        return Ok(());
    }
    std::fs::set_permissions(path, Permissions::from_mode(wanted)).map_err(|error| Error::Unusable {
        detail: format!(
            "{} has mode {mode:o} instead of {wanted:o}, and it cannot be changed: {error}",
            path.display()
        ),
    })
}
