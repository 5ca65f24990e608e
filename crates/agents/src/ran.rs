//! What an attempt ran, for whoever asks whether it really ran: kept beside what it said, from its start on.

use crate::{output, spawn::Started};
use serde::{Deserialize, Serialize};
use std::{
    io::{self, Write as _},
    os::unix::process::ExitStatusExt as _,
    path::{Path, PathBuf},
    process::ExitStatus,
    time::{SystemTime, UNIX_EPOCH},
};

/// How the file is called, beside `.stdout` and `.stderr`.
pub const FILE: &str = "ran";

/// A process that was started, and how it ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ran {
    /// The id of the process. It is somebody else's after the end.
    pub pid: u32,
    /// The file that was run.
    pub program: PathBuf,
    /// The words after it. A prompt among them stands as `<prompt>`.
    pub arguments: Vec<String>,
    /// Where it worked.
    pub folder: PathBuf,
    /// When it was started, in milliseconds since 1970.
    pub started_ms: u64,
    /// When it had ended; nothing as long as it runs, and for ever if the daemon died with it.
    pub ended_ms: Option<u64>,
    /// Its exit code.
    pub exit_code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Bytes that it said on stdout.
    pub stdout_bytes: u64,
    /// Bytes that it said on stderr.
    pub stderr_bytes: u64,
}

impl Ran {
    /// Of a process that was started now.
    pub(crate) fn new(started: &Started, program: PathBuf, arguments: Vec<String>, folder: PathBuf) -> Self {
        Self {
            pid: started.child.leader.as_raw_nonzero().get().unsigned_abs(),
            program,
            arguments,
            folder,
            started_ms: now_ms(),
            ended_ms: None,
            exit_code: None,
            signal: None,
            stdout_bytes: 0,
            stderr_bytes: 0,
        }
    }

    /// It has ended like this, and has said so much.
    pub(crate) fn ended(&mut self, status: Option<ExitStatus>, stdout_bytes: u64, stderr_bytes: u64) {
        self.ended_ms = Some(now_ms());
        self.exit_code = status.and_then(|status| status.code());
        self.signal = status.and_then(|status| status.signal());
        (self.stdout_bytes, self.stderr_bytes) = (stdout_bytes, stderr_bytes);
    }

    /// Keeps it beside what the attempt says. It is for people, so nobody waits for a disk, and what cannot be kept is no reason to fail.
    pub(crate) fn keep(&self, files: &Path) -> io::Result<()> {
        output::create(&files.with_added_extension(FILE))?.write_all(&serde_json::to_vec(self)?)
    }

    /// How it ended, for people.
    pub fn how_it_ended(&self) -> String {
        match (self.exit_code, self.signal, self.ended_ms) {
            (Some(code), _, _) => format!("exit code {code}"),
            (None, Some(signal), _) => format!("by signal {signal}"),
            (None, None, Some(_)) => "unknown".to_owned(),
            (None, None, None) => "not yet".to_owned(),
        }
    }

    /// What is kept in this file, if that can be read.
    pub fn read(path: &Path) -> Option<Self> {
        serde_json::from_slice(&std::fs::read(path).ok()?).ok()
    }
}

/// The wall clock, for people.
fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
