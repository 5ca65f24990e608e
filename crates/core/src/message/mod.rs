//! The message machine: what agents say to each other, through the log and never past it (R8).
//!
//! A message waits in a queue, is handed to its recipient under a lease, and ends. Delivery is at least once: a recipient
//! that dies or stays silent loses its lease, and the message is handed out again, until it is done, given up, or too
//! old. A thread is the scope: its messages are folded together, so an answer can never be without its question.
//!
//! ```text
//!                deliver                acknowledge, reply
//!  QUEUED ──────────────► PROCESSING ─────────────────────────► DONE
//!    ▲  ▲                   │  │  │ fail (final)
//!    │  └─return, expire, ──┘  │  └────────────► FAILED ──redrive──┐
//!    │    fail (retryable)     └─(deliveries used up)──► DEAD ─────┤
//!    │        └────────── too old (also while it waits) ──►┘       │
//!    └─────────────────────────────────────────────────────────────┘
//! ```
//!
//! [`table::TRANSITIONS`] is that picture as data, and no message moves but through it.
//!
//! **Answers (R38).** A message may say which attempt waits for its answer ([`Draft::asks`]). A reply is fenced by the delivery's
//! lease, ends the question, and the effect [`Effect::Answered`] tells the driver to complete that step in the same
//! commit. The question's row remembers `answered_by`, and the answer's row its content, so after a restart the same can
//! be read from the rows again ([`ThreadRows::answered`]). An answer that completes a step is DONE at once: the step was
//! its recipient. Every other answer is queued for whoever asked.

pub mod spec;
pub mod state;
pub mod table;

mod acknowledge;
mod apply;
mod body;
mod deliver;
mod expire;
mod fail;
mod held;
mod purge;
mod redrive;
mod reply;
mod returns;
mod send;
mod validate;

#[cfg(test)]
mod tests;

pub use apply::{Effect, Refusal, apply};
pub use body::Body;
pub use purge::purge;
pub use spec::Draft;
pub use state::{DeadReason, Message, Thread, ThreadRows};
pub use table::{State, Verb};
pub use validate::{Invalid, validate};

/// How many messages a thread may have.
pub const MESSAGES_MAX: usize = 10_000;
/// The most deliveries that a sender may ask for.
pub const DELIVERIES_MAX: u32 = 1_000;
