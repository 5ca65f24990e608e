//! Locks.

use crate::error::Error;
use relaymesh_api::view::lock::{Held, Shown};
use relaymesh_runtime::driver::LockCommand;

/// Locks.
pub(crate) trait Locks {
    /// Gives a command; it is durable when this returns. What proves the lock; `None` when it was given back.
    fn lock(&self, command: LockCommand) -> Result<Option<Held>, Error>;

    /// Every lock of the namespace.
    fn locks(&self) -> Result<Vec<Shown>, Error>;
}
