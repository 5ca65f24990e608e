//! Checkpoints: copying the write-ahead log into the database, off the writer's path.
//!
//! A passive checkpoint copies what was there when it began. Under load the writer has added more by the time it ends,
//! so the log is never wholly copied, never starts again from its beginning, and grows for ever. A checkpoint that waits
//! for the writer would stop that, and would stop the writer for as long as all of it takes.
//!
//! So the work is shared. A thread copies whenever a few mebibytes wait. Once the log is too long and the thread has
//! caught up to within an eighth of the limit, the writer copies that rest itself, between two commits; then the next
//! commit begins the log anew. Should the thread not get near, the writer helps at one and a half times the limit.
//!
//! A reader that stays in one transaction holds the log open and both can do nothing; of our readers only a backup does,
//! for as long as it copies the database.

use crate::{Options, failure, failure::Kind, poison::Poison};
use relaymesh_store::Error;
use rusqlite::Connection;
use std::{
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::JoinHandle,
};

/// What stands before each page in the log.
const FRAME_HEADER_BYTES: u64 = 24;

/// How far a checkpoint goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Only looks.
    Look,
    /// Copies what can be copied without waiting.
    Passive,
    /// Copies everything and leaves an empty log.
    Truncate,
}

/// The write-ahead log, in frames: how many there are, and how many of them are copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Frames {
    pub(crate) all: u64,
    pub(crate) copied: u64,
}

/// Runs a checkpoint, and says where the log stands after it.
pub(crate) fn run(connection: &Connection, mode: Mode) -> rusqlite::Result<Frames> {
    let sql = match mode {
        Mode::Look => "PRAGMA wal_checkpoint(NOOP)",
        Mode::Passive => "PRAGMA wal_checkpoint(PASSIVE)",
        Mode::Truncate => "PRAGMA wal_checkpoint(TRUNCATE)",
    };
    let count = |found: i64| u64::try_from(found).unwrap_or(0);
    let mut statement = connection.prepare_cached(sql)?;
    statement.query_row([], |row| Ok(Frames { all: count(row.get(1)?), copied: count(row.get(2)?) }))
}

/// What the writer knows about the length of the log.
#[derive(Debug)]
pub(crate) struct Wal {
    frame_bytes: u64,
    wake_bytes: u64,
    bytes_max: u64,
    bytes: u64,
    help_at_bytes: u64,
}

impl Wal {
    /// The log of the database that `writer` has open.
    pub(crate) fn new(writer: &Connection, options: &Options) -> Result<Self, Error> {
        let page_bytes = writer.query_row("PRAGMA page_size", [], |row| row.get::<_, u32>(0));
        let page_bytes = page_bytes.map_err(|error| failure::sqlite("cannot read the page size", &error))?;
        Ok(Self {
            frame_bytes: u64::from(page_bytes) + FRAME_HEADER_BYTES,
            wake_bytes: options.checkpoint_bytes,
            bytes_max: options.wal_bytes_max,
            bytes: 0,
            help_at_bytes: options.wal_bytes_max,
        })
    }

    /// After a commit: wakes the thread if enough waits, helps if the log is too long. Gives the bytes written since.
    pub(crate) fn tend(&mut self, writer: &Connection, beside: &Checkpointer, poison: &Poison) -> Result<u64, Error> {
        let frames = survive(run(writer, Mode::Look), poison)?;
        let Some(frames) = frames else { return Ok(0) };
        let bytes = frames.all * self.frame_bytes;
        let waiting = frames.all.saturating_sub(frames.copied) * self.frame_bytes;
        if bytes < self.bytes {
            self.help_at_bytes = self.bytes_max;
            self.bytes = 0;
        }
        let grown = bytes - self.bytes;
        self.bytes = bytes;
        let is_near = waiting <= self.bytes_max / 8;
        if bytes >= self.help_at_bytes && (is_near || bytes >= self.bytes_max / 2 * 3) {
            beside.wait_until_idle();
            survive(run(writer, Mode::Passive), poison)?;
            // If a reader was in the way, the same again at once would change nothing.
            self.help_at_bytes = bytes + self.bytes_max / 8;
        } else if waiting >= self.wake_bytes {
            beside.wake();
        }
        Ok(grown)
    }
}

/// A checkpoint that found no room or somebody in its way is tried again later; one that hit the disk's limits is poison.
pub(crate) fn survive(outcome: rusqlite::Result<Frames>, poison: &Poison) -> Result<Option<Frames>, Error> {
    match outcome {
        Ok(frames) => Ok(Some(frames)),
        Err(error) => match failure::kind(&error) {
            Kind::Full | Kind::Busy => Ok(None),
            Kind::Io | Kind::Damaged | Kind::Constraint | Kind::Other => {
                Err(poison.set(format!("a checkpoint failed: {error}")))
            }
        },
    }
}

/// The thread that copies, and how to reach it.
#[derive(Debug)]
pub(crate) struct Checkpointer {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// There is something to copy, or it is being copied.
    busy: bool,
    stop: bool,
}

impl Checkpointer {
    /// Starts the thread.
    pub(crate) fn start(connection: Connection, poison: Poison) -> std::io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let theirs = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("wal-checkpoint".to_owned())
            .spawn(move || while copy_when_woken(&theirs, &connection, &poison) {})?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// There is something to copy.
    pub(crate) fn wake(&self) {
        let was_busy = std::mem::replace(&mut self.shared.lock().busy, true);
        if !was_busy {
            self.shared.changed.notify_all();
        }
    }

    /// Returns once nothing is being copied.
    pub(crate) fn wait_until_idle(&self) {
        let copying = |state: &mut State| state.busy && !state.stop;
        drop(self.shared.changed.wait_while(self.shared.lock(), copying).unwrap_or_else(PoisonError::into_inner));
    }

    /// Ends the thread after what it is doing.
    pub(crate) fn stop(&mut self) {
        self.shared.lock().stop = true;
        self.shared.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for Checkpointer {
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
fn copy_when_woken(shared: &Shared, connection: &Connection, poison: &Poison) -> bool {
    let asleep = |state: &mut State| !state.busy && !state.stop;
    let woken = shared.changed.wait_while(shared.lock(), asleep).unwrap_or_else(PoisonError::into_inner);
    let stop = woken.stop;
    drop(woken);
    let outcome = if stop { Ok(None) } else { survive(run(connection, Mode::Passive), poison) };
    let mut state = shared.lock();
    state.busy = false;
    state.stop |= outcome.is_err();
    shared.changed.notify_all();
    !state.stop
}
