//! What version a program is of, if it says so soon.

use std::{
    io::Read as _,
    path::Path,
    process::{Command, Stdio},
    sync::mpsc,
    time::Duration,
};

/// How long a program may take to say it. Some of them start a whole runtime for it.
const PATIENCE: Duration = Duration::from_secs(10);

/// The most that is read of what it says.
const SAID_BYTES_MAX: u64 = 4096;

/// The first line that the program says to `--version`.
pub(super) fn of(program: &Path) -> Option<String> {
    let mut command = Command::new(program);
    command.arg("--version").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().ok()?;
    let stdout = child.stdout.take()?;
    let (tell, told) = mpsc::channel();
    let read = move || {
        let mut text = String::new();
        let _ = stdout.take(SAID_BYTES_MAX).read_to_string(&mut text);
        let _ = tell.send(text);
    };
    let reader = std::thread::Builder::new().name("version".to_owned()).spawn(read).ok()?;
    let text = told.recv_timeout(PATIENCE).ok();
    // The process is no longer needed, with or without an answer.
    let _ = child.kill();
    let _ = child.wait();
    if text.is_some() {
        let _ = reader.join();
    }
    let line = text?.lines().find(|line| !line.trim().is_empty())?.trim().to_owned();
    Some(crate::output::short(&line, 60))
}
