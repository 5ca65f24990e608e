//! Capabilities: who may do what, shown by a chain of signed delegations that begins with the owner's key (L1).
//!
//! ```text
//!  owner's key ──(1)──► phone ──(2)──► server ──(3)──► agent          each link is signed by whom it is from, cites the
//!               Ops: *         Job: *         Job Claim                link before it by hash, and gives less than that
//!               until 2027     until March    kind com.example.ocr     or the same, never more
//!                              depth 1        depth 0
//!
//!  Chain::decode ──► Chain::verify(root) ──► Authority::admit(revocations, deed at its HLC)
//!  form and bounds   root, audiences, proofs,   began, not over, not revoked,
//!                    cycles, signatures, less   granted, caveats met
//! ```
//!
//! - **Nobody is asked.** Whoever holds the owner's public key checks a chain alone, without a network: that is what a mesh
//!   needs whose nodes come and go.
//! - **Never more.** A child's grants, time, caveats and depth lie within its parent's ([`Error::Exceeds`]).
//! - **As of the deed.** A chain is verified once; whether it admits a deed is asked for the deed's own HLC ([`Deed`]), so
//!   that all nodes agree on it for ever.
//! - **Revoking cascades.** A link that was taken back takes everything below it along ([`Revocations`]).
//! - **What is not known is refused.** A field, a caveat or a resource that this program does not know makes the chain void.
//!
//! The names of fields are those of UCAN; of resources, actions and caveats those of the contract's source. What is not
//! taken over: the JWT wrapping, DIDs (a key is its 32 bytes), and several proofs for one link. Times are milliseconds.
//!
//! Invariant: if [`Authority::admit`] admits a deed for a chain, it admits it for every beginning of that chain, too.

mod attenuate;
mod caveat;
mod chain;
mod delegation;
mod error;
mod judge;
mod resource;
mod revoke;
mod role;
#[cfg(test)]
mod tests;

pub use caveat::{CAVEAT_VALUE_BYTES_MAX, CAVEAT_VALUES_MAX, Caveats, Sanitize, TimeRange};
pub use chain::{Authority, Chain};
pub use delegation::{Att, Delegation, Link, Nonce};
pub use error::{Error, Exceeds, Missing, Refusal};
pub use judge::{Deed, Shown};
pub use relaymesh_core::kind::{KIND_BYTES_MAX, Kind, KindError};
pub use resource::{Action, Resource};
pub use revoke::Revocations;
pub use role::{Role, roles_of_root};

/// The longest delegation, in bytes.
pub const DELEGATION_BYTES_MAX: usize = 16 * 1024;
/// The longest chain, in bytes.
pub const CHAIN_BYTES_MAX: usize = 64 * 1024;
/// The most links of a chain.
pub const CHAIN_LINKS_MAX: usize = 8;
/// The most things that one delegation grants.
pub const ATT_MAX: usize = 32;
