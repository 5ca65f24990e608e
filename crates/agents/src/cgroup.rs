//! Control groups: a place for each thread that starts attempts, in which everything is counted that comes from there.
//!
//! One for each attempt is the tempting answer, and costs more than the process itself: making it, moving the process, removing it. But a
//! *thread* can be in a group of its own, and whoever it starts is born there. So each thread of the pool has a group for as long as it
//! lives, and between two attempts the thread is alone in it. Nothing is moved, and no process has a moment outside.
//!
//! Version 1 has such groups as they are (`tasks`), version 2 calls them threaded (`cgroup.threads`); both only where this process may make
//! groups under its own, and where processes are counted (`pids`).

use rustix::process::{Pid, Signal};
use std::{
    cell::Cell,
    fs::{self, File},
    io,
    os::unix::fs::FileExt as _,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU32, Ordering},
};

/// The threads of ours that are in the group besides the attempt: the one that it belongs to, the one that starts it, the one that gives it
/// a long input.
const OURS: u32 = 3;
/// How the names of groups begin.
pub(crate) const MARK: &str = "relaymesh-";
/// How often to try to remove a group whose processes are about to end.
const TRIES: usize = 1_000;

/// Where groups are made.
pub(crate) struct Groups {
    base: PathBuf,
    prefix: String,
    is_v2: bool,
    next: AtomicU32,
}

/// The group of the thread that made it. What is looked at with every attempt stays open: to find a file takes longer than to read it.
pub(crate) struct Group<'a> {
    place: Place<'a>,
    /// How many are in there.
    current: File,
    /// How many more were wanted.
    events: File,
    limit: Cell<u32>,
    refused: Cell<u64>,
}

/// The folder of a group. Dropped, it is empty and gone.
struct Place<'a> {
    groups: &'a Groups,
    folder: PathBuf,
}

impl Groups {
    /// Where this process may make groups, if anywhere. Those that a previous life of the owner left are emptied and removed.
    pub(crate) fn find(owner: &str) -> Option<Self> {
        let own = fs::read_to_string("/proc/self/cgroup").ok()?;
        let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
        let name: String = owner.chars().filter(char::is_ascii_alphanumeric).collect();
        let (base, is_v2) = place(&own, &mounts)?;
        let groups = Self { base, prefix: format!("{MARK}{name}-"), is_v2, next: AtomicU32::new(0) };
        groups.sweep();
        Some(groups)
    }

    fn sweep(&self) {
        for entry in fs::read_dir(&self.base).into_iter().flatten().flatten() {
            if entry.file_name().to_str().is_some_and(|name| name.starts_with(&self.prefix)) {
                self.remove(&entry.path());
            }
        }
    }

    /// A group for the calling thread, which is in it when this returns.
    pub(crate) fn enter(&self) -> Option<Group<'_>> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let folder = self.base.join(format!("{}{number}", self.prefix));
        fs::create_dir(&folder).ok()?;
        // Whatever fails, the place is dropped, and removed.
        let place = Place { groups: self, folder };
        if self.is_v2 {
            fs::write(place.folder.join("cgroup.type"), "threaded").ok()?;
            fs::write(self.base.join("cgroup.subtree_control"), "+pids").ok()?;
        }
        let open = |name: &str| File::open(place.folder.join(name)).ok();
        let (current, events) = (open("pids.current")?, open("pids.events")?);
        fs::write(place.folder.join(self.threads()), "0").ok()?;
        Some(Group { place, current, events, limit: Cell::new(0), refused: Cell::new(0) })
    }

    fn threads(&self) -> &'static str {
        if self.is_v2 { "cgroup.threads" } else { "tasks" }
    }

    /// Ends whoever is in there, and removes it.
    fn remove(&self, folder: &Path) {
        for _ in 0..TRIES {
            for pid in strangers(&folder.join(self.threads())) {
                let _ = rustix::process::kill_process(pid, Signal::KILL);
            }
            match fs::remove_dir(folder) {
                Err(error) if error.kind() == io::ErrorKind::ResourceBusy => std::thread::yield_now(),
                _ => return,
            }
        }
    }
}

impl Group<'_> {
    /// No other has this name.
    pub(crate) fn name(&self) -> String {
        self.place.folder.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
    }

    /// Holds the next attempt to this many processes and threads.
    pub(crate) fn hold(&self, processes: u32) {
        let limit = processes.saturating_add(OURS);
        if self.limit.get() != limit && fs::write(self.place.folder.join("pids.max"), limit.to_string()).is_ok() {
            self.limit.set(limit);
        }
        self.refused.set(self.refusals());
    }

    /// Whether somebody wanted more since then.
    pub(crate) fn is_over(&self) -> bool {
        self.refusals() > self.refused.get()
    }

    fn refusals(&self) -> u64 {
        let events = said(&self.events);
        events.lines().find_map(|line| line.strip_prefix("max ")?.trim().parse().ok()).unwrap_or(0)
    }

    /// Whoever is in there besides us: the leader, unless it is buried, and others. Almost always there are no others, and that costs one
    /// small file.
    pub(crate) fn members(&self, leader: Option<Pid>) -> Vec<Pid> {
        let without_others = 1 + usize::from(leader.is_some());
        if said(&self.current).trim().parse() == Ok(without_others) {
            return leader.into_iter().collect();
        }
        strangers(&self.place.folder.join(self.place.groups.threads()))
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let _ = fs::write(self.groups.base.join(self.groups.threads()), "0");
        self.groups.remove(&self.folder);
    }
}

/// What this small file says now.
fn said(file: &File) -> String {
    let mut bytes = [0; 64];
    let read = file.read_at(&mut bytes, 0).unwrap_or(0);
    String::from_utf8_lossy(&bytes[..read]).into_owned()
}

/// The threads in this list that are not of this process.
fn strangers(list: &Path) -> Vec<Pid> {
    let is_ours = |id: &str| Path::new("/proc/self/task").join(id).exists();
    let text = fs::read_to_string(list).unwrap_or_default();
    text.lines().filter(|id| !is_ours(id)).filter_map(|id| Pid::from_raw(id.parse().ok()?)).collect()
}

/// The folder of this process's own group that counts processes, and whether it is of version 2.
fn place(own: &str, mounts: &str) -> Option<(PathBuf, bool)> {
    let group = |wanted: &dyn Fn(&str) -> bool| {
        let mut lines = own.lines().map(|line| line.splitn(3, ':').collect::<Vec<_>>());
        lines.find_map(|parts| if let [_, kinds, path] = parts[..] { wanted(kinds).then_some(path) } else { None })
    };
    let counts = |kinds: &str| kinds.split(',').any(|kind| kind == "pids");
    if let Some(path) = group(&counts) {
        return Some((mounted(mounts, path, &|kind, options| kind == "cgroup" && counts(options))?, false));
    }
    let base = mounted(mounts, group(&str::is_empty)?, &|kind, _| kind == "cgroup2")?;
    let kinds = fs::read_to_string(base.join("cgroup.controllers")).ok()?;
    kinds.split_whitespace().any(|kind| kind == "pids").then_some((base, true))
}

/// Where this group is found in the file system (proc_pid_mountinfo(5)).
fn mounted(mounts: &str, group: &str, fits: &dyn Fn(&str, &str) -> bool) -> Option<PathBuf> {
    mounts.lines().find_map(|line| {
        let (before, after) = line.split_once(" - ")?;
        let before: Vec<&str> = before.split(' ').collect();
        let after: Vec<&str> = after.split(' ').collect();
        let (top, at) = (*before.get(3)?, *before.get(4)?);
        let below = Path::new(group).strip_prefix(top).ok()?;
        fits(after.first()?, after.get(2)?).then(|| Path::new(at).join(below))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_own_group_is_found_by_what_it_counts() {
        let mounts = "24 23 0:22 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n\
                      30 24 0:27 / /sys/fs/cgroup/pids rw,relatime - cgroup cgroup rw,pids\n\
                      31 24 0:28 /docker/a /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n";
        let own = "3:cpu,cpuacct:/docker/a/b\n2:pids:/x/y\n0::/\n";
        assert_eq!(place(own, mounts), Some(("/sys/fs/cgroup/pids/x/y".into(), false)));
        assert_eq!(place("3:cpu,cpuacct:/docker/a/b\n", mounts), None);
        assert_eq!(
            mounted(mounts, "/docker/a/b", &|_, options| options.contains("cpu")),
            Some("/sys/fs/cgroup/cpu/b".into())
        );
        assert_eq!(mounted(mounts, "/elsewhere", &|_, options| options.contains("cpu")), None);
    }

    #[test]
    fn version_two_is_used_where_it_counts_processes() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("a")).unwrap();
        let mounts = format!("30 24 0:27 / {} rw - cgroup2 cgroup2 rw\n", folder.path().display());
        let controllers = folder.path().join("a/cgroup.controllers");
        fs::write(&controllers, "cpu memory\n").unwrap();
        assert_eq!(place("0::/a\n", &mounts), None);
        fs::write(&controllers, "cpu memory pids\n").unwrap();
        assert_eq!(place("0::/a\n", &mounts), Some((folder.path().join("a"), true)));
    }
}
