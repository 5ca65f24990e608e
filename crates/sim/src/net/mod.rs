//! A mesh in a hostile network: two to seven nodes, each a [`Peer`](relaymesh_mesh::peer::Peer) with its fold, its sync and its membership, on a
//! simulated clock, disk and network.
//!
//! One seed decides everything, as in the world of one node. Frames are lost, late, doubled and overtaken; links fail in one direction or
//! both; nodes are killed in the middle of a write and come back, some after a thousand ops; clocks are skewed and one may be far
//! ahead; and in half of the worlds one node lies, with a key that is valid and rights that are not many (`liar.rs`),
//! and tells the others who is there and who is not (`rumours.rs`).
//!
//! ```text
//!   break ─────────────────► heal ─────────────► rest
//!   faults, lies, load       the owner freezes   everybody holds the same ops and the same rows,
//!                            the liar            everything has ended, and is sealed
//! ```
//!
//! | invariant | in short |
//! |---|---|
//! | CONVERGE | nodes that hold the same ops have the same state hash, byte for byte, and in the end all hold the same ops |
//! | AUTHORITY | nothing took effect that its author was not allowed to say, or from where it wrote twice on, or that a seal leaves out; by models of their own |
//! | STABLE | what a node called stable never changes, on any node |
//! | DURABLE | what was acknowledged is on every node in the end |
//! | ONCE | each step has one holder at a time and at most one result that counts, each key one task, and the earlier claim or task is the one; by a model of its own |
//! | HONEST | nobody has proof that an honest node lies |
//! | REBUILD | the rows are those of a fold from nothing, the logs hold together |
//! | PROGRESS | in a healthy mesh everything ends, is sealed, and everybody sees everybody |
//! | BOUNDED | what waits for something else, and every queue of sync, stays within its limits; nobody is known who does not exist |

mod actor;
mod check;
mod fault;
mod holders;
mod liar;
mod network;
mod node;
mod plan;
mod report;
mod rumours;
mod sealed;
mod world;

pub use check::Broken;
pub use report::{NetReport, NetTotals, run};
