//! Why there are no credentials.

use super::{PROVIDERS_MAX, SNAPSHOT_BYTES_MAX, VERSION};
use relaymesh_bus::{
    envelope,
    sign::{NotSealed, Refusal},
    write_class::EntityType,
};

/// Why a snapshot was not sealed, or not taken. Nothing of what it holds is in the text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// It cannot travel in this envelope.
    #[error(transparent)]
    Envelope(#[from] envelope::Error),
    /// Nothing can be sealed for the receiver's key.
    #[error("the receiver's key cannot be used: {0}")]
    Key(#[from] Refusal),
    /// The envelope carries something else.
    #[error("the envelope is about {found}, not about auth material")]
    Other {
        /// What it is about.
        found: EntityType,
    },
    /// It was not sealed for this node by the sender of the envelope.
    #[error(transparent)]
    Sealed(#[from] NotSealed),
    /// It has another version.
    #[error("the snapshot has another version than {VERSION}")]
    Version,
    /// The checksum is another one.
    #[error("the snapshot does not have the checksum that it names")]
    Checksum,
    /// It is no snapshot.
    #[error("it is no snapshot of auth material: {what}")]
    Damaged {
        /// What is wrong with it.
        what: &'static str,
    },
    /// It is too long.
    #[error("the snapshot has {bytes} bytes, {SNAPSHOT_BYTES_MAX} are allowed")]
    Size {
        /// How many it has.
        bytes: usize,
    },
    /// It names too many providers.
    #[error("the snapshot names {found} providers, {PROVIDERS_MAX} are allowed")]
    Providers {
        /// How many.
        found: usize,
    },
}
