//! `backup.json`: what a backup has, so that a restore can tell whether it still has it.

use super::failed;
use crate::{
    error::{Code, Error},
    output,
};
use relaymesh_core::{hash::Hash, id::NodeId};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, Read as _},
    path::Path,
};

/// The file's name in a backup.
pub(super) const FILE: &str = "backup.json";
/// Grows with every change that an older program would not understand.
const FORMAT: u32 = 1;
/// What is wrong may repeat what was found.
const WHY_CHARS_MAX: usize = 400;
/// The maximum length of a manifest, in case the file is something else.
const BYTES_MAX: u64 = 1 << 20;

/// What a backup has. Blobs are not listed: their names are their hashes, and the database names them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Manifest {
    pub(crate) format: u32,
    /// The program that made it.
    pub(crate) version: String,
    pub(crate) made_at: String,
    pub(crate) node: NodeId,
    pub(crate) origin_epoch: u32,
    /// The newest op.
    pub(crate) pos: u64,
    pub(crate) state_hash: String,
    pub(crate) tasks: u64,
    pub(crate) blobs: u64,
    pub(crate) blob_bytes: u64,
    /// Whether the key of the secrets is among the files.
    pub(crate) has_key: bool,
    pub(crate) files: BTreeMap<String, Listed>,
}

/// A file of a backup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Listed {
    pub(crate) bytes: u64,
    pub(crate) sha256: Hash,
}

impl Manifest {
    /// The number of the form that is written.
    pub(super) const FORMAT: u32 = FORMAT;

    /// What the backup in this folder says that it has.
    pub(super) fn read(folder: &Path) -> Result<Self, Error> {
        let path = folder.join(FILE);
        let text = match fs::metadata(&path) {
            Ok(found) if found.len() > BYTES_MAX => {
                return Err(no_backup(folder, &format!("{FILE} has {} bytes", found.len())));
            }
            Ok(_) => fs::read(&path).map_err(|error| failed("read", &path, &error))?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let message = format!("{} is not a backup: it has no {FILE}", folder.display());
                return Err(Error::new(Code::NoFile, message).hint("make one with `relaymesh backup FOLDER`"));
            }
            Err(error) => return Err(failed("read", &path, &error)),
        };
        Self::parse(&text, folder)
    }

    /// The manifest in these bytes, which were found in this folder.
    pub(crate) fn parse(text: &[u8], folder: &Path) -> Result<Self, Error> {
        // The number first: a later form may have other fields.
        #[derive(Deserialize)]
        struct Form {
            format: u32,
        }
        let form: Form = serde_json::from_slice(text).map_err(|error| no_backup(folder, &error.to_string()))?;
        if form.format != FORMAT {
            let message = format!("the backup has format {} and this program reads format {FORMAT}", form.format);
            return Err(
                Error::new(Code::Unusable, message).hint("use the version of relaymesh that made it, or a newer one")
            );
        }
        let manifest: Self = serde_json::from_slice(text).map_err(|error| no_backup(folder, &error.to_string()))?;
        match manifest.files.keys().find(|name| name.is_empty() || name.contains('/') || name.starts_with('.')) {
            Some(name) => Err(no_backup(folder, &format!("`{name}` is not a valid file name in a backup"))),
            None => Ok(manifest),
        }
    }

    /// Checks that every listed file is as it was written; says what is not.
    pub(super) fn check(&self, folder: &Path) -> Result<(), String> {
        for (name, listed) in &self.files {
            match Listed::of(&folder.join(name)) {
                Ok(found) if found == *listed => {}
                Ok(_) => return Err(format!("{name} is damaged")),
                Err(error) => return Err(format!("{name} cannot be read: {error}")),
            }
        }
        Ok(())
    }
}

impl Listed {
    /// The file as it is now.
    pub(super) fn of(path: &Path) -> io::Result<Self> {
        let mut file = File::open(path)?;
        let (mut hasher, mut bytes, mut buffer) = (Sha256::new(), 0, vec![0; 1 << 20]);
        loop {
            match file.read(&mut buffer)? {
                0 => return Ok(Self { bytes, sha256: Hash(hasher.finalize().into()) }),
                read => {
                    hasher.update(&buffer[..read]);
                    bytes += read as u64;
                }
            }
        }
    }
}

/// It is damaged, or was never a backup.
pub(super) fn no_backup(folder: &Path, why: &str) -> Error {
    let message = format!("the backup in {} cannot be used: {}", folder.display(), output::short(why, WHY_CHARS_MAX));
    Error { hints: vec!["use another backup; nothing was restored".to_owned()], ..Error::new(Code::Damaged, message) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_manifest_is_refused_with_a_reason() {
        let rig = tempfile::tempdir().unwrap();
        let read = |text: &str| {
            fs::write(rig.path().join(FILE), text).unwrap();
            Manifest::read(rig.path()).unwrap_err()
        };
        assert_eq!(Manifest::read(rig.path()).unwrap_err().code, Code::NoFile);
        assert_eq!(read("").code, Code::Damaged);
        assert_eq!(read("{\"format\": 1}").code, Code::Damaged);
        assert_eq!(read("{\"format\": 9, \"later\": true}").code, Code::Unusable);
        let outside = include_str!("../../../../fuzz/corpus/backup/climbs-out");
        assert!(read(outside).message.contains("is not a valid file name"), "nothing is read from elsewhere");
        assert_eq!(read(&" ".repeat(2 << 20)).code, Code::Damaged);
    }
}
