//! The plan machine: a mission and everything below it, in order and never half right (F15).
//!
//! What a team means to do is a tree of five levels. The tempting wrong answer is to let each item be a thing of its own:
//! two people who write at the same time then leave a feature in a slice that is gone, or an open task below a milestone
//! that is done, and each of the two writes was right where it was made. So a plan is one scope: all of its items are folded
//! together, and an op that would break the tree has no effect on any node.
//!
//! ```text
//!  mission                      exactly one, the root
//!    └─ milestone               each item lies in one of the level above,
//!         └─ slice              and a move takes it to another of that level
//!              └─ feature
//!                   └─ task     may say which task of the mesh does it
//!
//!             begin                   finish
//!  PLANNED ───────────► ACTIVE ───────────────► DONE
//!   │ ▲ │ ◄──plan────── │   ▲ ◄──begin (again)── │ │
//!   │ │ └─block─► BLOCKED ◄─block                │ │ (with its parent)
//!   │ │              │  └─begin, plan            │ ▼
//!   │ └──────────────┼──────── plan ─────────── DROPPED
//!   └────────────────┴──────── drop ──────────────► (from ACTIVE, too)
//! ```
//!
//! [`table::TRANSITIONS`] is the second picture as data, and no item moves but through it.
//!
//! - **Revisions (D23).** Whoever writes about an item says which revision of it they saw ([`SeenItem`](crate::op::SeenItem)): its
//!   number, and the op that made it. A write on another one is refused with what was found. The number alone would do where
//!   everything has one order. Where authors write without having heard of each other it would not: an author whose first
//!   write was refused because of somebody else's has counted it, and its second write would hit that number by chance.
//! - **Order among siblings** is a number that the author chose between its neighbours' ([`PlanRows::place_after`]), then the id. No
//!   write touches an item's siblings, so two who insert at the same spot do not disturb each other, and everybody sees the
//!   same order.
//! - **What follows** is part of the same op (`follow.rs`): what is begun or done begins everything above it that was
//!   only planned, and what is dropped takes everything below it along.
//!
//! Invariants ([`validate()`]): one mission, which is the root; every other item lies in one of the level above, so there is no
//! orphan and no cycle; nothing open below what is done, nothing but dropped below what is dropped, nothing begun or done below
//! what is only planned; texts and their number within bounds.

pub mod spec;
pub mod state;
pub mod table;

mod add;
mod apply;
mod body;
mod change;
mod follow;
mod moves;
mod purge;
mod remove;
mod status;
mod validate;

#[cfg(test)]
mod tests;

pub use apply::{Refusal, apply};
pub use body::Body;
pub use purge::purge;
pub use spec::{ItemKind, NewItem};
pub use state::{Item, Plan, PlanRows, Progress};
pub use table::{Status, Verb};
pub use validate::{Invalid, validate};

/// How many items a plan may have, its mission among them.
pub const ITEMS_MAX: usize = 1_024;
/// The most characters in a title.
pub const TITLE_CHARS_MAX: usize = 200;
/// The most characters in the notes about an item.
pub const NOTES_CHARS_MAX: usize = 2_000;
