//! The lock machine: advisory locks on keys and path globs, with a fence that only grows (V1, D22).
//!
//! Two agents that edit one file ruin each other's work. A lock says who may. It is advisory: it stops nobody who does
//! not ask, so each lock has a **fence**, a number that only grows. Whoever guards the thing itself (a store, a merge
//! queue) remembers the greatest fence that it has seen and refuses smaller ones; then a holder that slept through its
//! deadline does no harm when it wakes.
//!
//! ```text
//!            acquire                 release, expire (when the deadline has passed),
//!  free ─────────────────► held ─────────────────────────────────────────────────────► free
//!                          │  ▲    another one's acquire (when the deadline has passed)
//!                          └──┘ renew, acquire again: the deadline moves, the mode may change
//! ```
//!
//! - The scope is the repository, not the key: `src/**` and `src/lib.rs` are different keys and one lock. All keys of a
//!   repository are folded together, and their fences come from one counter, so any two of them can be compared.
//! - The counter is a row of its own and is never deleted, also when no lock is left. The tempting wrong answer keeps it
//!   in the lock's row: a released lock takes it along, the next one starts at 1 again, and every fence is worthless.
//! - A lock whose deadline has passed is in nobody's way: an acquire takes it over in the same op, without waiting for a
//!   sweep. The displaced holder's later word is fenced.
//! - Whether two globs overlap is decided exactly ([`overlap()`]), never by comparing them as text.
//!
//! Invariant ([`validate()`]): no two locks that are held conflict, and no fence is used twice.

pub mod key;
pub mod state;

mod acquire;
mod apply;
mod body;
mod expire;
mod held;
mod overlap;
mod release;
mod renew;
mod validate;

#[cfg(test)]
mod tests;

pub use apply::{Effect, Refusal, apply, purge};
pub use body::Body;
pub use key::{Key, KeyError, RepositoryName};
pub use overlap::overlap;
pub use state::{Case, Lock, Mode, Repository, RepositoryRows};
pub use validate::{Invalid, validate};

/// How long a lock lasts that is taken for an edit, unless the caller says otherwise.
pub const EDIT_TTL_MS: u64 = 30_000;
/// How long a lock lasts that is taken for long work, unless the caller says otherwise.
pub const LONG_TTL_MS: u64 = 300_000;
/// What a lock is for. It decides how long the lock lasts when the caller does not say (V1).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Work {
    /// An edit: [`EDIT_TTL_MS`].
    #[default]
    Edit,
    /// Long work: [`LONG_TTL_MS`].
    Long,
}

impl Work {
    /// How long a lock for it lasts.
    pub fn ttl_ms(self) -> u64 {
        match self {
            Self::Edit => EDIT_TTL_MS,
            Self::Long => LONG_TTL_MS,
        }
    }
}

/// The shortest time for which a lock is given.
pub const TTL_MS_MIN: u64 = 1_000;
/// The longest time for which a lock is given.
pub const TTL_MS_MAX: u64 = 24 * 60 * 60 * 1_000;
/// How many locks a repository may have at once.
pub const LOCKS_MAX: usize = 4_096;
