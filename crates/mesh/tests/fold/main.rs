//! The fold: nodes that hold the same ops hold the same rows, in whatever order the ops arrived (L12, D18), and what
//! liars write takes effect nowhere or everywhere.
//!
//! Histories are written by several authors, each of whom has heard only a part of what the others wrote. Some of them
//! lie: they date back, copy a time, fork their chain, or speak for others.

mod arrivals;
mod author;
mod causes;
mod claims;
mod history;
mod integrity;
mod locking;
mod naming;
mod order;
mod planning;
mod purges;
mod reference;
mod talking;
