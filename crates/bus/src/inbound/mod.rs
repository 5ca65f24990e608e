//! Inbound order: each envelope takes effect once, and those of one sender in the order of their sending (D15, D17).
//!
//! ```text
//!                     nonce known          epoch older          sequence ≤ mark        otherwise
//!  sender known       Replay               StaleEpoch           BadSequence            admitted: nonce and mark, at once
//!  sender new         –                    –                    –                      admitted, unless there are too many
//! ```
//!
//! - **One question, one answer.** The tempting interface asks whether a nonce was seen and later says that it was: two
//!   copies that arrive together both pass. Here there is [`Inbox::admit`] alone, which checks and records, or refuses and
//!   changes nothing.
//! - **Only what was verified.** An [`Arrival`] can only be made of an opened envelope.
//! - **Epochs.** A sender that lost its memory, or was restored from a copy, cannot know how far it had counted. It takes a
//!   greater epoch and counts from 1. There is one mark for each sender: its newest epoch and the greatest sequence in it.
//!   Whatever is of an earlier epoch is refused, so nothing is ever kept for an epoch that is over.
//! - **Bounded, and fair.** At most [`Limits::nonces_max`] nonces are kept. When there is no room, the sender that has the most
//!   gives up its oldest: with one sender that is a plain queue, and with many nobody can push out the nonces of others by
//!   sending a lot. Marks are never given up, because a forgotten mark lets old envelopes in again; when there are
//!   [`Limits::peers_max`] of them, new senders are refused.
//!
//! An admission says what it changed ([`Admitted`]), so that a store can keep it with the effect of the envelope, in one commit.
//! A store kept all of it, or none; [`Inbox::restore`] is the way back.
//!
//! Invariant ([`Inbox::validate`]): no more nonces and marks than allowed, and every nonce belongs to a sender with a mark.

mod admit;
#[cfg(test)]
mod tests;
mod validate;

pub use admit::{Arrival, Inbox, Refusal, Unfit};
pub use relaymesh_store::traffic::{Admitted, Mark};

/// The most nonces that are kept, unless a node is set up otherwise.
pub const NONCES_MAX: usize = 4_096;
/// The most senders, unless a node is set up otherwise.
pub const PEERS_MAX: usize = 1_024;

/// How much is remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The most nonces, of all senders together.
    pub nonces_max: usize,
    /// The most senders.
    pub peers_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { nonces_max: NONCES_MAX, peers_max: PEERS_MAX }
    }
}
