//! What the daemon does by itself from time to time: give up old keys, forget what is long over, let go of its ops (R14, R35).
//!
//! Once at the start, and then at its interval. A round that fails is tried again at the next: nothing else depends on it.

use super::talk::{self, Form};
use crate::time;
use relaymesh_runtime::{
    driver::{Caller, Command, Error, Handle},
    upkeep::{self, Retention},
};
use serde_json::json;
use std::{
    sync::mpsc::{Receiver, RecvTimeoutError},
    time::Duration,
};

/// How often.
const INTERVAL: Duration = Duration::from_secs(60 * 60);

/// Works until `stop` is dropped.
pub(super) fn run(handle: &Handle, caller: &Caller, form: Form, stop: &Receiver<()>) {
    loop {
        let ask = &mut |command: Command| handle.call(caller.clone(), command);
        match round(ask) {
            Ok((0, 0, 0)) | Err(Error::Stopped) => {}
            Ok((keys, purged, ops)) => {
                talk::say(form, "info", "upkeep", &json!({ "keys": keys, "purged": purged, "ops": ops }));
            }
            Err(error) => talk::say(form, "warn", "upkeep", &json!({ "error": error.to_string() })),
        }
        if stop.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Disconnected) {
            return;
        }
    }
}

/// Keys, tasks and threads, ops that were let go of.
fn round(ask: upkeep::Ask<'_, Error>) -> Result<(u64, u64, u64), Error> {
    let (retention, now_ms) = (Retention::default(), time::now_ms());
    let keys = upkeep::sweep_keys(ask, retention.keys_until_ms(now_ms))?;
    let purged = upkeep::sweep(ask, retention.purge_until_ms(now_ms), &mut |_| {})?;
    // A checkpoint is an op: one that lets go of nothing would make the log longer.
    let ops = if purged > 0 { upkeep::compact(ask, &mut |_| {})?.ops } else { 0 };
    Ok((keys, purged, ops))
}
