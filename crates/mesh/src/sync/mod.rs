//! Sync: how feeds travel between nodes (F5, F16, F17, L7, L12, L13, D18, D20, D24).
//!
//! ```text
//!   A                                        B
//!   │── Frontier: my heads, of these feeds ──►│  compares, asks for what it lacks,
//!   │◄───────── Frontier: what you lack ──────│  and names what A lacks
//!   │── Want: that head; I stand here ───────►│  finds the newest place that both have
//!   │◄───────────────── Run from there ───────│
//!   │ verified ► accepted ► the node takes it ► the next Want
//! ```
//!
//! Nothing is remembered about what was sent. A frontier and a locator say all there is to say, so a lost frame, a duplicate, a
//! restart of either side and a partition of a week are the same case: the next frontier starts again from what the logs hold.
//! The tempting wrong answer, a cursor for each peer at the sender, is wrong after every restore of either side.
//!
//! - **Anti-entropy**: each node tells one other its heads every so often, around the ring. What is new here goes to all at once.
//! - **Bounds**: one request for each feed, few for each peer, and none while accepted runs wait to be taken. A peer that sends more than its
//!   quota is not read. So a liar costs a known amount, and stops nobody else.
//! - **Gates** ([`Gate`]): ops of origins that are not enrolled are refused, and offered again later by whoever has them.
//! - **Quarantine** (D20): what is dated too far ahead is held, shown, does not move any clock, and is let in when time has caught up. Its author
//!   is told ([`Sync::told_ahead`]).
//! - **Forks** (D24): a frontier names the heads of both branches, and either can be asked for by its hash.
//! - **Content** is fetched by hash in parts, from whoever may and will give it (L13).
//!
//! The machine does nothing itself: `handle_*` takes the world in, `poll_*` gives out what is to be sent, kept and told. What is in the log it
//! reads through [`FeedLog`](crate::feed::FeedLog). Time and the generator come from outside; one seed, one run.

mod accept;
mod config;
mod content;
mod frame;
mod frontier;
mod gate;
mod locator;
mod node;
mod peer;
mod quarantine;
mod serve;
mod status;
#[cfg(test)]
mod tests;
mod validate;
mod want;

pub use accept::Accepted;
pub use config::{Config, Quota};
pub use content::{Fetched, Outcome, PART_BYTES_MAX};
pub use frame::{FRAME_BYTES_MAX, FRONTIER_FEEDS_MAX, Frame, Frontier, LOCATOR_MAX, Span, Want};
pub use gate::{Around, Gate};
pub use node::{Counters, Event, Refused, Sync, Transmit};
pub use quarantine::{Ahead, Quarantined};
pub use status::{FeedStatus, PeerStatus};
