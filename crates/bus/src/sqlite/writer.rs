//! The thread that decides and commits: whatever waits, in one transaction.
//!
//! ```text
//!  callers ──► desk ──► decide each, one after the other ──► one commit, synced ──► answer all of them
//!                        on Traffic in memory                 of all that changed
//! ```
//!
//! - Each sync costs the same for one call and for two hundred, so nothing waits for a timer: what came while the last commit
//!   was on its way is the next group.
//! - A group shares its fate. If its commit is undone (no room), nothing of it is true, not in memory either: what was decided is read
//!   again from the store, and everybody in the group is told, readers and refused ones as well, because their answers may
//!   rest on what was undone.
//! - If nobody knows what became of it, everybody is told `Poisoned` from then on (D2).

use super::answer::Call;
use crate::store::{Limits, Traffic};
use relaymesh_store::{Batch, Error, Reader as _, Store};
use relaymesh_store_sqlite::SqliteStore;
use std::{
    collections::VecDeque,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
};

/// The most calls that share a commit.
const GROUP_MAX: usize = 256;

/// Where calls wait for the writer. As many wait as there are callers: each of them waits for its own.
#[derive(Default)]
pub(super) struct Desk {
    waiting: Mutex<Waiting>,
    bell: Condvar,
}

#[derive(Default)]
struct Waiting {
    calls: VecDeque<Box<dyn Call>>,
    is_closed: bool,
}

impl Desk {
    /// Leaves a call for the writer. After the end it is answered at once: by being dropped.
    pub(super) fn leave(&self, call: Box<dyn Call>) {
        let mut waiting = self.look();
        if !waiting.is_closed {
            waiting.calls.push_back(call);
            self.bell.notify_one();
        }
    }

    /// No more calls are taken; those that wait are still dealt with.
    pub(super) fn close(&self) {
        self.look().is_closed = true;
        self.bell.notify_one();
    }

    /// The next calls, as soon as there are any; none when it is closed and empty.
    fn group(&self) -> Option<Vec<Box<dyn Call>>> {
        let waiting = self.look();
        let idle = |waiting: &mut Waiting| waiting.calls.is_empty() && !waiting.is_closed;
        let mut waiting = self.bell.wait_while(waiting, idle).unwrap_or_else(PoisonError::into_inner);
        let count = waiting.calls.len().min(GROUP_MAX);
        (count > 0).then(|| waiting.calls.drain(..count).collect())
    }

    fn look(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The store with what it knows of traffic.
#[derive(Debug)]
pub(super) struct Writer {
    store: SqliteStore,
    limits: Limits,
    traffic: Traffic,
}

impl Writer {
    /// Reads what was kept.
    pub(super) fn new(store: SqliteStore, limits: Limits) -> Result<Self, Error> {
        let traffic = Traffic::restore(limits, store.reader()?.traffic()?)?;
        Ok(Self { store, limits, traffic })
    }

    /// Serves the desk until it is closed, and gives the store back.
    pub(super) fn run(mut self, desk: &Desk) -> SqliteStore {
        let _leaving = Leaving(desk);
        while let Some(mut calls) = desk.group() {
            self.serve(&mut calls);
        }
        self.store
    }

    /// Decides a group, commits it and answers it.
    pub(super) fn serve(&mut self, calls: &mut [Box<dyn Call>]) {
        let outcome = self.commit(calls);
        calls.iter_mut().for_each(|call| call.answer(&outcome));
    }

    fn commit(&mut self, calls: &mut [Box<dyn Call>]) -> Result<(), Error> {
        self.store.check_poison()?;
        let mut batch = Batch::new(self.store.head().clone());
        // Whoever does not wait any more has not been promised anything.
        for call in calls.iter_mut().filter(|call| call.is_wanted()) {
            call.decide(&mut self.traffic, &mut batch.traffic);
        }
        if batch.traffic.is_empty() {
            return Ok(());
        }
        self.store.commit(&batch).map_err(|error| self.undone(error))
    }

    /// What was decided does not count: back to what the store has, if that is known.
    fn undone(&mut self, error: Error) -> Error {
        if matches!(error, Error::Poisoned { .. }) {
            return error;
        }
        match self.store.reader().and_then(|mut reader| Traffic::restore(self.limits, reader.traffic()?)) {
            Ok(traffic) => {
                self.traffic = traffic;
                error
            }
            Err(failed) => self.store.set_poison(format!("{error}; and then {failed}")),
        }
    }
}

/// However the thread ends, nobody waits for it any longer.
struct Leaving<'a>(&'a Desk);

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        self.0.close();
        let left: VecDeque<_> = std::mem::take(&mut self.0.look().calls);
        drop(left);
    }
}
