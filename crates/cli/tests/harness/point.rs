//! A point: one call of a run, at which that run can be struck.

/// Every call that changes what another process can see on the disk, by the name of the system call.
pub(crate) const WRITES: &[&str] = &[
    "write",
    "pwrite64",
    "writev",
    "pwritev",
    "pwritev2",
    "fsync",
    "fdatasync",
    "sync_file_range",
    "msync",
    "syncfs",
    "rename",
    "renameat",
    "renameat2",
    "unlink",
    "unlinkat",
    "rmdir",
    "ftruncate",
    "truncate",
    "fallocate",
    "mkdir",
    "mkdirat",
    "chmod",
    "fchmod",
    "fchmodat",
    "open",
    "openat",
    "creat",
    "link",
    "linkat",
    "symlink",
    "symlinkat",
    "copy_file_range",
];

/// Which call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Point {
    /// The file, from the case's folder on.
    pub(crate) path: String,
    pub(crate) call: String,
    /// The how-many-eth of this call on this file, from 1: by one thread (`strace`), or by the process (fail points).
    pub(crate) number: usize,
}

impl std::fmt::Display for Point {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {} #{}", self.call, self.path, self.number)
    }
}
