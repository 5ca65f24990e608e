//! Starting a process in a session and a folder of its own, without copying this one.
//!
//! Forking is the tempting answer, because code between fork and exec can do anything; but a fork copies the page tables of the
//! whole daemon for a child that is about to throw them away, and every page that the daemon then writes is copied once more. Here the
//! child borrows our memory until it runs its own program (`posix_spawn`). The session is a flag of that call. The folder is not, so
//! each thread that starts processes has a working folder of its own (`unshare(CLONE_FS)`), goes there, and comes back. Where the
//! system refuses that, as some containers do, the child is forked.
//!
//! An attempt that is confined is started by a short thread of its own, which enters the sandbox first ([`crate::confine`]). It shares the
//! folder with the thread that waits for it meanwhile.

use crate::confine::Sandbox;
use process_wrap::std::{CommandWrap, CommandWrapper as _, ProcessSession};
use rustix::process::{Pid, WaitOptions};
use std::{
    ffi::OsString,
    fs::File,
    io::{self, PipeReader, PipeWriter},
    os::{fd::OwnedFd, unix::process::ExitStatusExt as _},
    path::{Path, PathBuf},
    process::{Command, ExitStatus},
};

/// What is to be run.
pub(crate) struct Program<'a> {
    /// The file; never looked for.
    pub(crate) file: PathBuf,
    pub(crate) arguments: &'a [String],
    /// All of its environment.
    pub(crate) environment: Vec<(OsString, OsString)>,
    /// Where it works.
    pub(crate) folder: &'a Path,
    /// What it reads.
    pub(crate) stdin: File,
}

/// A process that runs, or waits to be buried.
pub(crate) struct Child {
    /// It leads its session and its group.
    pub(crate) leader: Pid,
    /// Readable once it has ended, where the system has such a thing.
    pub(crate) end: Option<OwnedFd>,
}

/// A process that was started, and what it says.
pub(crate) struct Started {
    pub(crate) child: Child,
    pub(crate) stdout: PipeReader,
    pub(crate) stderr: PipeReader,
}

impl Child {
    /// How it ended, if it has. After that its id may be somebody else's.
    pub(crate) fn ended(&self) -> Option<io::Result<ExitStatus>> {
        match rustix::process::waitpid(Some(self.leader), WaitOptions::NOHANG) {
            Ok(None) | Err(rustix::io::Errno::INTR) => None,
            Ok(Some((_, status))) => Some(Ok(ExitStatus::from_raw(status.as_raw()))),
            Err(error) => Some(Err(error.into())),
        }
    }
}

/// A thread that starts one process does nothing else.
const STACK_BYTES: usize = 128 << 10;

/// Starts processes. It belongs to the thread that made it.
pub(crate) struct Starter {
    #[cfg(target_os = "linux")]
    room: Option<linux::Room>,
}

impl Starter {
    /// The cheapest that this thread can have.
    pub(crate) fn new() -> Self {
        Self {
            #[cfg(target_os = "linux")]
            room: linux::Room::new().ok(),
        }
    }

    /// One that forks.
    #[cfg(test)]
    fn forking() -> Self {
        Self {
            #[cfg(target_os = "linux")]
            room: None,
        }
    }

    /// Starts it, in the sandbox if there is one. `born` is told its id at once, before anybody can take it for an orphan.
    pub(crate) fn start(
        &self,
        program: Program<'_>,
        sandbox: Option<Sandbox>,
        born: &(dyn Fn(Pid) + Sync),
    ) -> io::Result<Started> {
        let (stdout, says) = io::pipe()?;
        let (stderr, tells) = io::pipe()?;
        let begin = move || self.leader(program, says, tells).inspect(|leader| born(*leader));
        let leader = match sandbox {
            None => begin()?,
            Some(sandbox) => apart(move || sandbox.enter().map_err(unfit).and_then(|()| begin()))?,
        };
        Ok(Started { child: Child { leader, end: end(leader) }, stdout, stderr })
    }

    fn leader(&self, program: Program<'_>, stdout: PipeWriter, stderr: PipeWriter) -> io::Result<Pid> {
        #[cfg(target_os = "linux")]
        if let Some(room) = &self.room {
            return room.start(&program, &stdout, &stderr);
        }
        fork(program, stdout, stderr)
    }
}

/// Does it on a thread of its own, which is gone when this returns.
fn apart<T: Send>(work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("start".to_owned()).stack_size(STACK_BYTES);
        let thread = thread.spawn_scoped(scope, work)?;
        thread.join().unwrap_or_else(|_| Err(io::Error::other("the thread that starts it broke")))
    })
}

fn unfit(error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("it cannot be confined: {error}"))
}

#[cfg(target_os = "linux")]
fn end(leader: Pid) -> Option<OwnedFd> {
    rustix::process::pidfd_open(leader, rustix::process::PidfdFlags::empty()).ok()
}

#[cfg(not(target_os = "linux"))]
fn end(_: Pid) -> Option<OwnedFd> {
    None
}

fn fork(program: Program<'_>, stdout: PipeWriter, stderr: PipeWriter) -> io::Result<Pid> {
    let mut command = Command::new(&program.file);
    command.args(program.arguments).current_dir(program.folder).env_clear().envs(program.environment);
    command.stdin(program.stdin).stdout(stdout).stderr(stderr);
    let wrap = CommandWrap::with_new(&program.file, |_| {});
    ProcessSession.pre_spawn(&mut command, &wrap)?;
    let id = command.spawn()?.id();
    i32::try_from(id).ok().and_then(Pid::from_raw).ok_or_else(|| io::Error::other(format!("its id is {id}")))
}

#[cfg(target_os = "linux")]
mod linux {
    use super::{File, OsString, Pid, PipeWriter, Program, io};
    use nix::{
        sched::{CloneFlags, unshare},
        spawn::{PosixSpawnAttr, PosixSpawnFileActions, PosixSpawnFlags, posix_spawn},
        sys::signal::{SigSet, Signal},
    };
    use std::{
        ffi::CString,
        os::{
            fd::{AsRawFd as _, RawFd},
            unix::ffi::OsStringExt as _,
        },
    };

    /// A thread whose working folder is its own. It is of use on that thread, and on those that it starts and waits for.
    pub(super) struct Room {
        home: File,
        attributes: PosixSpawnAttr,
        /// What whoever started this process left open, for everybody.
        inherited: Vec<RawFd>,
    }

    impl Room {
        pub(super) fn new() -> io::Result<Self> {
            let home = File::open(".")?;
            unshare(CloneFlags::CLONE_FS)?;
            // No signal is blocked, and SIGPIPE, which we ignore, does what programs expect of it.
            let mut ignored = SigSet::empty();
            ignored.add(Signal::SIGPIPE);
            let mut attributes = PosixSpawnAttr::init()?;
            attributes.set_sigmask(&SigSet::empty())?;
            attributes.set_sigdefault(&ignored)?;
            let session = PosixSpawnFlags::from_bits_retain(nix::libc::POSIX_SPAWN_SETSID.into());
            let signals = PosixSpawnFlags::POSIX_SPAWN_SETSIGDEF | PosixSpawnFlags::POSIX_SPAWN_SETSIGMASK;
            attributes.set_flags(session | signals)?;
            Ok(Self { home, attributes, inherited: inherited() })
        }

        pub(super) fn start(&self, program: &Program<'_>, out: &PipeWriter, err: &PipeWriter) -> io::Result<Pid> {
            let file = text(program.file.clone().into())?;
            let words = std::iter::once(program.file.clone().into())
                .chain(program.arguments.iter().map(OsString::from))
                .map(text)
                .collect::<io::Result<Vec<_>>>()?;
            let variable = |(name, value): &(OsString, OsString)| text([&**name, &**value].join("=".as_ref()));
            let environment = program.environment.iter().map(variable).collect::<io::Result<Vec<_>>>()?;
            let mut files = PosixSpawnFileActions::init()?;
            for (number, fd) in [program.stdin.as_raw_fd(), out.as_raw_fd(), err.as_raw_fd()].into_iter().enumerate() {
                // Ours are never below 3: the standard library sees to it that those three are taken.
                files.add_dup2(fd, number as i32)?;
            }
            for fd in &self.inherited {
                files.add_close(*fd)?;
            }
            rustix::process::chdir(program.folder)?;
            let started = posix_spawn(file.as_c_str(), &files, &self.attributes, &words, &environment);
            rustix::process::fchdir(&self.home)?;
            Pid::from_raw(started?.as_raw()).ok_or_else(|| io::Error::other("it has no id"))
        }
    }

    /// The descriptors that would be passed on. What this process opens itself never is.
    fn inherited() -> Vec<RawFd> {
        let entries = std::fs::read_dir("/proc/self/fdinfo").into_iter().flatten().flatten();
        let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<RawFd>().ok());
        let is_passed_on = |fd: &RawFd| {
            let info = std::fs::read_to_string(format!("/proc/self/fdinfo/{fd}")).unwrap_or_default();
            let flags = info.lines().find_map(|line| i32::from_str_radix(line.strip_prefix("flags:")?.trim(), 8).ok());
            flags.is_some_and(|flags| flags & nix::libc::O_CLOEXEC == 0)
        };
        numbers.filter(|fd| *fd > 2).filter(is_passed_on).collect()
    }

    fn text(words: OsString) -> io::Result<CString> {
        CString::new(words.into_vec()).map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "a zero byte"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read as _;

    fn run(starter: &Starter, file: &str, folder: &Path) -> io::Result<(String, ExitStatus, Pid)> {
        let script = "read x; echo $x $A; pwd; cut -d' ' -f6 /proc/$$/stat; env | wc -l; kill -PIPE $$";
        let input = folder.join("input");
        std::fs::write(&input, "given\n")?;
        let program = Program {
            file: file.into(),
            arguments: &["-c".to_owned(), script.to_owned()],
            environment: vec![("A".into(), "b c".into()), ("PATH".into(), "/usr/bin:/bin".into())],
            folder,
            stdin: File::open(&input)?,
        };
        let Started { child, mut stdout, .. } = starter.start(program, None, &|_| {})?;
        let mut said = String::new();
        stdout.read_to_string(&mut said)?;
        let mut status = None;
        while status.is_none() {
            status = child.ended();
            std::thread::yield_now();
        }
        Ok((said, status.unwrap()?, child.leader))
    }

    #[test]
    fn borrowed_or_forked_it_gets_the_same() {
        for starter in [Starter::new(), Starter::forking()] {
            let folder = tempfile::tempdir().unwrap();
            let here = std::env::current_dir().unwrap();
            let (said, status, leader) = run(&starter, "/bin/sh", folder.path()).unwrap();
            let at = folder.path().canonicalize().unwrap();
            // The shell sets PWD besides.
            let expected = format!("given b c\n{}\n{}\n3\n", at.display(), leader.as_raw_nonzero());
            assert_eq!(said, expected);
            assert_eq!(status.signal(), Some(13), "SIGPIPE is not ignored");
            assert_eq!(std::env::current_dir().unwrap(), here, "we are where we were");
        }
    }

    #[test]
    fn what_is_not_there_is_said_either_way() {
        for starter in [Starter::new(), Starter::forking()] {
            let folder = tempfile::tempdir().unwrap();
            let error = run(&starter, "/no/such/file", folder.path()).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::NotFound);
            let error = run(&starter, "/dev/null", folder.path()).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
        }
    }
}
