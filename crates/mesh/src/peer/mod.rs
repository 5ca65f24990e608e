//! A peer: one node of a mesh whose nodes each write a feed of their own, without I/O.
//!
//! ```text
//!  commands ──► attempt ──► op ──► open batch ──┐
//!                                               ├──► Commit ──► durable ──► told to others
//!  others ──► sync ──► verified runs ───────────┘                      └──► folded
//!  others ──► membership ──► who can be reached
//! ```
//!
//! - **A local command is tried first** ([`Peer::handle_command`]): what has no effect is refused, and nothing is written.
//! - **Durable before visible**: [`Peer::poll_commit`] gives out what is to be written, and only after
//!   [`Peer::handle_committed`] is it told to anybody or taken from anybody.
//! - **Promises**: now and then a quiet node signs that nothing older is to come from it, so that others can seal.
//! - **Seals** ([`Peer::handle_timeout`]): the coordinator seals what every member's feed has passed. A member that is gone for good holds
//!   that up until the owner freezes it or takes its rights back; the operator can see who it is ([`Peer::behind`]).
//! - **Content** travels beside the log: it is kept, wanted and taken by hash ([`Peer::want_content`]).
//! - **Clocks** (D20): a node that others found to be ahead writes nothing until time has caught up.
//!
//! After a restart the log is all there is: [`Peer::open`] folds it again, and goes on behind its own newest promise.

mod command;
mod commit;
mod config;
mod content;
mod gate;
mod node;
mod roster;
mod seal;

pub use command::{Command, Refused};
pub use commit::Commit;
pub use config::Config;
pub use node::{Channel, Peer, Start, Transmit};
pub use seal::{Behind, Unsealed};
