//! How a node takes part in the work of a mesh without getting in the way of others (L3, L9).
//!
//! - [`Etiquette`]: when to look for work and how much of it to take. Nodes that all look at once all claim the same job; all but
//!   one of those claims are refused, and were written, signed and carried around for nothing.
//! - [`LeaseWatch`]: when to say that somebody else's lease is over. The HLC alone would do by the rule (L3), but one node with a fast
//!   clock would then end every lease of the others early. So a node speaks only if it has also watched, on its own
//!   monotonic clock, a full term go by without a renewal.
//!
//! Both are rules of conduct: what they say is a reason to write an op or not to; whether the op counts the fold decides.

mod etiquette;
mod watch;

pub use etiquette::Etiquette;
pub use watch::LeaseWatch;

/// How long a claim of a node holds in a mesh.
pub const MESH_LEASE_MS: u64 = 120_000;
/// How often it is renewed.
pub const MESH_RENEW_MS: u64 = 40_000;
