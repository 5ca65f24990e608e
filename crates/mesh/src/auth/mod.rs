//! Auth material: providers' credentials on their way from one node to another (D25).
//!
//! ```text
//!  Snapshot ──JSON, checksum──► sealed for the receiver's key ──payload──► envelope, signed by the sender
//!           ◄──────────────────                               ◄─────────── admitted once, like any other
//! ```
//!
//! The tempting wrong answer is a checksum alone: whoever can change the credentials can change the checksum, and whoever carries them
//! can read them. So a snapshot travels **sealed** for one key and **signed** by another, in an envelope: nonce, sequence and recipient are
//! the envelope's. What is sealed is bound to both keys, so nobody can take it out and send it on as its own.
//!
//! It is never on the log: no scope is about it, so no op can carry it, and its write class is `queued` in every order. What is shown of it are the names of
//! providers and how many there are; texts of errors quote nothing of it. Secrets are wiped from memory when they are dropped; what a
//! decoder of JSON held in between is not.

mod error;
mod seal;
mod snapshot;
#[cfg(test)]
mod tests;

pub use error::Error;
pub use seal::{open, seal};
pub use snapshot::{Entry, PROVIDERS_MAX, SNAPSHOT_BYTES_MAX, Secret, Snapshot, VERSION};
