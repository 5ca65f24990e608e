//! The write queue: writes that could not reach whoever has to agree, kept until they can (F7, F8, D11 to D14).
//!
//! ```text
//!                 ┌────────────── postpone: another outage ──────────────┐
//!                 │  ┌─────────── recover: found so at a start (D14) ────┤
//!                 ▼  ▼                                                   │
//!  enqueue ───► pending ──────────────── begin ────────────────────► replaying
//!     │            ▲                                                  │     │
//!     │            └── redrive, by an operator ──┐                    │     │ settle: in effect
//!     │                                          │  settle: it is not │     ▼
//!     └── a refusal, not an outage ─────────► failed ◄────────────────┘   applied
//! ```
//!
//! One row for each intended write, for ever: it moves, it is never copied, and what is finished stays as history.
//!
//! - **Only an outage queues.** A write that was refused (400, 401, 403, 404, 409, 422) will be refused again; queueing it
//!   would hide the refusal behind a promise. [`Failure::verdict`] is the whole list.
//! - **Order.** Rows are replayed by (`createdAt`, id), one at a time for each target. `createdAt` is the HLC, which never goes
//!   back, so this is the order in which their author wrote (D11). A row that waits for its time holds up those behind it.
//! - **Once.** A replay carries the same intent. When only the answer was lost (`indeterminate`, D13), the target says
//!   `noop_already_applied`. Fence and precondition travel with it and are checked again where it lands
//!   ([`reconcile`](crate::reconcile)); nothing that passed on the first try passes on the second for that reason.
//! - **A crash** leaves rows `replaying`, and nobody knows how far they got. At a start they are pending again; the
//!   tempting wrong answer, to leave them, strands them for ever.
//!
//! Invariants ([`Queue::validate`]): a row's place in the index is its status; at most one row of a target is replaying, and
//! nothing open for that target is older; attempts only grow.

mod begin;
mod count;
mod enqueue;
mod failure;
mod postpone;
mod queue;
mod recover;
mod redrive;
mod settle;
mod state;
mod table;
#[cfg(test)]
mod tests;
mod validate;

pub use count::Depth;
pub use enqueue::Enqueued;
pub use failure::{Failure, Note, Verdict};
pub use queue::{Queue, Refusal};
pub use redrive::Renewed;
pub use state::{Entry, Intent, NOTE_BYTES_MAX};
pub use table::{Status, TRANSITIONS, Verb, targets};
pub use validate::Invalid;

/// How many rows may be open at once. A node that has more to say than this while it is cut off says no to its callers.
pub const OPEN_MAX: usize = 65_536;
