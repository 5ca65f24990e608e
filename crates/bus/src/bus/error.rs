//! What can go wrong with a bus.

use crate::{envelope::PAYLOAD_BYTES_MAX, outbound};

/// What can go wrong. `E` is what can go wrong with the store.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error<E: std::error::Error + 'static> {
    /// The store failed; it says whether anything changed.
    #[error(transparent)]
    Store(E),
    /// Nothing changed: too much waits already. Try again later.
    #[error(transparent)]
    Full(outbound::Full),
    /// Nothing changed: no envelope can carry it.
    #[error("the message has {bytes} bytes, {PAYLOAD_BYTES_MAX} are allowed")]
    TooLong {
        /// How many it has.
        bytes: usize,
    },
    /// Nothing changed: this life has no number left. Open the bus with a store whose sender has a later epoch.
    #[error(transparent)]
    Exhausted(outbound::Exhausted),
}
