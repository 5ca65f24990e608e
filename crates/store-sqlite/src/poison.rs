//! The poison: once anybody has seen a write or a sync fail, nothing more is accepted (D2).
//!
//! After a failed sync the operating system may have dropped the pages and may call the next sync a success. So there is
//! no way back: only a new start, which reads what is really on the disk, settles what was durable.

use relaymesh_store::Error;
use std::{
    fmt::{self, Display},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// Shared by the writer and the threads beside it. The first cause is kept.
#[derive(Debug, Clone, Default)]
pub(crate) struct Poison(Arc<Mutex<Found>>);

type Tell = Box<dyn Fn(&str) + Send>;

#[derive(Default)]
struct Found {
    cause: Option<String>,
    /// Who is told of the first cause.
    tell: Option<Tell>,
}

impl Poison {
    /// Poisons the store, and gives the error that says so.
    pub(crate) fn set(&self, cause: impl Display) -> Error {
        let mut found = self.lock();
        let is_first = found.cause.is_none();
        let cause = found.cause.get_or_insert_with(|| cause.to_string()).clone();
        let tell = if is_first { found.tell.take() } else { None };
        drop(found);
        if let Some(tell) = tell {
            tell(&cause);
        }
        poisoned(&cause)
    }

    /// `tell` hears the first cause, on the thread that found it.
    pub(crate) fn when_set(&self, tell: impl Fn(&str) + Send + 'static) {
        self.lock().tell = Some(Box::new(tell));
    }

    /// The error, if there is poison.
    pub(crate) fn check(&self) -> Result<(), Error> {
        self.lock().cause.as_deref().map_or(Ok(()), |cause| Err(poisoned(cause)))
    }

    fn lock(&self) -> MutexGuard<'_, Found> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn poisoned(cause: &str) -> Error {
    Error::Poisoned { detail: format!("{cause}. It is unknown what is durable: restart to find out") }
}

impl fmt::Debug for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.cause.fmt(f)
    }
}
