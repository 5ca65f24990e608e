//! What can go wrong with a store, by what the caller should do about it.

use relaymesh_core::{id::TaskId, row};

/// What went wrong. Each kind says whether anything changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Nothing changed: there is no room. Reads go on; free some space and try again (D32).
    #[error("disk_full: {detail}")]
    Full {
        /// What was found.
        detail: String,
    },
    /// Nothing changed: the batch does not fit the rows that are there. A bug in the caller, or a second writer.
    #[error("store_conflict: {detail}")]
    Conflict {
        /// What was found.
        detail: String,
    },
    /// Unknown whether the batch is durable; nothing more will be accepted. Stop and start again (D2).
    #[error("store_poisoned: {detail}")]
    Poisoned {
        /// What was found.
        detail: String,
    },
    /// Nothing changed: another process has the root.
    #[error("root_in_use: {detail}")]
    InUse {
        /// What was found.
        detail: String,
    },
    /// The store knows less than it has acknowledged: it lost its memory, or an older copy was put back (D3).
    #[error("amnesia: {detail}")]
    Amnesia {
        /// What was found.
        detail: String,
    },
    /// What was read is not what was written.
    #[error("store_damaged: {detail}")]
    Damaged {
        /// What was found.
        detail: String,
    },
    /// The store was made by another version, or is set up in a way that this program does not trust.
    #[error("store_unusable: {detail}")]
    Unusable {
        /// What was found.
        detail: String,
    },
    /// The store could not be reached: permissions, a missing folder, a file that is not a store.
    #[error("store_io: {detail}")]
    Io {
        /// What was found.
        detail: String,
    },
}

impl Error {
    /// A row that cannot be used.
    pub fn row(task: TaskId, what: &str, error: &row::Error) -> Self {
        Self::Damaged {
            detail: format!("the {what} row of {task}: {error}. Check the whole store with `relaymesh log verify`"),
        }
    }
}
