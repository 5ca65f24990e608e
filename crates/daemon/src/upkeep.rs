//! Periodic upkeep of the daemon: expire old keys, purge what ended long ago, compact the log, remove old files of the file bus
//! (R14, R35).
//!
//! Ages are judged by the time of the root, which does not believe a system clock that nobody has confirmed.
//! Once at the start, and then at its interval. A round that fails is tried again at the next: nothing else depends on it.

use crate::{
    live::Live,
    log::{Level, Log},
};
use relaymesh_api::error::{Code, Error};
use relaymesh_runtime::{
    agents::sweep_folders,
    driver::{Caller, Command, Handle},
    file_bus::{self, Swept},
    root_clock::RootClock,
    upkeep::{self, Retention},
};
use relaymesh_store::Reader as _;
use relaymesh_store_sqlite::{BlobsCompared, SqliteReader};
use serde_json::json;
use std::{
    io,
    path::Path,
    sync::mpsc::{Receiver, RecvTimeoutError},
    time::{Duration, Instant},
};

/// How often.
const INTERVAL: Duration = Duration::from_secs(60 * 60);
/// How often the folder of blobs is compared with the log (R15).
const COMPARE_INTERVAL: Duration = Duration::from_secs(24 * 60 * 60);
/// How many of the blobs that are missing are named.
const NAMED_MAX: usize = 10;

/// Messages to the upkeep.
pub(crate) enum Errand {
    /// Not to wait for its time: something has changed.
    Look,
    /// To end.
    End,
}

/// Runs until it is stopped.
pub(crate) fn run(
    root: &Path,
    handle: &Handle,
    caller: &Caller,
    (live, clock, log): (&Live, &RootClock, &Log),
    errands: &Receiver<Errand>,
) {
    let mut compared: Option<Instant> = None;
    loop {
        let ask = &mut |command: Command| handle.call(caller.clone(), command).map_err(Error::from);
        match round(root, live.settings().retention(), clock.aged_ms(), ask) {
            Ok(done) if done == Done::default() => {}
            Ok(Done { keys, purged, ops, folders, bus: Swept { files, unknown } }) => {
                let fields = json!({
                    "keys": keys, "purged": purged, "ops": ops, "folders": folders, "bus_files": files, "bus_unknown": unknown,
                });
                log.say(Level::Info, "upkeep", fields);
            }
            Err(error) if error.code == Code::Stopping => {}
            Err(error) => log.say(Level::Warn, "upkeep_failed", json!({ "error": error.message })),
        }
        if compared.is_none_or(|at| at.elapsed() >= COMPARE_INTERVAL) {
            compare(root, log);
            compared = Some(Instant::now());
        }
        match errands.recv_timeout(INTERVAL) {
            Ok(Errand::Look) | Err(RecvTimeoutError::Timeout) => {}
            Ok(Errand::End) | Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

/// How much was removed: keys, tasks and threads, ops, folders of attempts, files of the file bus.
#[derive(Debug, Default, PartialEq, Eq)]
struct Done {
    keys: u64,
    purged: u64,
    ops: u64,
    folders: usize,
    bus: Swept,
}

fn round(root: &Path, retention: Retention, aged_ms: u64, ask: upkeep::Ask<'_, Error>) -> Result<Done, Error> {
    let keys = upkeep::sweep_keys(ask, retention.keys_until_ms(aged_ms))?;
    let purged = upkeep::sweep(ask, retention.purge_until_ms(aged_ms), &mut |_| {})?;
    // A checkpoint is an op: one that lets go of nothing would make the log longer.
    let ops = if purged > 0 { upkeep::compact(ask, &mut |_| {})?.ops } else { 0 };
    let mut reader = SqliteReader::open(root)?;
    let folders = sweep_folders(root, &mut |task| Ok::<_, Failed>(reader.task(task)?.is_some()));
    let folders = folders.map_err(|Failed(error)| error)?;
    let bus = file_bus::sweep(root, retention.purge_until_ms(aged_ms))
        .map_err(|error| Error::new(Code::StoreIo, format!("cannot remove old files of the file bus: {error}")))?;
    Ok(Done { keys, purged, ops, folders, bus })
}

/// Compares the names in the folder of blobs with those that the log names, and reports what differs. What the files hold is for
/// `log scrub`.
fn compare(root: &Path, log: &Log) {
    match SqliteReader::open(root).and_then(|mut reader| reader.compare_blobs(NAMED_MAX)) {
        Ok(BlobsCompared { named, unnamed, missing, examples }) => {
            let level = if missing == 0 { Level::Info } else { Level::Error };
            let examples: Vec<String> = examples.iter().map(ToString::to_string).collect();
            let fields = json!({ "named": named, "unnamed": unnamed, "missing": missing, "examples": examples });
            log.say(level, "blobs_compared", fields);
        }
        Err(error) => log.say(Level::Warn, "blobs_not_compared", json!({ "error": error.to_string() })),
    }
}

struct Failed(Error);

impl From<io::Error> for Failed {
    fn from(error: io::Error) -> Self {
        Self(Error::new(Code::StoreIo, format!("cannot remove folders of old attempts: {error}")))
    }
}

impl From<relaymesh_store::Error> for Failed {
    fn from(error: relaymesh_store::Error) -> Self {
        Self(error.into())
    }
}
