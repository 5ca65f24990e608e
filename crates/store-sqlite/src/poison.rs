//! The poison: once anybody has seen a write or a sync fail, nothing more is accepted (D2).
//!
//! After a failed sync the operating system may have dropped the pages and may call the next sync a success. So there is
//! no way back: only a new start, which reads what is really on the disk, settles what was durable.

use relaymesh_store::Error;
use std::{
    fmt::Display,
    sync::{Arc, Mutex, PoisonError},
};

/// Shared by the writer and the threads beside it. The first cause is kept.
#[derive(Debug, Clone, Default)]
pub(crate) struct Poison(Arc<Mutex<Option<String>>>);

impl Poison {
    /// Poisons the store, and gives the error that says so.
    pub(crate) fn set(&self, cause: impl Display) -> Error {
        let mut found = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let cause = found.get_or_insert_with(|| cause.to_string());
        Error::Poisoned { detail: format!("{cause}. It is unknown what is durable: restart to find out") }
    }

    /// The error, if there is poison.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let cause = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        cause.map_or(Ok(()), |cause| Err(self.set(cause)))
    }
}
