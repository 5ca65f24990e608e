//! Tokens: what whoever is not at the local socket must show (R22).
//!
//! ```text
//! agent-token.json   the registration token: an agent that connects by itself shows it, and gets a token of its own
//! tokens.json        tokens with names: what each may do, in which namespaces, until when
//! http-token         the first of them in the clear, for whoever may enter the root
//! ```
//!
//! Files keep hashes, never tokens: whoever reads them can show nothing. A token is 256 random bits, so its hash needs no salt and no
//! slowness; it is compared in constant time with every hash there is. While a token is changed for another one both are good for a
//! time ([`Pair`]), so that nobody has to be told at the same moment.

mod bound;
mod named;
mod pair;

#[cfg(test)]
mod tests;

pub use bound::{AttemptTokens, Bound};
pub use named::{AGENT_PREFIX, FIRST_FILE, FIRST_NAME, Found, Grant, NAMED_FILE, Named, Scope, Tokens};
pub use pair::{FILE, Kept, PREFIX, Pair};

use std::{
    fs::{File, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
};

/// Writes a file of the root that only its owner reads, all at once. It is durable when this returns.
fn put(root: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    let path = root.join(name);
    let new = path.with_added_extension("new");
    let mut file = OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(&new)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    std::fs::rename(&new, &path)?;
    File::open(root)?.sync_all()
}

/// Reads a file of the root; `None` when there is none.
fn read(root: &Path, name: &str) -> io::Result<Option<Vec<u8>>> {
    match std::fs::read(root.join(name)) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// A token as its owner sees it.
fn spell(prefix: &str, random: [u8; 32]) -> String {
    let digits: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{prefix}{digits}")
}
