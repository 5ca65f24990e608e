//! Where a root's daemon can be reached: a small file in the root.

use serde::{Deserialize, Serialize};
use std::{
    fs,
    io::{self, Write as _},
    os::unix::{ffi::OsStrExt as _, fs::OpenOptionsExt as _},
    path::{Path, PathBuf},
};

/// The file's name in the root.
const FILE: &str = "daemon.json";
const SOCKET: &str = "daemon.sock";

/// The longest path that a socket address holds, on any system we know.
const SOCKET_PATH_BYTES_MAX: usize = 100;

/// Where the daemon of a root can be reached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Endpoint {
    /// The daemon's process.
    pub pid: u32,
    /// Its program.
    pub version: String,
    /// Its socket.
    pub socket: PathBuf,
    /// Where its HTTP API is reached, if there is one.
    #[serde(default)]
    pub http: Option<String>,
}

impl Endpoint {
    /// What the root's file says. `None`: there is none, or it is half written, and either way no daemon is ready.
    pub fn read(root: &Path) -> io::Result<Option<Self>> {
        match fs::read(root.join(FILE)) {
            Ok(bytes) => Ok(serde_json::from_slice(&bytes).ok()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Says so in the root, all at once.
    pub fn write(&self, root: &Path) -> io::Result<()> {
        let new = root.join(format!("{FILE}.new"));
        match fs::remove_file(&new) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {} // what a killed daemon left may be open to others
        }
        let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new)?;
        file.write_all(&serde_json::to_vec_pretty(self)?)?;
        fs::rename(&new, root.join(FILE))
    }

    /// The daemon is gone. Only the one that holds the root may say so.
    pub fn remove(root: &Path, socket: &Path) -> io::Result<()> {
        for path in [&root.join(FILE), socket] {
            match fs::remove_file(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                Ok(()) | Err(_) => {}
            }
        }
        Ok(())
    }

    /// Where the root's socket belongs: in the root, unless its path is too long for an address; then in a folder of our own
    /// among the temporary files.
    pub fn socket(root: &Path, node: &str) -> io::Result<PathBuf> {
        let inside = std::path::absolute(root)?.join(SOCKET);
        if inside.as_os_str().as_bytes().len() <= SOCKET_PATH_BYTES_MAX {
            return Ok(inside);
        }
        let folder = std::env::temp_dir().join(format!("relaymesh-{node}"));
        let mut made = fs::DirBuilder::new();
        std::os::unix::fs::DirBuilderExt::mode(&mut made, 0o700);
        match made.create(&folder) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            Ok(()) | Err(_) => Ok(folder.join(SOCKET)),
        }
    }
}
