//! Taking up changes of `agents.toml` while the daemon runs.

use crate::agents;
use relaymesh_agents::{Agents, config::FILE};
use relaymesh_api::error::Error;
use relaymesh_runtime::{agents::News, driver::Handle};
use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::SystemTime,
};

/// Knows what of the files was taken up last.
pub(crate) struct Reload {
    root: PathBuf,
    news: News,
    handle: Handle,
    seen: Mutex<Stamp>,
    /// Why the newest file was not taken up.
    problem: Mutex<Option<String>>,
    /// Who else wants to know.
    told: Box<dyn Fn(&Agents) + Send + Sync>,
}

/// What tells one version of a file from the next.
pub(crate) type Stamp = Option<(SystemTime, u64)>;

impl Reload {
    pub(crate) fn new(root: PathBuf, news: News, handle: Handle, told: Box<dyn Fn(&Agents) + Send + Sync>) -> Self {
        let seen = Mutex::new(stamp(&root.join(FILE)).unwrap_or_default());
        Self { root, news, handle, seen, problem: Mutex::default(), told }
    }

    /// Why the newest file was not taken up, if it was not.
    pub(crate) fn problem(&self) -> Option<String> {
        self.problem.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Reads the file if it is another than the last time. One that is wrong changes nothing; `true` when something changed.
    pub(crate) fn run(&self) -> Result<bool, Error> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let now = stamp(&self.root.join(FILE)).unwrap_or(*seen);
        if now == *seen {
            return Ok(false);
        }
        *seen = now;
        let read = agents::read(&self.root);
        *self.problem.lock().unwrap_or_else(PoisonError::into_inner) =
            read.as_ref().err().map(|error| error.message.clone());
        let agents = read?;
        (self.told)(&agents);
        self.news.lock().unwrap_or_else(PoisonError::into_inner).agents = Some(agents);
        self.handle.refresh();
        Ok(true)
    }
}

/// The version of a file that is there now.
pub(crate) fn stamp(file: &Path) -> io::Result<Stamp> {
    match fs::metadata(file) {
        Ok(found) => Ok(Some((found.modified()?, found.len()))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}
