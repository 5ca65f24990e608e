//! One life of a node's process: the production engine, stepped as the driver's kernel thread steps it.
//!
//! [`Life::turn`] is one round of that thread (`crates/runtime/src/driver/threads.rs`): take in what has come, tick,
//! decide a little, hand the next batch to the writer. The writer is the simulated disk, so between any two rounds time
//! passes, and a kill may fall there.

use super::{outside::Outside, panel::Shared, reader::FaultyReader};
use crate::time::{MS, Ns};
use relaymesh_runtime::{
    driver::{Config, Engine, Error, Request, Sizes},
    world::{Finished, World as _},
};
use relaymesh_store::{
    Batch, Error as StoreError, Reader as _, Store as _,
    memory::{Disk, MemoryStore},
};
use std::{collections::VecDeque, sync::Arc};

/// What reaches the kernel thread.
pub(crate) enum Input {
    Request(Request),
    Finished(Finished),
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
    engine: Engine<FaultyReader, Outside>,
    store: MemoryStore,
    pub(crate) inputs: VecDeque<Input>,
    requests: VecDeque<Request>,
    /// What the disk is writing.
    pub(crate) writing: Option<Arc<Batch>>,
    /// Whether a round is on the agenda.
    pub(crate) turn_due: bool,
    /// When the engine wants to be woken.
    pub(crate) wake: Option<Ns>,
    stopping: bool,
}

impl Life {
    /// Starts a process on what the disk has. Fails when something cannot be read.
    pub(crate) fn start(number: u64, disk: &Disk, panel: &Shared, config: &Config) -> Result<Self, StoreError> {
        let store = disk.open()?;
        let mut reader = FaultyReader::new(store.reader()?, panel.clone());
        let floor_ms = reader.head()?.hlc().map_or(0, |hlc| hlc.wall_ms);
        let engine = Engine::new(reader, Outside::new(panel.clone(), floor_ms), config.clone())?;
        Ok(Self {
            number,
            engine,
            store,
            inputs: VecDeque::new(),
            requests: VecDeque::new(),
            writing: None,
            turn_due: false,
            wake: None,
            stopping: false,
        })
    }

    /// One round of the kernel thread. `put_early`: whether it finds the time to encode rows before it sleeps.
    pub(crate) fn turn(&mut self, decisions: usize, put_early: bool) -> Turned {
        let mut turned = Turned::default();
        while let Some(input) = self.inputs.pop_front() {
            self.take_in(input, &mut turned);
        }
        if !self.stopping {
            self.engine.handle_tick();
        }
        self.decide(decisions);
        self.hand_over(&mut turned);
        turned.ended =
            self.engine.poisoned().is_some() || (self.stopping && self.engine.is_settled() && self.requests.is_empty());
        turned.again = self.engine.has_room() && (self.engine.has_starts() || !self.requests.is_empty());
        if !turned.again {
            if put_early {
                self.engine.put_rows();
            }
            turned.wake = if self.stopping { None } else { self.engine.wake_at().map(|ms| ms.saturating_mul(MS)) };
        }
        turned
    }

    fn take_in(&mut self, input: Input, turned: &mut Turned) {
        match input {
            Input::Request(request) => self.requests.push_back(request),
            Input::Finished(finished) => self.engine.handle_finished(finished),
            Input::Committed(result) => {
                self.engine.handle_committed(result);
                self.hand_over(turned);
                self.engine.tell();
            }
            Input::Close => {
                self.stopping = true;
                self.engine.handle_close();
            }
        }
    }

    fn decide(&mut self, decisions: usize) {
        if self.engine.has_room() {
            self.engine.start_some(decisions);
        }
        for _ in 0..decisions {
            if !self.engine.has_room() {
                return;
            }
            let Some(request) = self.requests.pop_front() else { return };
            if self.stopping {
                (request.reply)(Err(Error::Stopped));
            } else {
                self.engine.handle_request(request);
            }
        }
    }

    fn hand_over(&mut self, turned: &mut Turned) {
        while let Some(batch) = self.engine.poll_batch() {
            if batch.is_empty() {
                self.engine.handle_committed(Ok(()));
                self.engine.tell();
            } else {
                self.writing = Some(Arc::clone(&batch));
                turned.handed = Some(batch);
                return;
            }
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
        self.engine.world_mut().now().wall_ms
    }

    pub(crate) fn sizes(&self) -> Sizes {
        self.engine.sizes()
    }

    /// Whether commands wait to be decided.
    pub(crate) fn has_requests(&self) -> bool {
        !self.requests.is_empty()
    }

    pub(crate) fn is_settled(&self) -> bool {
        self.engine.is_settled() && self.inputs.is_empty() && self.requests.is_empty()
    }
}
