//! What wakes the bus: a change in one of its folders, or a word from within.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::{
    io::{self, PipeReader, PipeWriter, Read as _, Write as _},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

/// Rings from within. One ring may stand for many.
#[derive(Clone)]
pub struct Bell {
    writes: Arc<PipeWriter>,
    rung: Arc<AtomicBool>,
}

impl Bell {
    /// Wakes the bus.
    pub fn ring(&self) {
        if !self.rung.swap(true, Ordering::AcqRel) {
            // One byte at most is in the pipe, so this never waits.
            let _ = (&*self.writes).write(&[1]);
        }
    }
}

/// Waits for rings and for changes in folders.
pub(super) struct Ear {
    reads: PipeReader,
    rung: Arc<AtomicBool>,
    folders: folders::Folders,
}

impl Ear {
    pub(super) fn new() -> io::Result<(Self, Bell)> {
        let (reads, writes) = io::pipe()?;
        let rung = Arc::new(AtomicBool::new(false));
        let bell = Bell { writes: Arc::new(writes), rung: Arc::clone(&rung) };
        Ok((Self { reads, rung, folders: folders::Folders::new()? }, bell))
    }

    /// Hears of whatever comes into this folder or leaves it. Twice is once.
    pub(super) fn listen(&self, folder: &Path) -> io::Result<()> {
        self.folders.listen(folder)
    }

    /// Waits, at most this long. What was heard before it returns is looked at after it.
    pub(super) fn wait(&mut self, at_most: Option<Duration>) {
        let at_most = self.folders.patience(at_most).and_then(|at_most| Timespec::try_from(at_most).ok());
        let mut ready = vec![PollFd::new(&self.reads, PollFlags::IN)];
        ready.extend(self.folders.poll());
        // What interrupts it is taken for news.
        let _ = poll(&mut ready, at_most.as_ref());
        let is_rung = ready[0].revents().contains(PollFlags::IN);
        drop(ready);
        if is_rung {
            let _ = self.reads.read(&mut [0; 8]);
            self.rung.store(false, Ordering::Release);
        }
        self.folders.heard();
    }
}

#[cfg(target_os = "linux")]
mod folders {
    use rustix::{
        event::{PollFd, PollFlags},
        fd::OwnedFd,
        fs::inotify::{self, CreateFlags, WatchFlags},
    };
    use std::{io, path::Path, time::Duration};

    const BYTES: usize = 4096;

    /// Folders that the system tells of.
    pub(super) struct Folders(OwnedFd);

    impl Folders {
        pub(super) fn new() -> io::Result<Self> {
            Ok(Self(inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?))
        }

        pub(super) fn listen(&self, folder: &Path) -> io::Result<()> {
            let comes = WatchFlags::CREATE | WatchFlags::MOVED_TO | WatchFlags::CLOSE_WRITE;
            let goes = WatchFlags::DELETE | WatchFlags::MOVED_FROM;
            let flags = comes | goes | WatchFlags::ONLYDIR | WatchFlags::DONT_FOLLOW;
            inotify::add_watch(&self.0, folder, flags)?;
            Ok(())
        }

        pub(super) fn poll(&self) -> Option<PollFd<'_>> {
            Some(PollFd::new(&self.0, PollFlags::IN))
        }

        pub(super) fn heard(&self) {
            let mut what = [0_u8; BYTES];
            while rustix::io::read(&self.0, &mut what).is_ok_and(|bytes| bytes > 0) {}
        }

        pub(super) fn patience(&self, at_most: Option<Duration>) -> Option<Duration> {
            at_most
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod folders {
    use rustix::event::PollFd;
    use std::{io, path::Path, time::Duration};

    /// Where the system cannot tell, one looks every now and then.
    const LOOK: Duration = Duration::from_secs(1);

    pub(super) struct Folders;

    impl Folders {
        pub(super) fn new() -> io::Result<Self> {
            Ok(Self)
        }

        pub(super) fn listen(&self, _: &Path) -> io::Result<()> {
            Ok(())
        }

        pub(super) fn poll(&self) -> Option<PollFd<'_>> {
            None
        }

        pub(super) fn heard(&self) {}

        pub(super) fn patience(&self, at_most: Option<Duration>) -> Option<Duration> {
            Some(at_most.map_or(LOOK, |at_most| at_most.min(LOOK)))
        }
    }
}
