//! One attempt: from its folder to its end.

use crate::{
    config::{ENVIRONMENT, Script},
    judge::{self, End},
    output::{self, Copied},
    pool::Launch,
    tree,
};
use process_wrap::tokio::{CommandWrap, CommandWrapper as _, ProcessSession};
use rustix::process::{Pid, Signal};
use std::{
    fs::{self, DirBuilder, File},
    io,
    os::unix::fs::{DirBuilderExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
    process::{ExitStatus, Stdio},
    time::Duration,
};
use tokio::{
    process::{Child, Command},
    sync::watch,
    time,
};

/// The most that is kept of what an agent says about its progress.
const PROGRESS_BYTES_MAX: u64 = 10 << 20;
/// How long to wait for the end of a pipe that somebody who is dead still holds.
const DRAIN: Duration = Duration::from_secs(2);

/// Names of the files in an attempt's folder.
pub(crate) const INPUT: &str = "input";
pub(crate) const STDOUT: &str = "stdout";
pub(crate) const STDERR: &str = "stderr";
pub(crate) const WORK: &str = "work";

/// Whether an attempt is to be stopped, and how much time it has at most.
pub(crate) type Stop = Option<Grace>;

/// How much time an attempt has between SIGTERM and SIGKILL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Grace {
    /// As much as its agent has.
    Own,
    /// That, but no more than this.
    AtMost(Duration),
}

/// A process that was started, and its leader.
pub(crate) struct Started {
    child: Child,
    pub(crate) leader: Pid,
}

/// Makes the folder and starts the process.
pub(crate) fn start(launch: &mut Launch) -> Result<Started, End> {
    let failed = |what: &str, retryable: bool| {
        let what = format!("cannot {what}");
        move |error: io::Error| End::Failed { error: format!("{what}: {error}"), retryable }
    };
    let none = Box::new(|| Err("it was asked for before".to_owned()));
    let input = std::mem::replace(&mut launch.input, none)();
    let input = input.map_err(|error| End::Failed { error, retryable: false })?;
    prepare(launch, &input).map_err(failed("prepare the attempt's folder", true))?;
    drop(input);
    let input = File::open(launch.folder.join(INPUT)).map_err(failed("open its input", true))?;
    let mut command = command(&launch.script, launch);
    command.stdin(Stdio::from(input)).stdout(Stdio::piped()).stderr(Stdio::piped());
    let program = &launch.script.command[0];
    let wrap = CommandWrap::with_new(program, |_| {});
    ProcessSession.pre_spawn(&mut command, &wrap).map_err(failed("prepare a session", true))?;
    let child = command.spawn().map_err(|error| {
        // What is not there or may not be run will not be there the next time either.
        let retryable = !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied);
        failed(&format!("start `{program}`"), retryable)(error)
    })?;
    let leader = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
    match leader {
        Some(leader) => Ok(Started { child, leader }),
        None => Err(End::Failed { error: "it ended before it had begun".to_owned(), retryable: true }),
    }
}

fn prepare(launch: &Launch, input: &[u8]) -> io::Result<()> {
    let mut folder = DirBuilder::new();
    folder.mode(0o700).recursive(true).create(launch.folder.join(WORK))?;
    io::Write::write_all(&mut output::create(&launch.folder.join(INPUT))?, input)
}

fn command(script: &Script, launch: &Launch) -> Command {
    let mut command = Command::new(found(&script.command[0]));
    command.args(&script.command[1..]).current_dir(launch.folder.join(WORK)).env_clear();
    for name in ENVIRONMENT.iter().copied().chain(script.env.iter().map(String::as_str)) {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    command.envs(&script.set).envs(launch.env.iter().map(|(name, value)| (name, value)));
    command.env(tree::VARIABLE, &launch.tag);
    command
}

/// The file of a program that is named without a folder. Looked for here, it is a few calls of `stat`; left to the child, it is as many
/// failed calls of `exec` while others wait. What is not found is left as it is, and the start says so.
fn found(name: &str) -> PathBuf {
    if name.contains('/') { name.into() } else { program(name).unwrap_or_else(|| name.into()) }
}

/// The file that would be run for a program of this name: on PATH, unless the name has a folder. `None`: there is none that runs.
pub fn program(name: &str) -> Option<PathBuf> {
    let runs = |file: &PathBuf| {
        fs::metadata(file).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    };
    if name.contains('/') {
        return Some(name.into()).filter(runs);
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let candidates = std::env::split_paths(&path).map(|folder| folder.join(name));
    candidates.filter(|file| file.is_absolute()).find(runs)
}

impl Started {
    /// Watches the process to its end, or ends it when `stop` says so. When this returns, the group is gone.
    pub(crate) async fn watch(mut self, launch: &Launch, mut stop: watch::Receiver<Stop>) -> End {
        let (stdout, stderr) = (self.child.stdout.take(), self.child.stderr.take());
        let (folder, limit) = (launch.folder.clone(), launch.script.output_bytes_max);
        let said = tokio::spawn(keep(stderr, folder.join(STDERR), PROGRESS_BYTES_MAX, false));
        let mut result = tokio::spawn(keep(stdout, folder.join(STDOUT), limit, true));
        let mut over = None;
        let status = tokio::select! {
            status = self.child.wait() => status,
            () = stopped(&mut stop) => self.end(launch.script.grace_ms, &mut stop).await,
            copied = &mut result, if over.is_none() => {
                let copied = copied.unwrap_or_default();
                let is_over = copied.is_over;
                over = Some(copied);
                if is_over {
                    self.end(0, &mut stop).await
                } else {
                    // It has closed its stdout and goes on.
                    tokio::select! {
                        status = self.child.wait() => status,
                        () = stopped(&mut stop) => self.end(launch.script.grace_ms, &mut stop).await,
                    }
                }
            }
        };
        // Whatever it left in its group has nobody to work for any more.
        tree::kill_group(self.leader, Signal::KILL);
        let result = match over {
            Some(copied) => copied,
            None => drained(result).await,
        };
        let said = drained(said).await;
        let is_stopped = stop.borrow().is_some();
        judged(status, launch, &result, &said, is_stopped)
    }

    /// SIGTERM to the group, time to clean up, SIGKILL.
    async fn end(&mut self, grace_ms: u64, stop: &mut watch::Receiver<Stop>) -> io::Result<ExitStatus> {
        if grace_ms > 0 {
            tree::kill_group(self.leader, Signal::TERM);
            // One that is stopped does not hear it otherwise.
            tree::kill_group(self.leader, Signal::CONT);
            tokio::select! {
                status = self.child.wait() => return status,
                () = time::sleep(Duration::from_millis(grace_ms)) => {}
                () = hurried(stop) => {}
            }
        }
        tree::kill_group(self.leader, Signal::KILL);
        self.child.wait().await
    }
}

async fn stopped(stop: &mut watch::Receiver<Stop>) {
    if stop.wait_for(Option::is_some).await.is_err() {
        // Nobody can say it any more.
        std::future::pending::<()>().await;
    }
}

/// Whatever its own grace is, it has no more than the one who stops it.
async fn hurried(stop: &mut watch::Receiver<Stop>) {
    let limited = stop.wait_for(|stop| matches!(stop, Some(Grace::AtMost(_)))).await.map(|stop| *stop);
    match limited {
        Ok(Some(Grace::AtMost(most))) => time::sleep(most).await,
        Ok(Some(Grace::Own) | None) | Err(_) => std::future::pending().await,
    }
}

async fn keep(
    pipe: Option<impl tokio::io::AsyncRead + Unpin>,
    path: PathBuf,
    bytes_max: u64,
    stop_over: bool,
) -> Copied {
    let Some(pipe) = pipe else { return Copied::default() };
    // A disk that is full costs the output, not the attempt's end.
    output::copy(pipe, &path, bytes_max, stop_over).await.unwrap_or_default()
}

async fn drained(copying: tokio::task::JoinHandle<Copied>) -> Copied {
    let abort = copying.abort_handle();
    match time::timeout(DRAIN, copying).await {
        Ok(copied) => copied.unwrap_or_default(),
        Err(_) => {
            abort.abort();
            Copied::default()
        }
    }
}

fn judged(status: io::Result<ExitStatus>, launch: &Launch, result: &Copied, said: &Copied, is_stopped: bool) -> End {
    let failed = |error: String, retryable| End::Failed { error, retryable };
    if is_stopped {
        return failed("it was stopped".to_owned(), true);
    }
    if result.is_over {
        let max = launch.script.output_bytes_max;
        return failed(format!("the result is longer than {max} bytes, and it was ended"), false);
    }
    let status = match status {
        Ok(status) => status,
        Err(error) => return failed(format!("cannot wait for its end: {error}"), true),
    };
    match read(&launch.folder.join(STDOUT)) {
        Ok(output) => judge::judge(status, output, &said.last_line),
        Err(error) => failed(format!("cannot read its result: {error}"), true),
    }
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        read => read,
    }
}
