//! The task machine: a task, its steps, and every verb that moves them.
//!
//! A task is a graph of steps. A step is claimed under a lease, tried, and ends; what follows from its end (the next
//! steps, the compensation of earlier ones, the end of the task) is part of the same op. So the log holds facts
//! that somebody said, and everything that is derived from them is derived here, the same way on every node.
//!
//! ```text
//!            approve                    complete
//!  WAITING ───────────► PENDING ─claim─► RUNNING ────────► SUCCESS
//!     │ deny               ▲  ▲            │ fail (retryable), expire, time out
//!     ▼                    │  └──yield─────┤
//!  FAILED ◄─fail (final)───┼───────────────┼──────────────► RETRYING ─claim (when due)─► RUNNING
//!     └──redrive───────────┤               └─(attempts used up)─► DEAD_LETTER ─redrive─► PENDING
//!                          └── CANCELLED, SKIPPED: redrive
//! ```
//!
//! [`table::TRANSITIONS`] is that picture as data, and no step moves but through it. Each verb is one file: it looks,
//! refuses with what it found ([`Refusal`]) or changes the rows; a refusal has changed nothing. [`validate()`] says what
//! is true of the rows after every op.

pub mod approve;
pub mod artifact;
pub mod cancel;
pub mod claim;
pub mod complete;
pub mod expire;
pub mod fail;
pub mod fan_out;
pub mod graph;
pub mod key;
pub mod pass;
mod purge;
pub mod redrive;
pub mod request;
pub mod skip;
pub mod spec;
pub mod state;
pub mod submit;
pub mod table;
pub mod timeout;
pub mod yields;

mod apply;
mod body;
mod follow;
pub(crate) mod lease;
mod validate;

#[cfg(test)]
mod tests;

pub use apply::{Effect, Refusal, apply};
pub use artifact::Artifact;
pub use body::Body;
pub use purge::purge;
pub use state::{Attempt, Lease, Outcome, Step, Task, TaskRows};
pub use table::{Status, Verb};
pub use validate::{Invalid, validate};

/// The longest lease that counts, of a step or of a message: nothing that is asked waits for its answer for more than thirty days,
/// and a day is left for clocks that differ. What is claimed for longer is held for this long: a claim without end would keep the
/// work from everybody for ever, and only its author could give it back.
pub const LEASE_MS_MAX: u64 = 31 * 24 * 60 * 60 * 1_000;
