//! Membership: which nodes are there, as far as this one can tell (R32, R34).
//!
//! SWIM ([`foca`]) does the asking: each node probes one other at a time, asks third parties when it gets no answer, and
//! passes on what it hears with every message. Its cost for a node does not grow with the mesh. This folder puts around
//! it what the contract asks for beyond that:
//!
//! ```text
//!            not answered                       not refuted in time
//!  ALIVE ───────────────────► SUSPECT ───────────────────────────────► DEAD
//!    ▲                           │                                       │
//!    ├── answers, and suspect_recover_min_ms have passed ────────────────┤
//!    └── answers under a new life, and dead_recover_min_ms have passed ──┘
//! ```
//!
//! - **Dwell windows.** SWIM forgives at once, and a node on a bad link is then in and out every second. Here a recovery counts
//!   only after a minimum time, and earlier ones are suppressed and counted ([`dwell`]).
//! - **Self-doubt.** Whoever hears nobody cannot tell whether the others are gone or it is. It takes itself for SUSPECT, and a
//!   node that others declared dead takes itself for DEAD; then it pulls no work ([`Membership::may_pull`]).
//! - **Anti-entropy.** Gossip is only passed on so often, and a node whose members are all dead has nobody to probe. So every
//!   few seconds a node tells one other, dead ones included, a sample of what it knows, and hears one back. That is what brings
//!   two halves together again ([`frame`]).
//! - **Lives.** A node that was declared dead cannot take that back; it comes again under a new life
//!   ([`Identity`]), which beats the old one everywhere. Within a life, the incarnation refutes suspicions.
//! - **The door.** A member may lie. What it says of others is believed only so far, and nodes that nobody let in are not even kept
//!   ([`door`]).
//!
//! Membership **decides nothing**: not who owns a task, not who coordinates, not what a quorum is (D10). It is a rumour, and two
//! nodes may believe different ones. What it says is a reason to try; fences and leases decide.
//!
//! The machine does nothing itself: [`Membership::handle_frame`] and [`Membership::handle_timeout`] take the world in,
//! `poll_*` gives out what is to be sent, told and waited for. Time and the generator come from outside; one seed, one run.

pub mod door;
pub mod dwell;
pub mod frame;

mod config;
mod ears;
mod identity;
mod local;
mod node;
mod sync;
#[cfg(test)]
mod tests;
mod view;
mod wire;

pub use config::Config;
pub use door::{Rank, Unheard};
pub use dwell::Status;
pub use identity::Identity;
pub use node::{Counters, Event, Membership, Transmit};
pub use view::Known;
