//! The driver: commands in, durable answers out.
//!
//! ```text
//!  callers ──Request──► kernel thread ──Batch──► writer thread ──► store
//!     ▲                  Engine: load,  ◄─Committed─  commit, sync
//!     └────── answers ── decide, apply
//! ```
//!
//! The [`Engine`] is the driver without threads: `handle_*` takes something from outside, `poll_batch` gives out the next
//! batch, and one batch at most is on its way. While batch *n* syncs, batch *n+1* is decided on the uncommitted rows of
//! *n*; every answer, refusals included, waits for the commit of the batch that it was decided in, so nobody is told of
//! something that a crash could undo. There is no timer: as soon as the writer is free, whatever waits is committed.
//!
//! How a commit may end: `Ok`: answer, start agents. `Full`: *n* was rolled back and *n+1* stands on it, so both are
//! rejected and the rows are read again. `Poisoned`: unknown; everybody is told `indeterminate`, and the node stops.
//!
//! The [`EventLoop`] decides in which order an engine is given what comes in. [`Driver`] puts a loop and a store on two
//! threads; the simulator steps the same loop by hand.

mod ask;
mod attempts;
mod audience;
mod caller;
mod command;
mod commit;
mod dispatch;
mod effects;
mod engine;
mod error;
mod event;
mod event_loop;
mod identity;
mod input;
mod life;
mod live;
mod locks;
mod messages;
mod meter;
pub(crate) mod namespaces;
mod park;
mod pipeline;
mod proof;
mod ready;
mod recover;
mod said;
mod scopes;
mod sizes;
mod threads;
mod ticks;
mod timers;
mod upkeep;
mod verbs;
mod write;

#[cfg(test)]
mod tests;

pub use audience::{Audience, Watcher};
pub use caller::Caller;
pub use command::{
    Answer, Command, Delivery, Letter, LifeCommand, LockCommand, MessageCommand, Recorded, Reply, Request, Submit,
    Until, Within,
};
pub use engine::{Config, Engine};
pub use error::Error;
pub use event::{Event, Posted, StepEvent};
pub use event_loop::{EventLoop, Glance, Next, Turn};
pub use meter::Meter;
pub use namespaces::NAMESPACES_MAX;
pub use proof::{NoProof, Proof};
pub use sizes::Sizes;
pub use threads::{Driver, Handle};
