//! Those who use a node from outside: clients that ask for things, and workers that do them.
//!
//! They know what they were told and what anybody can read from the node's rows, and nothing else. Each has randomness
//! of its own.

mod client;
mod flow;
mod worker;

pub(crate) use client::{Client, Next};
pub(crate) use worker::{Heard, Worker};

use crate::{
    ledger::Ledger,
    time::{MS, Ns},
};

/// How the world is just now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    /// Things break.
    Break,
    /// Nothing breaks any more; work goes on.
    Work,
    /// Nothing new is begun; what was accepted must end.
    Drain,
}

/// What an actor can see: the durable rows, the time, and whether the world is in order.
pub(crate) struct View<'a> {
    pub(crate) ledger: &'a Ledger,
    pub(crate) phase: Phase,
    pub(crate) now: Ns,
    pub(crate) wall_ms: u64,
}

impl View<'_> {
    pub(crate) fn healthy(&self) -> bool {
        self.phase != Phase::Break
    }

    pub(crate) fn now_ms(&self) -> u64 {
        self.now / MS
    }
}
