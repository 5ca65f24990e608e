//! What an attempt may use of the machine.
//!
//! Limits that the system keeps for each process are set as soon as the process is there, for it and for whatever it has started by then;
//! from then on its children inherit them. (Nothing can set them earlier but code between fork and exec, which costs a copy of the daemon.)
//! The number of
//! processes is another matter: the system's own limit (`RLIMIT_NPROC`) counts everything of the user, also what has nothing to do with
//! agents, and does not hold for root. So that one is kept by `crowd.rs`.

use rustix::process::Pid;
#[cfg(target_os = "linux")]
use rustix::process::{Resource, Rlimit, getrlimit};
use serde::Deserialize;

/// How often to look for what it has started before it was held.
#[cfg(target_os = "linux")]
const LOOKS: usize = 16;

/// What an attempt may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Processes and threads at once.
    pub processes: u32,
    /// The longest file that it writes.
    pub file_bytes: u64,
    /// Files that each of its processes has open at once.
    pub open_files: u64,
    /// Memory of its own that each of its processes has. Unless it is given there is no limit.
    pub memory_bytes: Option<u64>,
}

impl Default for Limits {
    fn default() -> Self {
        Self { processes: 512, file_bytes: 16 << 30, open_files: 16_384, memory_bytes: None }
    }
}

impl Limits {
    pub(crate) fn check(&self) -> Result<(), String> {
        let least = [
            (u64::from(self.processes), 1, "processes"),
            (self.file_bytes, 1, "file_bytes"),
            (self.open_files, 16, "open_files"),
            (self.memory_bytes.unwrap_or(u64::MAX), 1 << 20, "memory_bytes"),
        ];
        match least.iter().find(|(given, least, _)| given < least) {
            Some((given, least, name)) => Err(format!("`limits`: `{name}` is {given}; the minimum is {least}")),
            None => Ok(()),
        }
    }

    /// Holds this process to the limits, and whatever it has started or starts: under load it may have got far before we come to it. `all` are
    /// those that there are.
    #[cfg(target_os = "linux")]
    pub(crate) fn hold(&self, leader: Pid, all: &dyn Fn() -> Vec<Pid>) {
        let mut held = std::collections::BTreeSet::new();
        self.set(leader);
        held.insert(leader.as_raw_nonzero());
        // Whoever is born of one that is held is held, too; so this ends with the first look that finds nobody else.
        for _ in 0..LOOKS {
            let mut is_done = true;
            for pid in all() {
                if held.insert(pid.as_raw_nonzero()) {
                    self.set(pid);
                    is_done = false;
                }
            }
            if is_done {
                return;
            }
        }
    }

    #[cfg(target_os = "linux")]
    fn set(&self, pid: Pid) {
        let wanted = [
            (Resource::Fsize, Some(self.file_bytes)),
            (Resource::Nofile, Some(self.open_files)),
            // Not the address space: programs reserve far more of that than they use.
            (Resource::Data, self.memory_bytes),
        ];
        for (resource, most) in wanted {
            let Some(most) = most else { continue };
            // A limit that is lower already stays.
            let most = getrlimit(resource).maximum.map_or(most, |known| known.min(most));
            // One that has ended needs none.
            let _ = rustix::process::prlimit(Some(pid), resource, Rlimit { current: Some(most), maximum: Some(most) });
        }
    }

    /// Other systems cannot limit a process from outside.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn hold(&self, _: Pid, _: &dyn Fn() -> Vec<Pid>) {}
}
