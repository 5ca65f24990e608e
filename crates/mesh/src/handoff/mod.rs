//! Hand-off: what becomes of an owned task whose owner does not answer (F14, D27). A table, and nothing else.
//!
//! The setting and the decision share words in the source; here they are two types. What is decided is only what to *try*:
//! work changes hands by a claim under a new epoch, whose fence stops the former owner. It resumes from what is durable;
//! no process moves.
//!
//! ```text
//!  the first line that fits decides
//!  owner              setting                 this node   others healthy   decision
//!  alive              any                     any         any              park             owner_alive
//!  suspect            any                     any         any              park             owner_suspect
//!  dead or unknown    block                   any         any              park             handoff_blocked_by_policy
//!  dead or unknown    reassign-any-healthy    any         yes              reassign-any
//!  dead or unknown    any other               alive       any              reassign-local
//!  dead or unknown    any other               not alive   any              park             local_not_alive
//! ```
//!
//! A suspicion parks: it is a question, and most of them are answered within seconds. A node that is not sure of itself
//! takes over nothing (R34). An owner that is this node itself is not handed off at all: it owns the task and is here, so
//! the decision is `reassign-local`, as long as it is alive.

mod decide;
#[cfg(test)]
mod tests;

pub use decide::{Decision, Health, Policy, Question, Reason, UnknownPolicy, decide};
