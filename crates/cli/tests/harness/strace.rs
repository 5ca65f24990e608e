//! `strace`: what a run writes, and what happens when one of those calls ends it or fails.
//!
//! `when=N` counts per thread, among the calls that pass the filters. With one path and one call as filters, N names the
//! same call in every run that does the same work. A signal is delivered on the way into the call: the call itself has no
//! effect any more. So the points before each call are all the states in which a process can die between two of its calls.

use super::{
    case::{Case, quiet},
    process::{Ran, binary, run},
};
use std::{
    fs::File,
    path::Path,
    process::{Command, Stdio},
};

/// Every call that changes what another process can see on the disk. `?`: where the machine has it.
pub(crate) const WRITES: &[&str] = &[
    "write",
    "pwrite64",
    "writev",
    "pwritev",
    "pwritev2",
    "fsync",
    "fdatasync",
    "sync_file_range",
    "msync",
    "syncfs",
    "rename",
    "renameat",
    "renameat2",
    "unlink",
    "unlinkat",
    "rmdir",
    "ftruncate",
    "truncate",
    "fallocate",
    "mkdir",
    "mkdirat",
    "chmod",
    "fchmod",
    "fchmodat",
    "open",
    "openat",
    "creat",
    "link",
    "linkat",
    "symlink",
    "symlinkat",
    "copy_file_range",
];

/// What is done to the run at one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Blow {
    /// SIGKILL on the way in.
    Kill,
    /// The call does nothing and returns this error.
    Error(&'static str),
}

/// Which call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Point {
    /// The file, from the case's folder on.
    pub(crate) path: String,
    pub(crate) call: String,
    /// The how-many-eth of this call on this file by one thread, from 1.
    pub(crate) number: usize,
}

impl std::fmt::Display for Point {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {} #{}", self.call, self.path, self.number)
    }
}

/// Whether there is `strace`. Without it a test may be skipped, loudly; never where everything must run.
pub(crate) fn is_there(test: &str) -> bool {
    let version = Command::new("strace").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    if version.is_ok_and(|status| status.success()) {
        return true;
    }
    assert!(std::env::var_os("CI").is_none_or(|value| value != "true"), "{test} needs strace, and CI=true");
    eprintln!("SKIPPED: {test} needs strace, which is not here");
    false
}

/// Runs the command with every writing call recorded in `record`.
pub(crate) fn trial(case: &Case, arguments: &[String], record: &Path) -> Ran {
    let all: Vec<String> = WRITES.iter().map(|call| format!("?{call}")).collect();
    let mut command = strace(record);
    command.args(["-y", "-s", "0", "-e"]).arg(format!("trace={}", all.join(",")));
    traced(case, command, arguments)
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
    traced(case, command, arguments)
}

fn strace(record: &Path) -> Command {
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-o"]).arg(record);
    command
}

fn traced(case: &Case, mut command: Command, arguments: &[String]) -> Ran {
    let stdout = File::create(case.stdout()).unwrap_or_else(|error| panic!("no file for stdout: {error}"));
    run(quiet(command.arg(binary()).args(case.arguments(arguments))), Some(stdout))
}
