//! This machine: its limits and its clocks.

use super::report::Report;
use crate::{args::Context, time};
use relaymesh_runtime::{
    clock::{Source as _, System},
    root_clock::RootClock,
};
use relaymesh_store::Reader as _;
use relaymesh_store_sqlite::SqliteReader;
use rustix::process::{Resource, getrlimit};

/// A daemon with a full pool of processes and a hundred clients needs fewer.
const FILES_MIN: u64 = 512;
const PROCESSES_MIN: u64 = 128;
/// Two clocks that are read one after the other differ by less.
const DRIFT_MS_MAX: u64 = 500;
/// The first second of 2025, and of 2100.
const YEARS_MS: std::ops::Range<u64> = 1_735_689_600_000..4_102_444_800_000;

pub(super) fn limits(report: &mut Report) {
    let wanted = [(Resource::Nofile, "open files", FILES_MIN), (Resource::Nproc, "processes", PROCESSES_MIN)];
    let found = wanted.map(|(resource, what, min)| (getrlimit(resource).current, what, min));
    let shown =
        found.map(|(limit, what, _)| format!("{} {what}", limit.map_or("unlimited".to_owned(), |n| n.to_string())));
    let is_low = found.iter().any(|(limit, _, min)| limit.is_some_and(|limit| limit < *min));
    let shown = shown.join(", ");
    if is_low {
        let advice = format!("raise them (`ulimit -n`, `ulimit -u`) to at least {FILES_MIN} and {PROCESSES_MIN}");
        report.warn("limits", shown, &advice);
    } else {
        report.ok("limits", shown);
    }
}

/// `began` are both clocks as they were at the beginning.
pub(super) fn clock(context: &Context, began: (u64, u64), report: &mut Report) {
    let (wall_ms, boot_ms) = (System.wall_ms(), System.boot_ms());
    let newest = SqliteReader::open(&context.root).ok().and_then(|mut reader| reader.head().ok()?.hlc());
    let newest_ms = newest.map_or(0, |hlc| hlc.wall_ms);
    let ahead_ms = newest_ms.saturating_sub(wall_ms);
    let drift_ms = (wall_ms.saturating_sub(began.0)).abs_diff(boot_ms.saturating_sub(began.1));
    let now = time::rfc3339(wall_ms);
    let advice = "set the clock and keep it synchronized (NTP)";
    if !YEARS_MS.contains(&wall_ms) {
        report.warn("clock", format!("the clock shows {now}, which is implausible"), advice);
    } else if let Some(problem) = RootClock::glance(&context.root, newest_ms).problem() {
        report.warn("clock", problem, "set the clock, or confirm it with `relaymesh clock confirm`");
    } else if ahead_ms > DRIFT_MS_MAX {
        let ahead = time::span(ahead_ms);
        report.warn("clock", format!("the clock shows {now}, but the newest op is {ahead} ahead of it"), advice);
    } else if drift_ms > DRIFT_MS_MAX {
        report.warn(
            "clock",
            format!("the wall clock moved by {drift_ms} ms relative to the boot clock during the check"),
            advice,
        );
    } else {
        report.ok("clock", format!("{now}; the wall clock and the boot clock agree"));
    }
}
