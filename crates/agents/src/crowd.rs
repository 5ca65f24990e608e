//! How many processes an attempt has, and that they are not too many.
//!
//! Where the system counts them in a control group, it refuses the one too many, and we see that it has. Elsewhere they are counted every so
//! often, from the leader down and among the orphans that this process adopted: a fork bomb gets as far as it comes in that time.

use crate::{cgroup::Group, tree};
use rustix::process::{Pid, Signal};
use std::time::{Duration, Instant};

/// How often they are counted where the system does not.
const COUNT: Duration = Duration::from_millis(100);
/// How often to look whether the system has refused one. Nothing grows meanwhile, and a hundred agents that wait should cost nothing.
const LOOK: Duration = Duration::from_secs(1);
/// How long to wait for those to be gone that were ended.
const END: Duration = Duration::from_secs(5);

/// The processes of one attempt.
pub(crate) struct Crowd<'a> {
    group: Option<&'a Group<'a>>,
    tag: String,
    most: u32,
    next: Instant,
    is_over: bool,
}

impl<'a> Crowd<'a> {
    /// At most so many, counted in this group if there is one.
    pub(crate) fn new(group: Option<&'a Group<'a>>, tag: &str, most: u32) -> Self {
        if let Some(group) = group {
            group.hold(most);
        }
        let next = Instant::now() + every(group);
        Self { group, tag: tag.to_owned(), most, next, is_over: false }
    }

    /// Everybody, as far as can be seen: those in the group, or those below the leader, who is not buried yet.
    pub(crate) fn all(&self, leader: Pid) -> Vec<Pid> {
        match self.group {
            Some(group) => group.members(Some(leader)),
            None => tree::below(leader, self.most as usize),
        }
    }

    /// When to count again.
    pub(crate) fn next(&self) -> Instant {
        self.next
    }

    /// Why it was ended, if there were too many.
    pub(crate) fn verdict(&self) -> Option<String> {
        let most = self.most;
        self.is_over.then(|| format!("stopped: it started more than {most} processes at once (`limits.processes`)"))
    }

    /// Counts, if it is time to; `true` when there are too many.
    pub(crate) fn look(&mut self, leader: Pid) -> bool {
        if !self.is_over && Instant::now() >= self.next {
            self.next = Instant::now() + every(self.group);
            let most = self.most as usize;
            self.is_over = match self.group {
                Some(group) => group.is_over(),
                None => tree::count(leader, &self.tag, most + 1) > most,
            };
        }
        self.is_over
    }

    /// Ends whoever is left in the group, and waits until they are gone.
    pub(crate) fn end(&mut self) {
        let Some(group) = self.group else { return };
        // One that came to nothing because of the limit may end before it is looked at.
        self.is_over |= group.is_over();
        let until = Instant::now() + END;
        loop {
            let members = group.members(None);
            if members.is_empty() || Instant::now() > until {
                return;
            }
            for pid in members {
                let _ = rustix::process::kill_process(pid, Signal::KILL);
            }
            std::thread::yield_now();
        }
    }
}

fn every(group: Option<&Group<'_>>) -> Duration {
    if group.is_some() { LOOK } else { COUNT }
}
