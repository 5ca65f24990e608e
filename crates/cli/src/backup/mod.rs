//! Backups: a folder with everything that a root cannot make again.
//!
//! ```text
//!   backup/                        0700; made as backup.new, verified, synced, and then given its name
//!     backup.json                  what is in it, with the hash of every file; written last
//!     relaymesh.db, blobs/<hash>   the store at one moment, without a sidecar
//!     relaymesh-settings.json, settings-history.jsonl, agents.toml, agent-token.json
//!     secrets                      encrypted, as in the root; its key is never here unless somebody asks for it
//! ```
//!
//! A backup is no root: it has no sidecar, so nobody can go on with it under the epoch of the original. A restore makes a root out of a copy
//! of it, with a new origin epoch. What is not in it is said in `docs/how-to/backup.md`: folders of attempts and worktrees, the files of the
//! bus, the daemon's log.
//!
//! Both ways go through a [`Staging`] folder, so a kill at any moment leaves either nothing of that name or all of it.

mod manifest;
mod staging;

pub(crate) mod make;
pub(crate) mod restore;

use crate::error::{Code, Error};
use relaymesh_runtime::{secrets, settings, token};
use std::{io, path::Path};

pub(crate) use manifest::Manifest;
use staging::Staging;

/// The small files of a root that a backup has, if they are there.
const FILES: [&str; 6] = [
    settings::FILE,
    settings::history::FILE,
    relaymesh_agents::config::FILE,
    token::FILE,
    token::NAMED_FILE,
    secrets::FILE,
];

/// Where the key of the secrets is, when it is in the root.
const KEY: &str = secrets::KEY_FILE;

fn failed(what: &str, path: &Path, error: &io::Error) -> Error {
    let code = if error.kind() == io::ErrorKind::StorageFull { Code::DiskFull } else { Code::StoreIo };
    Error::new(code, format!("cannot {what} {}: {error}", path.display()))
}
