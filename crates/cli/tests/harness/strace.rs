//! `strace`: what a run writes, and what happens when one of those calls ends it or fails.
//!
//! `when=N` counts per thread, among the calls that pass the filters. With one path and one call as filters, N names the
//! same call in every run that does the same work. A signal is delivered on the way into the call: the call itself has no
//! effect any more. So the points before each call are all the states in which a process can die between two of its calls.

use super::{
    case::Case,
    point::{Point, WRITES},
    process::{Ran, binary},
};
use std::{
    path::Path,
    process::{Command, Stdio},
};

/// What is done to the run at one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Blow {
    /// SIGKILL on the way in.
    Kill,
    /// The call does nothing and returns this error.
    Error(&'static str),
}

/// Whether `strace` is installed, and may trace: where it is forbidden it is of no use.
pub(crate) fn is_there() -> bool {
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-o", "/dev/null", "true"]).stdin(Stdio::null());
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

/// Runs the command with every writing call recorded in `record`.
pub(crate) fn trial(case: &Case, arguments: &[String], record: &Path) -> Ran {
    case.run_under(recording(record).arg(binary()), arguments)
}

/// `strace` that records every writing call of what it is given to run.
pub(crate) fn recording(record: &Path) -> Command {
    // `?`: where the machine has it.
    let all: Vec<String> = WRITES.iter().map(|call| format!("?{call}")).collect();
    let mut command = strace(record);
    command.args(["-y", "-s", "0", "-e"]).arg(format!("trace={}", all.join(",")));
    command
}

/// Runs the command and strikes at the point. `record` gets all calls of this kind on this file.
pub(crate) fn strike(case: &Case, arguments: &[String], point: &Point, blow: Blow, record: &Path) -> Ran {
    let what = match blow {
        Blow::Kill => "signal=SIGKILL".to_owned(),
        Blow::Error(error) => format!("error={error}"),
    };
    let Point { path, call, number } = point;
    let mut command = strace(record);
    command.arg("-P").arg(case.path().join(path)).arg("-e").arg(format!("trace={call}"));
    command.arg("-e").arg(format!("inject={call}:{what}:when={number}"));
    case.run_under(command.arg(binary()), arguments)
}

fn strace(record: &Path) -> Command {
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-o"]).arg(record);
    command
}
