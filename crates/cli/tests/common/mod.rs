//! A root of its own, the real binary, and what it said.

#![allow(dead_code, reason = "each test file uses its own part")]
#![allow(clippy::unwrap_used, reason = "these are tests, only outside of a #[test]")]

pub(crate) mod canary;
pub(crate) mod collector;
pub(crate) mod house;
pub(crate) mod web;
pub(crate) mod wire;

use serde_json::Value;
use std::{
    ffi::OsString,
    io::{BufRead as _, BufReader, Write as _},
    path::{Path, PathBuf},
    process::{Child, ChildStderr, ChildStdout, Command, Output, Stdio},
    time::Duration,
};

/// Longer than anything takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A temporary folder with a root in it.
pub(crate) struct Mesh {
    pub(crate) folder: tempfile::TempDir,
    /// What its commands have in their environment besides.
    pub(crate) variables: Vec<(&'static str, OsString)>,
}

/// What a command said.
pub(crate) struct Said {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Mesh {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), variables: Vec::new() }
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.folder.path().join("root")
    }

    /// The binary with a clean environment.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_relaymesh"));
        command.args(arguments).current_dir(self.folder.path()).stdin(Stdio::null());
        command.env_clear().env("RELAYMESH_ROOT", "root").env("RELAYMESH_NO_DAEMON", "1").env("USER", "tester");
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Said {
        Said::of(self.command(arguments).output().unwrap())
    }

    pub(crate) fn run_with_input(&self, arguments: &[&str], input: &str) -> Said {
        let mut command = self.command(arguments);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        Said::of(child.wait_with_output().unwrap())
    }

    /// Writes a file beside the root and gives its name.
    pub(crate) fn file<'a>(&self, name: &'a str, text: &str) -> &'a str {
        std::fs::write(self.folder.path().join(name), text).unwrap();
        name
    }

    /// Submits and gives the id.
    pub(crate) fn submit(&self, arguments: &[&str]) -> String {
        let said = self.run(&[&["submit"], arguments].concat());
        assert_eq!(said.code, 0, "{}", said.stderr);
        said.stdout.trim().to_owned()
    }

    /// Makes a namespace.
    pub(crate) fn make(&self, namespace: &str) {
        let said = self.run(&["ns", "create", namespace]);
        assert_eq!(said.code, 0, "{}", said.stderr);
    }

    pub(crate) fn show(&self, id: &str) -> Value {
        let said = self.run(&["task", "show", id, "--history", "--json"]);
        assert_eq!(said.code, 0, "{}", said.stderr);
        said.json()
    }

    /// Starts a command and does not wait for it.
    pub(crate) fn start(&self, arguments: &[&str]) -> Running {
        Running::start(self.command(arguments))
    }

    /// Waits until the condition holds.
    pub(crate) fn until(&self, what: &str, mut holds: impl FnMut(&Self) -> bool) {
        until(what, || holds(self));
    }
}

/// Waits until the condition holds.
pub(crate) fn until(what: &str, mut holds: impl FnMut() -> bool) {
    found(what, || holds().then_some(()));
}

/// Waits until it is there.
pub(crate) fn found<T>(what: &str, look: impl FnMut() -> Option<T>) -> T {
    wire::until(what, PATIENCE, look)
}

impl Said {
    pub(crate) fn of(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Self { code: output.status.code().unwrap_or(-1), stdout: text(output.stdout), stderr: text(output.stderr) }
    }

    /// stdout as one JSON value.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|e| panic!("{e}: {}\n{}", self.stdout, self.stderr))
    }

    /// stdout as JSON lines.
    pub(crate) fn lines(&self) -> Vec<Value> {
        self.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The error that stderr ends with, as JSON.
    pub(crate) fn error(&self) -> Value {
        let last = self.stderr.lines().last().unwrap_or_default();
        serde_json::from_str::<Value>(last).unwrap_or_else(|e| panic!("{e}: {}", self.stderr))["error"].take()
    }

    /// Exit code, stdout and stderr with ids, times and paths made equal.
    pub(crate) fn seen(&self) -> String {
        let (out, err) = (normalised(&self.stdout), normalised(&self.stderr));
        format!("exit {}\n--- stdout\n{out}--- stderr\n{err}", self.code)
    }
}

/// A command under way. Killed when the test ends.
pub(crate) struct Running {
    pub(crate) child: Child,
    pub(crate) stdout: BufReader<ChildStdout>,
    pub(crate) stderr: BufReader<ChildStderr>,
}

impl Running {
    /// Starts the command and does not wait for it.
    pub(crate) fn start(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (stdout, stderr) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
        Self { child, stdout: BufReader::new(stdout), stderr: BufReader::new(stderr) }
    }

    /// The next JSON line of stdout.
    pub(crate) fn next(&mut self) -> Value {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|e| panic!("{e}: {line:?}"))
    }

    /// Reads lines until one fits.
    pub(crate) fn until(&mut self, mut fits: impl FnMut(&Value) -> bool) -> Value {
        loop {
            let line = self.next();
            if fits(&line) {
                return line;
            }
        }
    }

    /// kill -9.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// A signal by name.
    pub(crate) fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([&format!("-{name}"), &self.child.id().to_string()]).status().unwrap();
        assert!(sent.success());
    }

    /// Waits for the end and gives the exit code.
    pub(crate) fn end(&mut self) -> i32 {
        self.child.wait().unwrap().code().unwrap_or(-1)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Ids become `tsk_…`, times, spans and hashes become words.
pub(crate) fn normalised(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        // How long something took is the end of its line.
        let took = line.rfind(") in ").map_or(line.len(), |at| at + ") in ".len());
        let mut rest = &line[..took];
        while let Some(c) = rest.chars().next() {
            let (word, after) = split_word(rest);
            if word.is_empty() {
                out.push(c);
                rest = &rest[c.len_utf8()..];
            } else {
                out += &normal_word(word);
                rest = after;
            }
        }
        out.push_str(if took < line.len() { "SPAN\n" } else { "\n" });
    }
    out
}

fn split_word(text: &str) -> (&str, &str) {
    let end =
        text.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | ':' | '-'))).unwrap_or(text.len());
    text.split_at(end)
}

fn normal_word(word: &str) -> String {
    let is_ulid = |tail: &str| tail.len() == 26 && tail.bytes().all(|c| c.is_ascii_alphanumeric());
    for prefix in ["tsk_", "nod_", "wrk_", "req_", "thr_", "msg_", "rep_", "nsp_", "op_"] {
        if word.strip_prefix(prefix).is_some_and(is_ulid) {
            return format!("{prefix}…");
        }
    }
    let hex = |length| word.len() == length && word.bytes().all(|c| c.is_ascii_hexdigit());
    let digits = word.chars().filter(char::is_ascii_digit).count();
    match () {
        () if hex(64) || hex(32) || hex(12) => "HASH".to_owned(),
        () if word.len() == 24 && word.ends_with('Z') && word.contains('T') => "TIME".to_owned(),
        () if word.contains('.') && word.chars().all(|c| c.is_ascii_digit() || c == '.') && digits > 1 => {
            "N.N".to_owned()
        }
        () => word.to_owned(),
    }
}

/// The examples of the repository.
pub(crate) fn example(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name).display().to_string()
}
