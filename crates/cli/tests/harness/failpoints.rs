//! Fail points: what `strace` does for the kill test, done from within the process, by a library that is loaded before
//! the C library (`failpoint.c`).
//!
//! Two things differ. The count goes over all threads, so every call has a number of its own; where two threads race for a
//! number, one run strikes the one and the next run may strike the other. And the struck thread waits a moment before the
//! kill, while the others go on: a word that should have waited for the call gets out, and is found to be a lie. `strace`
//! slows every call down, with the same effect by chance.

use super::{
    case::Case,
    point::Point,
    process::{Ran, whole_binary},
    strace,
};
use std::{
    ffi::OsString,
    io::ErrorKind,
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/harness/failpoint.c");
const LIBRARY: &str = "failpoint.so";
/// The library for the loader, from its folder: a space or a colon in the whole path would end the name.
const PRELOAD: &str = "./failpoint.so";

/// Whether there can be fail points: that is, whether there is a C compiler. One that fails is no reason to skip.
pub(crate) fn are_there() -> bool {
    cfg!(target_os = "linux") && folder().is_some()
}

/// Runs the command with every writing call recorded in `record`.
pub(crate) fn trial(case: &Case, arguments: &[String], record: &Path) -> Ran {
    case.run_under(recording(&mut loaded(), record), arguments)
}

/// The same while `strace` watches, too: both record the same run.
pub(crate) fn trial_under_strace(case: &Case, arguments: &[String], record: &Path, by_strace: &Path) -> Ran {
    let mut command = strace::recording(by_strace);
    command.current_dir(compiled()).arg("-E").arg(format!("LD_PRELOAD={PRELOAD}")).arg(whole_binary());
    case.run_under(recording(&mut command, record), arguments)
}

/// Runs the command and kills it at the point.
pub(crate) fn kill(case: &Case, arguments: &[String], point: &Point) -> Ran {
    let Point { path, call, number } = point;
    let mut command = loaded();
    command.env("FAILPOINT_PATH", case.path().join(path)).env("FAILPOINT_CALL", call);
    case.run_under(command.env("FAILPOINT_NUMBER", number.to_string()), arguments)
}

/// The variables of a process for which the files in this folder are never longer than so many bytes, all together. It must be
/// run from a folder that has the library: [`lend`].
pub(crate) fn bound(folder: &Path, bytes: u64) -> [(&'static str, OsString); 3] {
    let folder = std::fs::canonicalize(folder).unwrap_or_else(|error| panic!("no {}: {error}", folder.display()));
    let bytes = bytes.to_string().into();
    [("LD_PRELOAD", PRELOAD.into()), ("FAILPOINT_DISK", folder.into()), ("FAILPOINT_DISK_BYTES", bytes)]
}

/// Puts the library into a folder from which processes are run.
pub(crate) fn lend(folder: &Path) {
    let lent = std::os::unix::fs::symlink(compiled().join(LIBRARY), folder.join(LIBRARY));
    lent.unwrap_or_else(|error| panic!("no library in {}: {error}", folder.display()));
}

/// The binary, with the library loaded.
fn loaded() -> Command {
    let mut command = Command::new(whole_binary());
    command.current_dir(compiled()).env("LD_PRELOAD", PRELOAD);
    command
}

fn recording<'a>(command: &'a mut Command, record: &Path) -> &'a mut Command {
    // The library appends. Mostly there is no earlier record to remove.
    let _ = std::fs::remove_file(record);
    command.env("FAILPOINT_RECORD", record)
}

fn compiled() -> &'static Path {
    folder().unwrap_or_else(|| panic!("fail points need a C compiler"))
}

/// The folder with the library, compiled once in each process. It is cargo's, for tests: files in it may be executed,
/// which is often forbidden in memory. Another process may do the same meanwhile, so the library gets its name last.
fn folder() -> Option<&'static Path> {
    static FOLDER: OnceLock<Option<PathBuf>> = OnceLock::new();
    let compile_once = || {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
        std::fs::create_dir_all(folder).unwrap_or_else(|error| panic!("no folder {}: {error}", folder.display()));
        let fresh = folder.join(format!("{LIBRARY}.{}", std::process::id()));
        compile(&fresh).then(|| {
            std::fs::rename(&fresh, folder.join(LIBRARY)).unwrap_or_else(|error| panic!("no library: {error}"));
            folder.to_owned()
        })
    };
    FOLDER.get_or_init(compile_once).as_deref()
}

/// False: there is no compiler.
fn compile(library: &Path) -> bool {
    let asked = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let mut words = asked.split_whitespace();
    let mut compiler = Command::new(words.next().unwrap_or("cc"));
    compiler.args(words).args(["-shared", "-fPIC", "-Wall", "-Wextra", "-o"]).arg(library).args([SOURCE, "-ldl"]);
    match compiler.output() {
        Err(error) if error.kind() == ErrorKind::NotFound => false,
        Err(error) => panic!("cannot run {compiler:?}: {error}"),
        Ok(output) if output.status.success() => true,
        Ok(output) => panic!("{compiler:?} failed:\n{}", String::from_utf8_lossy(&output.stderr)),
    }
}

/// Both strikers watch the same calls. `msync` names no file, so neither has a point at it.
#[test]
fn every_watched_call_has_a_fail_point() {
    let source = include_str!("failpoint.c");
    let missing = |call: &&&str| **call != "msync" && !source.contains(&format!("\"{call}\""));
    let missed: Vec<_> = super::point::WRITES.iter().filter(missing).collect();
    assert_eq!(missed, [&"open"], "the C library makes an open an openat");
}
