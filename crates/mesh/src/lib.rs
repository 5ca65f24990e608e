//! The rules of several nodes: what a node needs besides its own kernel when others write, too.
//!
//! Like the kernel, everything here is a function of its arguments: no clock, no randomness, no I/O and no hash map to iterate.
//! No daemon runs any of it yet. The simulator does: it puts [`peer::Peer`]s into networks that lose, double and delay.
//!
//! ```text
//!  peer         the driver of one node of a mesh in which every node writes a feed: all of the below, joined
//!  feed, sync   signed logs, and how nodes bring each other up to date
//!  fold         ops of many authors to the same rows, in whatever order they arrive; seals, standings, the roster
//!  register     what the owner says about the mesh;  mandate  judges each op by it;  capability, route
//!  membership   who is alive;  work  how a worker behaves among others
//!  fence, write_queue, reconcile, handoff, breaker   one coordinator, outages, and what becomes of late writes
//!  auth         credentials, sealed for one node
//! ```

pub mod auth;
pub mod breaker;
pub mod capability;
pub mod feed;
pub mod fence;
pub mod fold;
pub mod handoff;
pub mod mandate;
pub mod membership;
pub mod peer;
pub mod reconcile;
pub mod register;
pub mod route;
pub mod rows;
pub mod sync;
pub mod work;
pub mod write_queue;
