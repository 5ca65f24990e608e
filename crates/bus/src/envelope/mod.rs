//! Envelopes: what travels between nodes, signed by its sender for one recipient (F1, A2, D16).
//!
//! ```text
//!  ┌───────────┬────────┬─────────────────────────────────────────────┬───────────────┐
//!  │ signature │ length │ header: canonical JSON                      │ payload       │
//!  │ 64 bytes  │ 4      │ who, for whom, nonce, sequence, what, state,│ bound by      │
//!  │           │        │ payload_cid, and what newer nodes add       │ payload_cid   │
//!  └─────┬─────┴────────┴─────────────────────────────────────────────┴───────────────┘
//!        └─ over `relaymesh/envelope/v1 ‖ 0 ‖ header`
//! ```
//!
//! - The signature covers the **whole header** as it was written (D16), not a list of fields: a field that is left out of
//!   such a list is one that anybody on the way may change.
//! - The header is canonical JSON, so a newer minor version can add fields. They are kept, because the bytes are kept, and an
//!   envelope that is handed on still holds. Another major version is refused, by name.
//! - [`open()`] checks; [`crate::inbound`] remembers. Only what was opened can be admitted.
//!
//! Signed is not secret: whoever carries or stores an envelope can read it.

mod error;
mod fence;
mod header;
mod open;
mod seal;
mod state;
pub mod sync;
#[cfg(test)]
pub(crate) mod tests;

pub use error::Error;
pub use fence::{FenceToken, ParseError};
pub use header::{Header, ID_BYTES_MAX, Id, PROTOCOL, Precondition, Recipient, VERSION, Version};
pub use open::{Envelope, Expected, open};
pub use relaymesh_store::traffic::Nonce;
pub use seal::seal;
pub use state::State;

/// The longest header, in bytes.
pub const HEADER_BYTES_MAX: usize = 16 * 1024;
/// The longest payload, in bytes.
pub const PAYLOAD_BYTES_MAX: usize = 16 * 1024 * 1024;
/// The longest envelope, in bytes.
pub const ENVELOPE_BYTES_MAX: usize = 64 + 4 + HEADER_BYTES_MAX + PAYLOAD_BYTES_MAX;
