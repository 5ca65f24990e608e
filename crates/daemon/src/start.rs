//! Starting a daemon that goes on by itself.
//!
//! The daemon tells its parent through a pipe that it is ready, or why it cannot be: nobody guesses how long a start takes.

use crate::{Home, log::FILE};
use relaymesh_api::{
    error::{Code, Error},
    local::Client,
};
use serde::{Deserialize, Serialize};
use std::{
    fs::{self, File, OpenOptions},
    io::{self, BufRead as _, BufReader, Write as _},
    os::unix::{fs::OpenOptionsExt as _, process::CommandExt as _},
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

/// How long to wait for somebody else's daemon that has the root and is not ready yet.
const OTHER_READY: Duration = Duration::from_secs(10);
const AGAIN: Duration = Duration::from_millis(20);

/// What a daemon tells its parent, in one line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Birth {
    Ready { pid: u32 },
    Failed { code: String, message: String, hints: Vec<String> },
}

/// What became of a start.
pub struct Started {
    /// The way to it.
    pub client: Client,
    /// Whether it was there before, or somebody else was faster.
    pub was_there: bool,
}

/// Connects to the root's daemon, and starts it if there is none. Somebody else may have the root: a daemon that was started at the
/// same moment, one that is on its way out, or a command that works in its own process; for a while that is waited for.
///
/// `program` is the daemon's: it understands `up --child`. `extra` are more arguments for it.
pub fn start(program: &Path, home: &Home, extra: &[String]) -> Result<Started, Error> {
    let until = Instant::now() + OTHER_READY;
    loop {
        if let Some(client) = Client::connect(&home.root, &home.caller)? {
            return Ok(Started { client, was_there: true });
        }
        match born(spawn(program, home, extra)?)? {
            Birth::Ready { .. } => {
                let client = Client::connect(&home.root, &home.caller)?;
                let gone = || Error::new(Code::DaemonFailed, "the daemon ended right after it started");
                return Ok(Started { client: client.ok_or_else(gone)?, was_there: false });
            }
            Birth::Failed { code, .. } if code == Code::RootInUse.as_str() && Instant::now() < until => {
                thread::sleep(AGAIN);
            }
            Birth::Failed { code, message, hints } => {
                let error = Error::new(Code::parse(&code).unwrap_or(Code::DaemonFailed), message);
                return Err(Error { hints, ..error });
            }
        }
    }
}

fn spawn(program: &Path, home: &Home, extra: &[String]) -> Result<Child, Error> {
    let failed = |error: io::Error| Error::new(Code::DaemonFailed, format!("cannot start the daemon: {error}"));
    let mut command = Command::new(program);
    command.arg("up").arg("--child").arg("--root").arg(&home.root).args(extra);
    // Its own group, so that a Ctrl-C here is not meant for it; it makes its own session by itself.
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log(&home.root)?).process_group(0);
    command.spawn().map_err(failed)
}

/// The daemon's log. The folder may not be there yet: the daemon makes the root.
fn log(root: &Path) -> Result<File, Error> {
    let failed = |what: &str, path: &Path, error: io::Error| {
        Error::new(Code::StoreIo, format!("cannot {what} {}: {error}", path.display()))
    };
    fs::DirBuilder::new().recursive(true).create(root).map_err(|error| failed("create the root", root, error))?;
    let only_owner = fs::set_permissions(root, std::os::unix::fs::PermissionsExt::from_mode(0o700));
    only_owner.map_err(|error| failed("restrict access to the root", root, error))?;
    let file = root.join(FILE);
    let opened = OpenOptions::new().create(true).append(true).mode(0o600).open(&file);
    opened.map_err(|error| failed("write to", &file, error))
}

/// The one line that the daemon says to its parent.
fn born(mut child: Child) -> Result<Birth, Error> {
    let mut line = String::new();
    if let Some(stdout) = child.stdout.take() {
        let read = BufReader::new(stdout).read_line(&mut line);
        read.map_err(|error| Error::new(Code::DaemonFailed, format!("cannot read from the daemon: {error}")))?;
    }
    serde_json::from_str(&line).map_err(|_| {
        let status = child.wait().map_or_else(|error| error.to_string(), |status| status.to_string());
        Error::new(Code::DaemonFailed, format!("the daemon ended before it was ready ({status})"))
    })
}

/// Says how the start went, on the pipe to the parent. Nothing else is ever written there.
pub(crate) fn tell_parent(birth: &Birth) {
    if let Ok(line) = serde_json::to_string(birth) {
        // The daemon goes on when its parent does not listen any more.
        let mut stdout = io::stdout().lock();
        let _ = writeln!(stdout, "{line}").and_then(|()| stdout.flush());
    }
}
