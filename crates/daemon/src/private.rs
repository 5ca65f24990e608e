//! The files of a root that nobody else may read, and those that decide who may do what.
//!
//! The root itself is closed to others, but a backup that was unpacked by hand, or a `chmod -R`, opens what is in it. A key that others
//! could read is not a key any more, and only a person can say whether somebody did: so the start is refused. Both checks are made at
//! every start, of a daemon and of a command that works without one.

use relaymesh_api::{
    error::{Code, Error},
    http::CODE_FILE,
};
use relaymesh_runtime::{
    secrets,
    token::{self, Pair, Tokens},
};
use std::{fs, io, os::unix::fs::PermissionsExt as _, path::Path};

/// The files.
pub const PRIVATE: [&str; 6] =
    [secrets::KEY_FILE, secrets::FILE, token::FIRST_FILE, token::NAMED_FILE, token::FILE, CODE_FILE];

/// What group and others may not do.
const OTHERS: u32 = 0o077;

/// Those that others may read or change, with their modes.
pub fn open_to_others(root: &Path) -> Vec<(&'static str, u32)> {
    let mode = |name: &'static str| Some((name, fs::metadata(root.join(name)).ok()?.permissions().mode() & 0o7777));
    PRIVATE.into_iter().filter_map(mode).filter(|(_, mode)| mode & OTHERS != 0).collect()
}

/// Why the tokens of this root cannot be used, if so.
pub fn damaged(root: &Path) -> Option<(&'static str, io::Error)> {
    let named = Tokens::read(root).err().map(|error| (token::NAMED_FILE, error));
    named.or_else(|| Pair::read(root).err().map(|error| (token::FILE, error)))
}

/// Refuses a root whose private files are open to others, or whose files of tokens are damaged. Files of older versions get their checksum.
pub(crate) fn check(root: &Path) -> Result<(), Error> {
    if let Some((name, mode)) = open_to_others(root).first() {
        let path = root.join(name);
        let message = format!("{} is accessible to other users (mode {mode:04o})", path.display());
        let replace = "then, if others use this machine, replace what it contains: secrets with `relaymesh secret set`, tokens with \
                       `relaymesh token rotate`";
        let error = Error::new(Code::Refused, message).hint(replace);
        return Err(error.hint(format!("run `chmod 600 {}`", path.display())));
    }
    match damaged(root) {
        Some((name, error)) => Err(refused(root, name, &error)),
        None => {
            let written = |name| move |error: io::Error| refused(root, name, &error);
            Tokens::seal(root).map_err(written(token::NAMED_FILE))?;
            Pair::seal(root).map_err(written(token::FILE))
        }
    }
}

fn refused(root: &Path, name: &str, error: &io::Error) -> Error {
    let code = if error.kind() == io::ErrorKind::InvalidData { Code::Damaged } else { Code::StoreIo };
    let error = Error::new(code, format!("cannot use {}: {error}", root.join(name).display()));
    error.hint("restore it from a backup, or remove it: then all its tokens are invalid, and new ones must be created")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_private_file_that_others_may_read_is_refused() {
        let root = tempfile::tempdir().unwrap();
        check(root.path()).unwrap();
        for name in PRIVATE {
            let path = root.path().join(name);
            let mode = |mode| fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            fs::write(&path, "{}").unwrap();
            for open in [0o644, 0o640, 0o604, 0o620] {
                mode(open);
                assert_eq!(open_to_others(root.path()), [(name, open)]);
                let error = check(root.path()).unwrap_err();
                assert!(
                    error.message.contains(name) && error.hints.iter().any(|hint| hint.contains("chmod 600")),
                    "{error:?}"
                );
            }
            mode(0o600);
            assert_eq!(open_to_others(root.path()), []);
            fs::remove_file(&path).unwrap();
        }
        check(root.path()).unwrap();
    }

    #[test]
    fn damaged_tokens_are_refused_and_old_ones_are_sealed() {
        let root = tempfile::tempdir().unwrap();
        for (name, old) in
            [(token::NAMED_FILE, "{\"tokens\": {}}"), (token::FILE, "{\"current\":null,\"previous\":null}")]
        {
            let path = root.path().join(name);
            for text in ["", "{", "{\"sum\": \"00\"}"] {
                fs::write(&path, text).unwrap();
                fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
                let error = check(root.path()).unwrap_err();
                assert!(error.code == Code::Damaged && error.message.contains(name), "{error:?}");
            }
            fs::write(&path, old).unwrap();
            check(root.path()).unwrap();
            assert!(fs::read_to_string(&path).unwrap().contains("\"sum\""));
        }
    }
}
