//! Reconcile: what becomes of a write that arrives late (F9). Exactly one of five answers, each with its reason.
//!
//! A write waited in a queue while the world went on. When it arrives at last, four things may have happened: it is there
//! already, because only its answer was lost; its coordinator was replaced; somebody wrote the same thing meanwhile; or
//! nothing, and it just happens now. The tempting wrong answer is "the last one to arrive wins": then a laptop that was
//! closed for a week undoes a week.
//!
//! ```text
//!  the first line that fits decides
//!  intent     fence   base revision and time                                        answer
//!  known      any     any; the content is the same                                  noop_already_applied
//!  known      any     any; the content differs                                      conflict_requires_merge
//!  new        stale   any; or a strong write has none                               rejected_fenced
//!  new        good    the expected epoch is over                                    rejected_fenced
//!  new        good    none given, or it is the current one                          applied
//!  new        good    older, and the content is there already                       noop_already_applied
//!  new        good    older, and the current one was written later than this        superseded
//!  new        good    older, and the current one was written before this            conflict_requires_merge
//!  new        good    newer than the current one, or of a thing that is not here    conflict_requires_merge
//! ```
//!
//! - "Known" comes before the fence: a write that took effect stays in effect when its coordinator is replaced, and telling
//!   its author `rejected_fenced` would make it write again.
//! - An older base alone does not say who is right. If the newer revision was written *later* (by HLC), its author may have
//!   known better, and this write is superseded. If it was written *before* this one, neither knew of the other.
//!
//! Invariant: total and deterministic; nothing but `applied` changes an entity, and each intent is applied at most once.

mod decide;
mod land;
#[cfg(test)]
mod tests;

pub use decide::{Arriving, Current, Decision, Outcome, Precondition, Why, reconcile};
pub use land::{Entity, land};
