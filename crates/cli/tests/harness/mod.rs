//! What the kill test, the torture tests and the full disk share: the binary seen from outside, and what strikes it.
//!
//! Nothing here looks into the program. A test knows what a user knows: what was printed, the exit code, and what a new
//! process says about the same folder. Every process is waited for by its id and has a limit.

pub(crate) mod case;
pub(crate) mod check;
pub(crate) mod disk;
pub(crate) mod failpoints;
pub(crate) mod flow;
pub(crate) mod known;
pub(crate) mod point;
pub(crate) mod process;
pub(crate) mod seed;
pub(crate) mod story;
pub(crate) mod strace;
pub(crate) mod striker;
pub(crate) mod struck;
pub(crate) mod table;
pub(crate) mod trial;
