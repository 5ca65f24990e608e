//! Calls that fail: EIO at each sync, ENOSPC at each write, one at a time.
//!
//! A sync that failed may have dropped what it was to save, and the next one may say yes all the same; so it is never
//! tried again, and nothing is acknowledged on the strength of what came before it (D2). A write that found no room has
//! changed nothing: it is undone, and said (D32).

use crate::harness::{
    case::Case,
    check::{self, Depth},
    flow::Flow,
    known,
    point::Point,
    process::Ran,
    strace::{self, Blow},
    striker::Striker,
    table::Table,
    trial,
};

const SYNCS: [&str; 2] = ["fsync", "fdatasync"];
const WRITES: [&str; 4] = ["write", "pwrite64", "ftruncate", "fallocate"];

/// The exit code for "unknown whether it happened".
const INDETERMINATE: i32 = 8;

/// EIO at each sync of each flow.
pub(crate) fn fail_every_sync(flows: &[Flow]) {
    strike_all(flows, &SYNCS, "EIO", "EIO at each sync", |case, point, ran, record| {
        let after = record.lines().skip_while(|line| !line.contains("(INJECTED)")).skip(1);
        let again = after.filter(|line| line.contains(&format!("{}(", point.call))).count();
        let said = case.said();
        let is_log = point.path.ends_with("-wal") && record.contains("(INJECTED)");
        if is_log && ran.code() != Some(INDETERMINATE) && said.iter().any(|line| line["event"] == "ended") {
            return Err("the write-ahead log was not synced, and the end of the task was told".to_owned());
        }
        if is_log && point.number == 1 && !check::acknowledged(&said).is_empty() {
            return Err("the first sync of the write-ahead log failed, and the task was acknowledged".to_owned());
        }
        if is_log && again > 0 {
            return Err(format!("the write-ahead log was synced {again} more time(s) after a sync had failed"));
        }
        Ok(())
    });
}

/// ENOSPC at each write of each flow.
pub(crate) fn fail_every_write(flows: &[Flow]) {
    strike_all(flows, &WRITES, "ENOSPC", "ENOSPC at each write", |_, _, _, _| Ok(()));
}

type Rule = fn(&Case, &Point, &Ran, &str) -> Result<(), String>;

fn strike_all(flows: &[Flow], calls: &[&str], error: &'static str, title: &str, rule: Rule) {
    let mut table = Table::default();
    for &flow in flows {
        let start = flow.start(Striker::Strace);
        for point in points(&start, flow, calls) {
            let case = start.copy();
            let done = format!("{flow:?} {} {}", point.call, point.path);
            match strike(&case, flow, &point, error, rule) {
                Ok(outcome) => table.count(&done, &outcome),
                Err(why) => table
                    .fail(&done, format!("{flow:?}, {error} at {point}: {why}\n  evidence: {}", case.keep().display())),
            }
        }
    }
    table.finish(title);
}

fn points(start: &Case, flow: Flow, calls: &[&str]) -> Vec<Point> {
    let case = start.copy();
    let record = case.path().join("record");
    let ran = strace::trial(&case, &flow.command(&case), &record);
    ran.expect(flow.exit()).unwrap_or_else(|why| panic!("{why}"));
    let found = trial::points(&case, &record, Striker::Strace).0.into_iter();
    found.filter(|point| calls.contains(&point.call.as_str()) && point.path.starts_with("root")).collect()
}

/// One run with one failing call, and a restart. The outcome in a word: `fine`, or the code of the error.
fn strike(case: &Case, flow: Flow, point: &Point, error: &'static str, rule: Rule) -> Result<String, String> {
    let record = case.path().join("record");
    let ran = strace::strike(case, &flow.command(case), point, Blow::Error(error), &record);
    let outcome = if ran.code() == Some(flow.exit()) { "fine".to_owned() } else { known::named(&ran)? };
    let text = std::fs::read_to_string(&record).unwrap_or_default();
    rule(case, point, &ran, &text).map_err(|why| format!("{why}: {ran}"))?;
    check::restart(case, flow, Depth::Verify)?;
    Ok(outcome)
}
