//! What a caller may choose about a store.

/// When a commit counts as durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sync {
    /// Synced before it is acknowledged: a power cut right after loses nothing (D1).
    Full,
    /// Synced at the next checkpoint: a crash of the program loses nothing, a power cut loses acknowledged work.
    Normal,
    /// Never synced. Only for tests and for scratch copies that can be made again.
    Off,
}

impl Sync {
    /// The number that `PRAGMA synchronous` has for it.
    pub(crate) fn number(self) -> i64 {
        match self {
            Self::Full => 2,
            Self::Normal => 1,
            Self::Off => 0,
        }
    }
}

/// What a caller may choose. The defaults are the safe ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// When a commit counts as durable.
    pub sync: Sync,
    /// Below this many free bytes on the root's disk, commits are refused with `Full` before they touch anything.
    pub min_free_disk_bytes: u64,
    /// How many of the newest ops an open checks. A log that is not longer is checked with all its rows.
    pub verify_ops_at_open: u64,
    /// How far the write-ahead log grows before the background copies it into the database.
    pub checkpoint_bytes: u64,
    /// From this size on, the writer lends a hand so that the write-ahead log starts again from its beginning. Small on
    /// purpose: a sync of bytes that are written over waits for the bytes alone, one of a file that grows waits for the
    /// file system's own log too, about twice as long.
    pub wal_bytes_max: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            sync: Sync::Full,
            min_free_disk_bytes: 16 << 20,
            verify_ops_at_open: 10_000,
            checkpoint_bytes: 4 << 20,
            wal_bytes_max: 8 << 20,
        }
    }
}
