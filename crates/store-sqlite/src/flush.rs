//! The flusher: syncs the sidecar soon after it was written, off the path that acknowledges.
//!
//! The commit itself is synced; the sidecar only has to be durable before an older copy of the database could pass for
//! the newest one. So one thread sleeps until the sidecar is written, waits a little for more, and syncs once for all.
//! While nothing is written it sleeps without a timer.

use crate::poison::Poison;
use std::{
    fs::File,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::JoinHandle,
    time::Duration,
};

/// Half of the 50 ms that are promised: the other half is for the sync itself.
const GATHER: Duration = Duration::from_millis(25);

/// The thread and how to reach it.
#[derive(Debug)]
pub(crate) struct Flusher {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default, Clone, Copy)]
struct State {
    dirty: bool,
    stop: bool,
}

impl Flusher {
    /// Starts the thread.
    pub(crate) fn start(file: Arc<File>, poison: Poison) -> std::io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let theirs = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("sidecar-sync".to_owned())
            .spawn(move || while sync_when_dirty(&theirs, &file, &poison) {})?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// The sidecar was written.
    pub(crate) fn wake(&self) {
        let was_dirty = std::mem::replace(&mut self.shared.lock().dirty, true);
        if !was_dirty {
            self.shared.changed.notify_one();
        }
    }

    /// Syncs what is left and ends the thread.
    pub(crate) fn stop(&mut self) {
        self.shared.lock().stop = true;
        self.shared.changed.notify_one();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for Flusher {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One round; false when it was the last.
fn sync_when_dirty(shared: &Shared, file: &File, poison: &Poison) -> bool {
    let asleep = |state: &mut State| !state.dirty && !state.stop;
    let state = shared.changed.wait_while(shared.lock(), asleep).unwrap_or_else(PoisonError::into_inner);
    let gathering = shared.changed.wait_timeout_while(state, GATHER, |state| !state.stop);
    let (mut state, _) = gathering.unwrap_or_else(PoisonError::into_inner);
    let State { dirty, stop } = *state;
    state.dirty = false;
    drop(state);
    if dirty && let Err(error) = file.sync_data() {
        poison.set(format!("cannot sync the sidecar: {error}"));
        return false;
    }
    !stop
}
