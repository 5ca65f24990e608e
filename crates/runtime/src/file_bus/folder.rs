//! A folder of the bus, opened once and never left again.
//!
//! Everything is done from the open folder with names of one part, and no link is ever followed, so whatever a program puts into a folder
//! (a link to elsewhere, a pipe, a second name of somebody's file), nothing outside is read or written. Nothing is overwritten:
//! files are made under a name of ours and renamed to where nothing was. Only [`sweep`](super::sweep()) deletes.

use rustix::{
    fs::{self, AtFlags, Dir, Mode, OFlags, RenameFlags, Stat},
    io::Errno,
};
use std::{
    ffi::{CString, OsStr, OsString},
    fs::{File, Metadata},
    io::{self, Read as _, Write as _},
    os::{
        fd::OwnedFd,
        unix::{
            ffi::{OsStrExt as _, OsStringExt as _},
            fs::{FileTypeExt as _, MetadataExt as _},
        },
    },
    path::Path,
};

/// A folder of the bus.
pub(super) struct Folder {
    fd: OwnedFd,
    /// What it is called, from the root on.
    pub(super) name: String,
}

/// Why a file is not read.
#[derive(Debug, thiserror::Error)]
pub(super) enum Odd {
    #[error("it does not exist")]
    Missing,
    #[error("it is a link; links are not followed")]
    Link,
    #[error("it is {0}; only plain files are read")]
    Kind(&'static str),
    #[error("the file has {0} hard links, and one may be outside the bus")]
    Names(u64),
    #[error("it has {found} bytes; the maximum is {max}")]
    TooLong { found: u64, max: u64 },
    #[error("it cannot be read: {0}")]
    Io(#[from] io::Error),
}

impl Odd {
    /// For programs.
    pub(super) fn code(&self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Link | Self::Kind(_) | Self::Names(_) => "not_a_plain_file",
            Self::TooLong { .. } => "too_long",
            Self::Io(_) => "unreadable",
        }
    }
}

/// A sync failed: what was written may not be on the disk, and no second sync can tell. It travels in an [`io::Error`].
#[derive(Debug, thiserror::Error)]
#[error("cannot sync {what} of the file bus: {error}")]
pub(super) struct Unsynced {
    what: String,
    error: io::Error,
}

impl Unsynced {
    /// What a sync said.
    pub(super) fn check(what: &str, synced: io::Result<()>) -> io::Result<()> {
        synced.map_err(|error| io::Error::other(Self { what: what.to_owned(), error }))
    }

    /// Whether this error is one.
    pub(super) fn is_in(error: &io::Error) -> bool {
        error.get_ref().is_some_and(|inner| inner.is::<Self>())
    }
}

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// Names that are looked at together.
const NAMES_MAX: usize = 4096;

impl Folder {
    /// The root itself.
    pub(super) fn root(path: &Path) -> io::Result<Self> {
        let fd = fs::open(path, FOLDER.difference(OFlags::NOFOLLOW), Mode::empty())?;
        Ok(Self { fd, name: String::new() })
    }

    /// A folder in this one, made if it is not there. It must be ours, and it is closed to others.
    pub(super) fn make(&self, name: &str) -> io::Result<Self> {
        match fs::mkdirat(&self.fd, name, Mode::RWXU) {
            Ok(()) => self.sync()?,
            Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        self.open(name)
    }

    /// A folder that is there.
    pub(super) fn open(&self, name: &str) -> io::Result<Self> {
        let fd = fs::openat(&self.fd, name, FOLDER, Mode::empty())?;
        let found = fs::fstat(&fd)?;
        if found.st_uid != rustix::process::getuid().as_raw() {
            return Err(io::Error::other(format!("`{name}` belongs to user {}", found.st_uid)));
        }
        if found.st_mode & 0o077 != 0 {
            fs::fchmod(&fd, Mode::RWXU)?;
        }
        let name = if self.name.is_empty() { name.to_owned() } else { format!("{}/{name}", self.name) };
        Ok(Self { fd, name })
    }

    /// The same folder once more.
    pub(super) fn again(&self) -> io::Result<Self> {
        Ok(Self { fd: self.fd.try_clone()?, name: self.name.clone() })
    }

    /// The names in it, in order, without those that begin with a dot: they are their writers' own.
    pub(super) fn names(&self) -> io::Result<Vec<OsString>> {
        let mut names = Vec::new();
        for entry in Dir::read_from(&self.fd)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if !name.starts_with(b".") {
                names.push(OsString::from_vec(name.to_vec()));
            }
            if names.len() >= NAMES_MAX {
                break;
            }
        }
        names.sort();
        Ok(names)
    }

    /// Every name in it, in no order, also those that begin with a dot. Names may be removed on the way.
    pub(super) fn each(&self, mut look: impl FnMut(&OsStr) -> io::Result<()>) -> io::Result<()> {
        for entry in Dir::read_from(&self.fd)? {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name != "." && name != ".." {
                look(name)?;
            }
        }
        Ok(())
    }

    /// What is there under this name, itself and not what it leads to.
    pub(super) fn stat(&self, name: &OsStr) -> io::Result<Option<Stat>> {
        match fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) => Ok(Some(found)),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    pub(super) fn has(&self, name: &str) -> io::Result<bool> {
        Ok(self.stat(OsStr::new(name))?.is_some())
    }

    /// A plain file with one name and at most so many bytes, and what is in it. It is opened without waiting for anybody.
    pub(super) fn read(&self, name: &str, max: u64) -> Result<(File, Vec<u8>), Odd> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let opened = match fs::openat(&self.fd, name, flags, Mode::empty()) {
            Ok(fd) => fd,
            Err(Errno::NOENT) => return Err(Odd::Missing),
            Err(Errno::LOOP) => return Err(Odd::Link),
            // A socket, or a device that is not there.
            Err(Errno::NXIO | Errno::NODEV) => return Err(Odd::Kind("a socket or a device")),
            Err(error) => return Err(Odd::Io(error.into())),
        };
        let mut file = File::from(opened);
        let length = plain(&file.metadata()?)?;
        if length > max {
            return Err(Odd::TooLong { found: length, max });
        }
        let mut bytes = Vec::new();
        // It may grow while it is read.
        (&mut file).take(max + 1).read_to_end(&mut bytes)?;
        let length = bytes.len() as u64;
        if length > max { Err(Odd::TooLong { found: length, max }) } else { Ok((file, bytes)) }
    }

    /// A new file with these bytes, durable before it has its name. Nothing is overwritten.
    pub(super) fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let own = format!(".{name}.{:016x}", rand::random::<u64>());
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut file = File::from(fs::openat(&self.fd, &own, flags, Mode::RUSR | Mode::WUSR)?);
        file.write_all(bytes)?;
        Unsynced::check(&format!("{}/{name}", self.name), file.sync_all())?;
        let named = fs::renameat_with(&self.fd, &own, &self.fd, name, RenameFlags::NOREPLACE);
        if named.is_err() {
            // Ours, and of no use to anybody.
            let _ = fs::unlinkat(&self.fd, &own, AtFlags::empty());
        }
        Ok(named?)
    }

    /// Moves whatever is there under this name to where nothing is.
    pub(super) fn rename(&self, name: &OsStr, to: &Folder, new: &str) -> io::Result<()> {
        let name = CString::new(name.as_bytes())?;
        Ok(fs::renameat_with(&self.fd, name, &to.fd, new, RenameFlags::NOREPLACE)?)
    }

    /// Deletes the file of this name, itself and not what it leads to.
    pub(super) fn remove(&self, name: &OsStr) -> io::Result<()> {
        Ok(fs::unlinkat(&self.fd, name, AtFlags::empty())?)
    }

    /// Deletes the folder of this name if nothing is in it. `false`: something is.
    pub(super) fn remove_empty(&self, name: &OsStr) -> io::Result<bool> {
        match fs::unlinkat(&self.fd, name, AtFlags::REMOVEDIR) {
            Ok(()) => Ok(true),
            Err(Errno::NOTEMPTY | Errno::EXIST) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Its entries are durable when this returns.
    pub(super) fn sync(&self) -> io::Result<()> {
        Unsynced::check(&format!("the folder {}", self.name), fs::fsync(&self.fd).map_err(io::Error::from))
    }
}

/// How long a plain file with one name is.
fn plain(found: &Metadata) -> Result<u64, Odd> {
    let kind = found.file_type();
    match () {
        () if kind.is_file() && found.nlink() == 1 => Ok(found.len()),
        () if kind.is_file() => Err(Odd::Names(found.nlink())),
        () if kind.is_dir() => Err(Odd::Kind("a folder")),
        () if kind.is_fifo() => Err(Odd::Kind("a pipe")),
        () => Err(Odd::Kind("a device or a socket")),
    }
}
