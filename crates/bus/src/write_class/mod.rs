//! The write-class table: how a write of each kind of thing is ordered (F2, F3, D34).
//!
//! Not everything needs everybody's consent. A task does: two nodes that each believe they moved it have broken it. A
//! heartbeat does not: it is true of one node and stale a second later. The source's matrix gives each kind of thing a
//! mode; here is that matrix as data, one column for each order that a mesh can declare.
//!
//! ```text
//!                                          direct        feed          quorum
//!  task, metadata, plan, agents, settings  strong        append-only   strong
//!  audit events                            append-only   append-only   append-only
//!  credentials, run outcomes, blobs        queued        queued        queued
//!  runtime state, live activity            local         local         local
//! ```
//!
//! - A column differs from the source in one point, and says so: a *feed* mesh has nobody to ask, so what would be strong
//!   is append-only there (D34). It is the mesh's declared order that makes it so, never the trouble of the moment.
//! - The tempting wrong answer to an outage is to take a strong write for the time being and tell the others later. Then
//!   "strong" means nothing. [`settle()`] makes it `queued`, and the answer says so ([`Got`]); there is no input for which
//!   it becomes `local`.
//! - Whoever names a class (an envelope, a caller) is compared with the table by [`check()`] and refused when it differs.
//!
//! Invariant: [`class_of`] is total, and what [`settle()`] gives a strong write is `strong` or `queued`.

mod check;
mod entity;
mod settle;
mod table;
#[cfg(test)]
mod tests;

pub use check::{Refusal, check};
pub use entity::{EntityType, UnknownEntity};
pub use settle::{Got, Ordering, settle};
pub use table::{Mode, Order, ROWS, Row, class_of};
