//! The registers: what the owner of a mesh says about the mesh itself, readable as of any time.
//!
//! ```text
//!  routes        which node alone may claim work of which kinds        RouteKind               the owner
//!  coordinator   who says what follows from the log                    DesignateCoordinator    the owner
//!  delegations   who may do what, and what was taken back              DelegateUcan RevokeUcan whoever gives it
//!  freezes       whose word does not count for now                     FreezeNode              the owner
//!  settings      what holds for all nodes                              SetSetting              the owner
//!  level         what ops mean                                         SetFeatureLevel         the owner
//!  seals         up to where everything is agreed on                   Seal                    the coordinator
//! ```
//!
//! The folds of tasks, locks, threads and plans ask the registers, and ask them **as of the op's own time**. The tempting wrong
//! answer asks what holds now: then a claim that a route allowed yesterday is undone by a route of today, and two nodes that
//! heard of the route at different moments disagree. So a register keeps every word with its time and throws none away.
//!
//! Each register is one scope with one row. Who may speak is not asked here ([`crate::mandate`] says), only whether what is
//! said can be: a level that falls, a seal that goes back, a chain that is no chain.
//!
//! Invariant ([`validate()`]): words stand in the order of their times, seals and levels only grow, and every bound is kept.

mod apply;
mod delegations;
mod history;
mod seals;
mod state;
mod validate;

#[cfg(test)]
mod tests;

pub use apply::{Refusal, apply};
pub use delegations::Delegations;
pub use history::History;
pub use relaymesh_core::register::{Body, Register};
pub use seals::{SEAL_HEADS_MAX, SealWord, Seals};
pub use state::{RegisterRow, Words};
pub use validate::{Invalid, validate};

/// The most words that a register keeps. One more is refused.
pub const WORDS_MAX: usize = 16_384;
/// The most words that a register keeps of all others than the owner's key together. The rest of the room is the owner's, so that
/// nobody who was let in can keep the owner from letting in, taking back and freezing.
pub const OTHERS_WORDS_MAX: usize = WORDS_MAX / 2;
/// The most words that a register keeps of one whom the owner let in, together with everybody whom that one let in: a key costs
/// nothing, and a share for each would be no bound.
pub const SHARE_WORDS_MAX: usize = WORDS_MAX / 16;
/// The most seals that are kept of all others than the owner's key. Whoever coordinates is to seal for decades, so it has more than a
/// share; what is left lets the owner go on itself.
pub const OTHERS_SEALS_MAX: usize = WORDS_MAX / 16 * 15;
/// The longest value of a setting, in bytes.
pub const SETTING_BYTES_MAX: usize = 1_024;
/// The level that a mesh begins with.
pub const FIRST_LEVEL: u32 = 1;
/// The highest level whose meaning this program knows.
pub const FEATURE_LEVEL: u32 = 1;
