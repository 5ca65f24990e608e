//! A process with a limit: it is waited for, and ended by its id when it takes too long.

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::Value;
use std::{
    fs::File,
    io::Read,
    os::unix::process::{CommandExt as _, ExitStatusExt as _},
    path::PathBuf,
    process::{Child, Command, ExitStatus, Stdio},
    sync::mpsc::{self, Receiver},
    thread,
    time::{Duration, Instant},
};

/// No process of these tests needs more than a second; on a machine that does much else it may.
const LIMIT: Duration = Duration::from_secs(60);
/// SIGKILL.
const KILLED: i32 = 9;

/// How a process ended.
#[derive(Debug, Clone)]
pub(crate) struct Ran {
    /// What was run, to repeat it.
    pub(crate) command: String,
    pub(crate) status: ExitStatus,
    /// Empty when it went to a file.
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// The binary under test: the one that `cargo xtask test` names, or the one that cargo built for this test.
pub(crate) fn binary() -> PathBuf {
    std::env::var_os("RELAYMESH_BIN").map_or_else(|| env!("CARGO_BIN_EXE_relaymesh").into(), PathBuf::from)
}

/// The binary, from whatever folder it is run.
pub(crate) fn whole_binary() -> PathBuf {
    std::path::absolute(binary()).unwrap_or_else(|error| panic!("no path of the binary: {error}"))
}

/// Runs a command to its end. Its stdout goes to `stdout` or is kept.
pub(crate) fn run(command: &mut Command, stdout: Option<File>) -> Ran {
    let shown = show(command);
    let stdout = stdout.map_or_else(Stdio::piped, Stdio::from);
    // Its own group: `strace` and what it traces are ended together.
    command.stdin(Stdio::null()).stdout(stdout).stderr(Stdio::piped()).process_group(0);
    let mut child = command.spawn().unwrap_or_else(|error| panic!("cannot run {shown}: {error}"));
    let until = Instant::now() + LIMIT;
    let (out, err) = (collect(child.stdout.take()), collect(child.stderr.take()));
    let (stdout, stderr) = (text(&out, until), text(&err, until));
    if stdout.is_none() || stderr.is_none() {
        end(&child);
    }
    let status = child.wait().unwrap_or_else(|error| panic!("cannot wait for {shown}: {error}"));
    match (stdout, stderr) {
        (Some(stdout), Some(stderr)) => Ran { command: shown, status, stdout, stderr },
        _ => panic!("not done after {LIMIT:?}: {shown}"),
    }
}

/// The same with a program that may be missing.
pub(crate) fn tried(command: &mut Command) -> Option<Ran> {
    let is_there = Command::new(command.get_program()).arg("--version").output().is_ok();
    is_there.then(|| run(command, None))
}

/// The complete lines of JSON in a text; a line that was cut off was never said.
pub(crate) fn json_lines(text: &str) -> Vec<Value> {
    let complete = text.rfind('\n').map_or("", |end| &text[..end]);
    let parse = |line: &str| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error} in {line:?}"));
    complete.lines().filter(|line| !line.is_empty()).map(parse).collect()
}

impl Ran {
    /// The exit code, unless a signal ended it.
    pub(crate) fn code(&self) -> Option<i32> {
        self.status.code()
    }

    /// Whether SIGKILL ended it. `strace` ends like what it traces.
    pub(crate) fn is_killed(&self) -> bool {
        self.status.signal() == Some(KILLED)
    }

    /// The lines of its stdout.
    pub(crate) fn lines(&self) -> Vec<Value> {
        json_lines(&self.stdout)
    }

    /// The error that it named on stderr, if it did.
    pub(crate) fn error(&self) -> Option<Value> {
        let last = self.stderr.lines().rev().find(|line| line.starts_with("{\"error\""))?;
        serde_json::from_str::<Value>(last).ok().map(|mut line| line["error"].take())
    }

    /// The code of that error.
    pub(crate) fn error_code(&self) -> Option<String> {
        self.error()?["code"].as_str().map(str::to_owned)
    }

    /// Ok when it exited with this code.
    pub(crate) fn expect(&self, code: i32) -> Result<&Self, String> {
        if self.code() == Some(code) { Ok(self) } else { Err(format!("wanted exit {code}: {self}")) }
    }
}

impl std::fmt::Display for Ran {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { command, status, stdout, stderr } = self;
        write!(f, "{status} of `{command}`\n    stdout: {}\n    stderr: {}", stdout.trim_end(), stderr.trim_end())
    }
}

fn show(command: &Command) -> String {
    let quoted = |part: &std::ffi::OsStr| {
        let part = part.to_string_lossy();
        let plain = part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_./=:,@".contains(&byte));
        if plain { part.into_owned() } else { format!("'{part}'") }
    };
    let folder = command.get_current_dir().map(|folder| format!("cd {} &&", quoted(folder.as_os_str())));
    let set = command.get_envs().filter_map(|(name, value)| Some(format!("{}={}", quoted(name), quoted(value?))));
    let parts = std::iter::once(command.get_program()).chain(command.get_args()).map(quoted);
    folder.into_iter().chain(set).chain(parts).collect::<Vec<_>>().join(" ")
}

/// Reads a stream to its end on a thread of its own: it ends when the last process that holds it does.
fn collect(stream: Option<impl Read + Send + 'static>) -> Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        // Whatever came before a failed read is all there is.
        let _ = stream.map(|mut stream| stream.read_to_end(&mut bytes));
        let _ = sender.send(bytes);
    });
    receiver
}

fn text(stream: &Receiver<Vec<u8>>, until: Instant) -> Option<String> {
    let bytes = stream.recv_timeout(until.saturating_duration_since(Instant::now())).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

fn end(child: &Child) {
    // It may have ended meanwhile; then there is nothing to end.
    let _ = kill_process_group(Pid::from_child(child), Signal::KILL);
}
