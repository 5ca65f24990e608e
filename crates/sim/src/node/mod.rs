//! A node: a machine with a disk and clocks, and at most one process on it.
//!
//! The disk outlives the process, the panel belongs to the machine, and a [`Life`] ends with every kill.

mod life;
mod outside;
mod panel;
mod reader;
mod running;

pub(crate) use life::{Attempt, Input, Life, Turned};
pub(crate) use outside::{Begun, HeldNow, REMOTE_AGENT, Refused, done};
pub(crate) use panel::{Busy, Shared};
pub(crate) use running::Running;

use crate::{
    call::CallId,
    rng::Rng,
    share::Shares,
    time::{MS, Ns},
};
use relaymesh_core::id::{NodeId, StepId};
use relaymesh_store::{
    Error,
    memory::{Disk, MemoryReader},
};
use std::collections::BTreeSet;

/// A machine.
pub(crate) struct Node {
    pub(crate) disk: Disk,
    pub(crate) panel: Shared,
    pub(crate) rng: Rng,
    /// The process, unless it is down.
    pub(crate) life: Option<Life>,
    /// How many there were.
    pub(crate) lives: u64,
    /// What is in the batch that was last handed to the disk was decided between these.
    pub(crate) decided: (Ns, Ns),
    /// Since when the batch after that one is being decided, if it is.
    pub(crate) opened: Option<Ns>,
    /// Until then the process stands still.
    pub(crate) paused_until: Ns,
    /// Events until it is killed.
    pub(crate) kill_in: Option<u64>,
    /// It is to be killed while its next commit is on its way.
    pub(crate) kill_in_write: bool,
    pub(crate) ails: Ails,
    /// Calls that have arrived here and are not answered.
    pub(crate) pending: BTreeSet<CallId>,
    /// Attempts whose agent was stopped in time: their outcome never comes.
    pub(crate) silenced: BTreeSet<(StepId, u32)>,
}

/// What is wrong with the disk, and until when.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Ails {
    pub(crate) slow_until: Ns,
    /// A commit on the slow disk takes up to this long.
    pub(crate) slow: Ns,
    pub(crate) full_until: Ns,
    pub(crate) io_error: bool,
    pub(crate) reads_until: Ns,
}

impl Node {
    pub(crate) fn new(index: usize, mut rng: Rng, wall_ms: u64, shares: Shares) -> Self {
        let id = NodeId::new(wall_ms, index as u128 + 1);
        Self {
            disk: Disk::new(id),
            panel: Shared::new(rng.fork(), wall_ms, shares),
            rng,
            life: None,
            lives: 0,
            decided: (0, 0),
            opened: None,
            paused_until: 0,
            kill_in: None,
            kill_in_write: false,
            ails: Ails::default(),
            pending: BTreeSet::new(),
            silenced: BTreeSet::new(),
        }
    }

    /// What is on the disk, read without faults.
    pub(crate) fn reader(&self) -> MemoryReader {
        self.disk.reader()
    }

    /// What time its process would say it is.
    pub(crate) fn wall_ms(&mut self) -> u64 {
        match &mut self.life {
            Some(life) => life.wall_ms(),
            None => self.panel.look().wall_ms(),
        }
    }

    /// How long the next commit takes.
    pub(crate) fn commit_takes(&mut self, now: Ns) -> Ns {
        if now < self.ails.slow_until {
            self.rng.between(20 * MS, self.ails.slow)
        } else if now < self.ails.full_until && self.rng.chance(800) {
            self.rng.between(MS / 50, MS) // a disk without room mostly says so at once
        } else if now < self.ails.full_until {
            self.rng.between(MS, 300 * MS) // or after much was decided on top of what it has no room for
        } else {
            self.rng.between(MS / 5, 4 * MS)
        }
    }

    /// Tells the disk how the commit that is about to end shall end.
    pub(crate) fn arm(&mut self, now: Ns) {
        if self.ails.io_error {
            self.ails.io_error = false;
            let applied = self.rng.chance(500);
            self.disk.fail_next_commit(Error::Poisoned { detail: "a simulated sync failed".to_owned() }, applied);
        } else if now < self.ails.full_until {
            self.disk.fail_next_commit(Error::Full { detail: "the simulated disk is full".to_owned() }, false);
        }
    }
}
