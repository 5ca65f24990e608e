//! Feeds: what a node wrote, as it travels (F5, D18, D24).
//!
//! A feed is one chain of ops, of one origin in one epoch. The origin is derived from the key that signs
//! ([`NodeId::of_key`](relaymesh_core::id::NodeId::of_key)), so nobody can write under another's name and no list of who has which key has to
//! be believed. Its ops are dated by itself alone: an op with another node's stamp would void that node's op of the same
//! time (L4).
//!
//! Signing each op costs 64 bytes and 50 µs an op. What is signed is the **head** of each batch ([`SignedHead`]): its hash covers
//! every op before it. So ops travel in **runs** ([`Run`]) that end at a signed head, and one signature vouches for up to a
//! thousand of them.
//!
//! A head also **promises**: no later op of this feed is dated at or before `as_of`. That is how a quiet node lets the others
//! know that nothing is to come from it, without writing anything.
//!
//! ```text
//! run ──► shape ──► is there a place for it? ──► hashes ──► signature ──► ops ──► promise ──► Admitted
//!         cheap     a look at the log            sha3       50 µs         decode  (admit.rs)
//! ```
//!
//! The tempting wrong answer to a liar is to keep what came first: then every node keeps something else, for ever. Two ops
//! in one place are evidence, and **all branches are kept** (D24), so that all nodes come to the same verdict: nothing of the
//! author counts from there on. To keep two of them, or only so much of each, is tempting as well, for two are proof enough; but then one node lacks
//! what another one has sealed. Their number is bounded all the same, because a liar has time; for what was sealed there is room beyond it.
//!
//! Invariants of a log ([`MemoryFeedLog::validate`]):
//! - each branch is a chain, ends at a signed head, and has no more than a run's worth of ops between two heads: so from every
//!   place there is a run to the next head;
//! - a head promises no less than its last op; an author that breaks a promise is known for it, and what it wrote is kept;
//! - a feed has at most [`BRANCHES_MAX`] branches, and each but the trunk leaves an earlier one before its end.

mod admit;
mod error;
mod evidence;
mod head;
mod log;
mod memory;
mod place;
mod run;
#[cfg(test)]
pub(crate) mod tests;
mod wire;

pub use admit::{Admission, Admitted, Attach, admit};
pub use error::{DecodeError, Refusal};
pub use evidence::{Evidence, Lie};
pub use head::{HEAD_BYTES_MAX, SignedHead};
pub use log::{
    BRANCHES_MAX, BRANCHES_UNSEALED_MAX, Branch, FEEDS_PER_ORIGIN_MAX, FEEDS_UNSEALED_MAX, FeedLog, Held, Tip,
};
pub use memory::MemoryFeedLog;
pub use place::{FeedId, Place};
pub use run::{Linked, OP_BYTES_MAX, RUN_BYTES_MAX, RUN_ENCODED_MAX, RUN_OPS_MAX, Run};
pub(crate) use wire::{Raw, at_most};
