//! The namespace machine: a namespace is made before it is used (R26).
//!
//! A name that comes into being by being used is a name that a slip of the finger brings into being: the work is
//! accepted, and lies where nobody looks. So a namespace is a fact on the log like any other, with a time, an author and
//! a few words about it, and whoever puts something into one that is not there is told so.
//!
//! ```text
//!            create
//!  absent ──────────► there, for ever
//!                      │  ▲
//!                      └──┘ create again: changes nothing
//! ```
//!
//! - Whoever comes first in HLC order has made it; that is who stands in the row on every node. A later create has no
//!   effect. To whoever asks that is no error, but an answer: it was there.
//! - `default` is always there, without an op and without a row.
//! - It is never purged: what lies in it carries its name, and so does what was forgotten of it.
//!
//! Invariant ([`validate()`]): the id is the one of the name, and the words about it are within their bounds.

mod apply;
mod body;
mod create;
mod state;
mod validate;

#[cfg(test)]
mod tests;

pub use apply::{Refusal, apply, purge};
pub use body::Body;
pub use state::Namespace;
pub use validate::{Invalid, validate};

/// The namespace of whoever names none. It is always there.
pub const DEFAULT: &str = "default";
/// The most characters about a namespace.
pub const ABOUT_CHARS_MAX: usize = 500;
