//! One life of a node's process: the production loop, stepped by hand.
//!
//! [`Life::turn`] does what the driver's kernel thread does around [`EventLoop`]: hand in what has come, make a turn, pass
//! the batch on. The writer is the simulated disk, so between any two turns time passes, and a kill may fall there.

use super::{outside::Outside, panel::Shared, reader::FaultyReader, running::Running};
use crate::time::{MS, Ns};
use relaymesh_core::id::StepId;
use relaymesh_runtime::{
    driver::{Config, Engine, EventLoop, Next, Request, Sizes, Turn},
    world::{Finished, World as _},
};
use relaymesh_store::{
    Batch, Error as StoreError, Reader as _, Spend, Store as _,
    memory::{Disk, MemoryStore},
};
use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};

/// One attempt: its step and its fence.
pub(crate) type Attempt = (StepId, u32);

/// What reaches the kernel thread.
pub(crate) enum Input {
    Request(Request),
    Finished(Finished),
    Spent(Spend),
    /// Its agents have others shares.
    Refresh,
    Committed(Result<(), StoreError>),
    Close,
}

/// What a round came to.
#[derive(Debug, Default)]
pub(crate) struct Turned {
    /// A batch for the disk.
    pub(crate) handed: Option<Arc<Batch>>,
    /// There is more to decide at once.
    pub(crate) again: bool,
    /// Otherwise, when to come back if nothing happens before.
    pub(crate) wake: Option<Ns>,
    /// The process ends: it was poisoned, or asked to stop and is done.
    pub(crate) ended: bool,
}

pub(crate) struct Life {
    pub(crate) number: u64,
    turns: EventLoop<FaultyReader, Outside>,
    store: MemoryStore,
    pub(crate) inputs: VecDeque<Input>,
    /// Attempts under way that are counted.
    pub(crate) running: BTreeMap<Attempt, Running>,
    /// What the disk is writing.
    pub(crate) writing: Option<Arc<Batch>>,
    /// Whether a round is on the agenda.
    pub(crate) turn_due: bool,
    /// When the engine wants to be woken.
    pub(crate) wake: Option<Ns>,
}

impl Life {
    /// Starts a process on what the disk has. Fails when something cannot be read.
    pub(crate) fn start(number: u64, disk: &Disk, panel: &Shared, config: &Config) -> Result<Self, StoreError> {
        let store = disk.open()?;
        let mut reader = FaultyReader::new(store.reader()?, panel.clone());
        let floor_ms = reader.head()?.hlc().map_or(0, |hlc| hlc.wall_ms);
        let books = FaultyReader::new(store.reader()?, panel.clone());
        let engine = Engine::new(reader, Outside::new(panel.clone(), floor_ms, books), config.clone())?;
        Ok(Self {
            number,
            turns: EventLoop::new(engine),
            store,
            inputs: VecDeque::new(),
            running: BTreeMap::new(),
            writing: None,
            turn_due: false,
            wake: None,
        })
    }

    /// One turn of the loop. `put_early`: whether it finds the time to encode rows before it sleeps.
    pub(crate) fn turn(&mut self, decisions: usize, put_early: bool) -> Turned {
        let mut turned = Turned::default();
        while let Some(input) = self.inputs.pop_front() {
            self.take_in(input, &mut turned);
        }
        let Turn { batch, next } = self.turns.poll_turn(decisions);
        self.hand_over(batch, &mut turned);
        match next {
            Next::Again => turned.again = true,
            Next::Wait => {
                if put_early {
                    self.turns.handle_idle();
                }
                turned.wake = self.turns.wake_at().map(|ms| ms.saturating_mul(MS));
            }
            Next::Ended(_) => turned.ended = true,
        }
        turned
    }

    fn take_in(&mut self, input: Input, turned: &mut Turned) {
        match input {
            Input::Request(request) => self.turns.handle_request(request),
            Input::Finished(finished) => self.turns.handle_finished(finished),
            Input::Spent(spend) => self.turns.handle_spent(spend),
            Input::Refresh => self.turns.handle_refresh(),
            Input::Committed(result) => {
                let batch = self.turns.handle_committed(result);
                self.hand_over(batch, turned);
                self.turns.tell();
            }
            Input::Close => self.turns.handle_stop(),
        }
    }

    fn hand_over(&mut self, batch: Option<Arc<Batch>>, turned: &mut Turned) {
        if let Some(batch) = batch {
            self.writing = Some(Arc::clone(&batch));
            turned.handed = Some(batch);
        }
    }

    /// The disk is done with the batch: it is there, unless the disk was told to fail.
    pub(crate) fn written(&mut self) -> Option<(Arc<Batch>, Result<(), StoreError>)> {
        let batch = self.writing.take()?;
        let result = self.store.commit(&batch);
        self.inputs.push_back(Input::Committed(result.clone()));
        Some((batch, result))
    }

    /// The process dies. `torn`: whether a batch that was on its way reached the disk all the same.
    pub(crate) fn die(mut self, torn: bool) -> Result<(), StoreError> {
        match self.writing.take().filter(|_| torn) {
            Some(batch) => self.store.commit(&batch),
            None => Ok(()),
        }
    }

    /// What time it is for this process: not before the newest time on its log, whatever the wall clock says.
    pub(crate) fn wall_ms(&mut self) -> u64 {
        self.turns.world_mut().now().wall_ms
    }

    pub(crate) fn sizes(&self) -> Sizes {
        self.turns.glance().sizes
    }

    /// Whether commands wait to be decided.
    pub(crate) fn has_requests(&self) -> bool {
        self.turns.waiting() > 0
    }

    pub(crate) fn is_settled(&self) -> bool {
        self.turns.is_settled() && self.inputs.is_empty()
    }
}
