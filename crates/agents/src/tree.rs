//! Process trees: finding what an attempt started, wherever it went, and ending it.
//!
//! Killing the child is the tempting answer, and leaves its children. Killing its group leaves whoever has made a group of its own.
//! Here every process carries a *tag* in its environment, which its children inherit; and the daemon is the *subreaper* of its
//! descendants, so whoever is orphaned becomes its child and can be seen. A process that has both left the group and wiped its
//! environment is still found as a child of the daemon that nobody knows.

use rustix::process::{Pid, Signal, WaitOptions};
use std::{
    collections::BTreeSet,
    fs,
    path::Path,
    time::{Duration, Instant},
};

/// The variable with the tag: its owner first, then which attempt it is of.
pub const VARIABLE: &str = "RELAYMESH_TAG";

/// How long a sweep waits for what it killed to be gone.
const SWEEP: Duration = Duration::from_secs(5);
/// How long the end of an attempt waits for what it left to be gone.
const STRAYS: Duration = Duration::from_secs(5);

/// Makes this process the parent of every descendant that loses its own. Where the system cannot, orphans are found by their tags
/// alone.
pub fn adopt() {
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
}

/// Ends every process of a previous life: those whose tag begins with `owner`. Says how many there were. Whoever calls this holds the
/// root, so none of them is anybody else's.
pub fn sweep(owner: &str) -> usize {
    let until = Instant::now() + SWEEP;
    let mut ended = BTreeSet::new();
    loop {
        let found = tagged(owner);
        if found.is_empty() || Instant::now() > until {
            return ended.len();
        }
        for pid in found {
            ended.insert(pid.as_raw_nonzero());
            kill(pid, Signal::KILL);
        }
        std::thread::yield_now();
    }
}

/// The processes whose tag begins with `owner`. Nothing is done to them.
pub fn alive(owner: &str) -> Vec<i32> {
    tagged(owner).into_iter().map(|pid| pid.as_raw_nonzero().get()).collect()
}

/// A signal to a whole group. One that is empty needs none.
pub(crate) fn kill_group(leader: Pid, signal: Signal) {
    let _ = rustix::process::kill_process_group(leader, signal);
}

/// Ends what is left of ended attempts: whoever lost its parent and became a child of this process, unless it belongs to another attempt that
/// runs. Says how many of those that had left the group held this pipe open. Almost always there is nobody, and that costs one small file.
pub(crate) fn end_strays(group: Pid, pipe: Option<u64>, is_others: &dyn Fn(Pid) -> bool) -> usize {
    let until = Instant::now() + STRAYS;
    let (mut ended, mut held) = (BTreeSet::new(), 0);
    loop {
        // Until one is buried it may have children that are still to be adopted: it is over when a look around finds nobody.
        let mut is_done = true;
        for pid in adopted() {
            if is_others(pid) {
                continue;
            }
            is_done = false;
            if ended.insert(pid.as_raw_nonzero()) && rustix::process::getpgid(Some(pid)).is_ok_and(|its| its != group) {
                held += usize::from(pipe.is_some_and(|pipe| holds(pid, pipe)));
            }
            kill(pid, Signal::KILL);
            let _ = rustix::process::waitpid(Some(pid), WaitOptions::NOHANG);
        }
        if is_done || Instant::now() > until {
            return held;
        }
        std::thread::yield_now();
    }
}

/// Whether this process has this pipe open.
fn holds(pid: Pid, pipe: u64) -> bool {
    let files = fs::read_dir(format!("/proc/{}/fd", pid.as_raw_nonzero())).into_iter().flatten().flatten();
    let name = format!("pipe:[{pipe}]");
    files.filter_map(|file| fs::read_link(file.path()).ok()).any(|target| target.as_os_str() == name.as_str())
}

/// The control group of this process whose name begins like this, if it is in such a one.
pub(crate) fn group(pid: Pid, mark: &str) -> Option<String> {
    let groups = fs::read_to_string(format!("/proc/{}/cgroup", pid.as_raw_nonzero())).ok()?;
    groups.lines().flat_map(|line| line.split('/')).find(|part| part.starts_with(mark)).map(str::to_owned)
}

/// How many processes the attempt of this leader and this tag has: those below the leader, and its orphans with whatever is below them. Counts
/// no further than `enough`.
pub(crate) fn count(leader: Pid, tagged: &str, enough: usize) -> usize {
    let orphans = adopted().into_iter().take(enough).filter(|pid| *pid != leader);
    let orphans = orphans.filter(|pid| tag(*pid).is_some_and(|tag| tag == tagged));
    walk(std::iter::once(leader).chain(orphans).collect(), enough).len()
}

/// This process and those below it, but no more than `enough`.
pub(crate) fn below(leader: Pid, enough: usize) -> Vec<Pid> {
    walk(vec![leader], enough)
}

fn walk(mut next: Vec<Pid>, enough: usize) -> Vec<Pid> {
    let (mut seen, mut found) = (BTreeSet::new(), Vec::new());
    while let Some(pid) = next.pop().filter(|_| found.len() < enough) {
        if seen.insert(pid.as_raw_nonzero()) {
            found.push(pid);
            next.extend(children(pid));
        }
    }
    found
}

/// The children of a process, whichever of its threads has them.
fn children(pid: Pid) -> Vec<Pid> {
    let threads = fs::read_dir(format!("/proc/{}/task", pid.as_raw_nonzero())).into_iter().flatten().flatten();
    threads.flat_map(|thread| listed(&thread.path().join("children"))).collect()
}

fn listed(list: &Path) -> Vec<Pid> {
    let text = fs::read_to_string(list).unwrap_or_default();
    text.split_whitespace().filter_map(|word| Pid::from_raw(word.parse().ok()?)).collect()
}

fn kill(pid: Pid, signal: Signal) {
    // It may have ended by itself.
    let _ = rustix::process::kill_process(pid, signal);
}

/// The orphans that this process has adopted. Linux gives them to the first thread of a process, which starts nobody itself; and so it does with
/// what a thread has started that is gone, as those are that start confined attempts.
fn adopted() -> Vec<Pid> {
    let own = rustix::process::getpid().as_raw_nonzero();
    listed(Path::new(&format!("/proc/self/task/{own}/children")))
}

/// Every process that is alive and whose tag begins like this.
fn tagged(owner: &str) -> Vec<Pid> {
    let own = rustix::process::getpid();
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| Pid::from_raw(entry.file_name().to_str()?.parse().ok()?));
    pids.filter(|pid| *pid != own && tag(*pid).is_some_and(|tag| tag.starts_with(owner))).collect()
}

/// The tag of a process. A zombie has no environment any more.
pub(crate) fn tag(pid: Pid) -> Option<String> {
    let environment = fs::read(format!("/proc/{}/environ", pid.as_raw_nonzero())).ok()?;
    let prefix = format!("{VARIABLE}=").into_bytes();
    let value = environment.split(|byte| *byte == 0).find_map(|entry| entry.strip_prefix(&prefix[..]))?;
    String::from_utf8(value.to_vec()).ok()
}
