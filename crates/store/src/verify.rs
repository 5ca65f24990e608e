//! Whether a store still holds what was put there.
//!
//! Three questions, each answered by reading alone:
//! - [`chain()`]: are the ops those that were written, all of them and in order? Every hash covers the one before it.
//! - [`rows()`]: are the rows those that were written? Each has a sum, all together have the state hash in the head, and
//!   whatever is looked up beside them (idempotency, queues, leases, content) must say what the rows say.
//! - [`rebuild()`]: are the rows those that the ops fold to? The log is folded again into an empty store and compared.
//!
//! The first two find what a disk or a hand changed. Only the third finds what a bug wrote down consistently.
//!
//! None of them repairs anything, and none believes anything that it has not read. They are to be asked of a store that
//! rests: when the head moves meanwhile, the answer is [`Problem::Moved`] and not a false alarm.

mod difference;
mod folder;
mod log;
mod problem;
mod rebuild;
mod rows;
#[cfg(test)]
mod tests;

pub use difference::Difference;
pub use log::{Checked, chain};
pub use problem::Problem;
pub use rebuild::{DIFFERENCES_MAX, Rebuilding, Rebuilt, rebuild};
pub use rows::{RowsChecked, may_be_swept, rows};
