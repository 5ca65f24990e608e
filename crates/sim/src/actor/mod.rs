//! Those who use a node from outside: clients that ask for things, workers that do them, lockers, senders, recipients,
//! and whoever tidies up.
//!
//! They know what they were told and what anybody can read from the node's rows, and nothing else. Each has randomness
//! of its own.

mod client;
mod flow;
mod janitor;
mod letter;
mod locker;
mod recipient;
mod sender;
mod worker;

pub(crate) use client::{Client, NAMESPACES, Next};
pub(crate) use flow::item_input;
pub(crate) use janitor::Janitor;
pub(crate) use letter::AGENTS;
pub(crate) use locker::Locker;
pub(crate) use recipient::Recipient;
pub(crate) use sender::Sender;
pub(crate) use worker::{Heard, Worker};

use crate::{
    call::Word,
    ledger::Ledger,
    time::{MS, Ns},
};
use relaymesh_runtime::driver::Command;
use relaymesh_store::memory::Disk;

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
    /// Where long content is put before anybody is told of it.
    pub(crate) blobs: &'a Disk,
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

/// Somebody who does one thing at a time: asks, waits for the end of it, and pauses.
pub(crate) trait Party {
    /// What it asks for now, if anything.
    fn act(&mut self, view: &View<'_>) -> Option<Command>;

    /// Takes the end of its call.
    fn hear(&mut self, command: &Command, word: &Word, view: &View<'_>);

    /// How long it pauses.
    fn pause(&mut self) -> Ns;

    /// How long it waits for an answer.
    fn patience(&mut self, healthy: bool) -> Ns;

    /// Whether it has nothing to finish.
    fn is_idle(&self) -> bool;
}
