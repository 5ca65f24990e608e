//! A bell that rings when something becomes durable in a root, written by its daemon or by a command in its own process.
//!
//! Polling a root would be wasteful. Here the system notifies instead: every commit writes the sidecar (`head`) after
//! the database, so a change of that file means that there is something new to read. That needs no daemon, asks none, and
//! keeps working when one ends. Where the system cannot notify, the bell rings at intervals.
//!
//! The order matters: a reader that first listens and then reads misses nothing. A ring may have no change behind it, or
//! several.

use relaymesh_store_sqlite::Root;
use std::{
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

/// How often to look at what rings no bell.
pub(crate) const LOOK: Duration = Duration::from_millis(200);
/// The shortest time from one ring to the next: a busy root commits thousands of times a second, and nobody reads that fast.
const REST: Duration = Duration::from_millis(20);

/// Rings when something becomes durable in a root.
pub(crate) struct Bell {
    head: PathBuf,
    /// `None`: the system cannot tell.
    ear: Option<ear::Ear>,
    rang: Option<Instant>,
}

impl Bell {
    /// A bell for everything that becomes durable from now on.
    pub(crate) fn new(root: &Path) -> Self {
        let mut bell = Self { head: Root::new(root).head(), ear: ear::Ear::new(), rang: None };
        bell.hears_head();
        bell
    }

    /// Rings for changes of this file, too. `false`: it is not there, or the system cannot tell.
    pub(crate) fn hears(&self, file: &Path) -> bool {
        self.ear.as_ref().is_some_and(|ear| ear.listen(file))
    }

    /// Waits for a ring, at most this long. `false`: it did not ring.
    pub(crate) fn wait(&mut self, at_most: Option<Duration>) -> bool {
        if let Some(rang) = self.rang {
            let rest = REST.saturating_sub(rang.elapsed());
            thread::sleep(at_most.map_or(rest, |at_most| rest.min(at_most)));
        }
        // It may be another file by now, after a recovery.
        self.hears_head();
        let rings = match &self.ear {
            Some(ear) => ear.wait(at_most),
            None => {
                thread::sleep(at_most.map_or(LOOK, |at_most| LOOK.min(at_most)));
                at_most.is_none_or(|at_most| LOOK <= at_most)
            }
        };
        self.rang = rings.then(Instant::now);
        rings
    }

    fn hears_head(&mut self) {
        if !self.hears(&self.head) {
            self.ear = None;
        }
    }
}

#[cfg(target_os = "linux")]
mod ear {
    use rustix::{
        event::{PollFd, PollFlags, Timespec, poll},
        fd::OwnedFd,
        fs::inotify::{self, CreateFlags, WatchFlags},
    };
    use std::{path::Path, time::Duration};

    const BYTES: usize = 4096;

    /// Hears of changes of files.
    pub(super) struct Ear(OwnedFd);

    impl Ear {
        /// `None`: the system has none left to give.
        pub(super) fn new() -> Option<Self> {
            inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok().map(Self)
        }

        /// Listening twice to one file is listening once.
        pub(super) fn listen(&self, file: &Path) -> bool {
            let changes = WatchFlags::MODIFY | WatchFlags::DELETE_SELF | WatchFlags::MOVE_SELF;
            inotify::add_watch(&self.0, file, changes).is_ok()
        }

        /// `false`: nothing was heard. What interrupts it is taken for something that was.
        pub(super) fn wait(&self, at_most: Option<Duration>) -> bool {
            let at_most = at_most.and_then(|at_most| Timespec::try_from(at_most).ok());
            let heard = poll(&mut [PollFd::new(&self.0, PollFlags::IN)], at_most.as_ref());
            let mut what = [0_u8; BYTES];
            while rustix::io::read(&self.0, &mut what).is_ok_and(|bytes| bytes > 0) {}
            heard != Ok(0)
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod ear {
    use std::{path::Path, time::Duration};

    /// There is none.
    pub(super) enum Ear {}

    impl Ear {
        pub(super) fn new() -> Option<Self> {
            None
        }

        pub(super) fn listen(&self, _: &Path) -> bool {
            match *self {}
        }

        pub(super) fn wait(&self, _: Option<Duration>) -> bool {
            match *self {}
        }
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;
    use std::fs;

    /// Longer than any test may take: a bell that does not ring fails, and none that rings waits for it.
    const LONG: Option<Duration> = Some(Duration::from_secs(30));
    const NOW: Option<Duration> = Some(Duration::ZERO);

    fn root() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let head = Root::new(folder.path()).head();
        fs::write(&head, "0").unwrap();
        (folder, head)
    }

    #[test]
    fn it_rings_for_what_came_since_it_was_there_and_once() {
        let (folder, head) = root();
        let mut bell = Bell::new(folder.path());
        assert!(!bell.wait(NOW), "nothing has happened yet");
        fs::write(&head, "1").unwrap();
        fs::write(&head, "2").unwrap();
        assert!(bell.wait(LONG));
        assert!(!bell.wait(NOW), "many changes are one ring");
    }

    #[test]
    fn it_rings_for_a_sidecar_that_took_the_place_of_another() {
        let (folder, head) = root();
        let mut bell = Bell::new(folder.path());
        fs::write(folder.path().join("other"), "1").unwrap();
        fs::rename(folder.path().join("other"), &head).unwrap();
        assert!(bell.wait(LONG));
        assert!(!bell.wait(NOW));
        fs::write(&head, "2").unwrap();
        assert!(bell.wait(LONG));
    }

    #[test]
    fn it_rings_for_other_files_that_it_was_told_of() {
        let (folder, _) = root();
        let said = folder.path().join("stderr");
        let mut bell = Bell::new(folder.path());
        assert!(!bell.hears(&said), "it is not there");
        fs::write(&said, "a").unwrap();
        assert!(bell.hears(&said));
        assert!(!bell.wait(NOW));
        fs::write(&said, "b").unwrap();
        assert!(bell.wait(LONG));
    }

    #[test]
    fn where_nothing_can_be_heard_it_rings_every_now_and_then() {
        let folder = tempfile::tempdir().unwrap();
        let mut bell = Bell::new(folder.path());
        assert!(bell.ear.is_none(), "there is no sidecar to listen to");
        assert!(!bell.wait(NOW));
        assert!(bell.wait(None));
    }
}
