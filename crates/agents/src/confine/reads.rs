//! What attempts read: everything but the files with the secrets.
//!
//! Landlock allows whole folders and has no exceptions. So the folders above the secrets are not allowed, but each thing in them is, one by
//! one, and each thing in the next of them, down to the secrets. That is a few hundred rules: they are kept for all attempts until one of
//! those folders changes. What is put into one of those folders later, an attempt that runs already cannot read.

use landlock::{AccessFs, PathBeneath, Ruleset, RulesetAttr as _, RulesetCreated, RulesetCreatedAttr as _};
use rustix::fs::{Mode, OFlags};
use std::{
    collections::BTreeSet,
    fs, io,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::{Duration, SystemTime},
};

/// A folder that changed a shorter time ago may change once more without a later time on it.
const SETTLED: Duration = Duration::from_millis(100);

/// What attempts read.
pub(super) struct Reads {
    hidden: Vec<PathBuf>,
    kept: Mutex<Option<Kept>>,
}

/// The rules as of one moment.
struct Kept {
    rules: RulesetCreated,
    /// The folders above what is hidden, and when each changed.
    above: Vec<(PathBuf, SystemTime)>,
}

impl Reads {
    /// Everything but what is called like one of these, or like one of them and more.
    pub(super) fn new(hidden: &[PathBuf]) -> Self {
        // By their true names: a rule is about a place, however one gets there.
        let real = |path: &PathBuf| Some(path.parent()?.canonicalize().ok()?.join(path.file_name()?));
        Self { hidden: hidden.iter().filter_map(real).collect(), kept: Mutex::default() }
    }

    /// The layer. `None`: nothing is hidden.
    pub(super) fn layer(&self) -> io::Result<Option<RulesetCreated>> {
        if self.hidden.is_empty() {
            return Ok(None);
        }
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kept) = kept.as_ref().filter(|kept| kept.holds()) {
            return kept.rules.try_clone().map(Some);
        }
        let made = self.made()?;
        let rules = made.rules.try_clone()?;
        *kept = Some(made).filter(Kept::is_settled);
        Ok(Some(rules))
    }

    fn made(&self) -> io::Result<Kept> {
        let rules = Ruleset::default().handle_access(AccessFs::ReadFile).map_err(io::Error::other)?;
        let mut kept = Kept { rules: rules.create().map_err(io::Error::other)?, above: Vec::new() };
        for folder in self.above() {
            // The time first: what comes between is seen as a change.
            kept.above.push((folder.to_owned(), fs::metadata(folder)?.modified()?));
            // One that may be passed and not be looked into, as other people's home folders are: what is beside our way stays unread.
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                let path = entry.path();
                // A link needs no rule: what it points to has its own, or is hidden.
                let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
                if !is_link && !self.is_above(&path) && !self.is_hidden(&path) {
                    kept.rules = allowed(kept.rules, &path)?;
                }
            }
        }
        Ok(kept)
    }

    /// The folders above what is hidden.
    fn above(&self) -> BTreeSet<&Path> {
        self.hidden.iter().flat_map(|hidden| hidden.ancestors().skip(1)).collect()
    }

    fn is_hidden(&self, path: &Path) -> bool {
        self.hidden.iter().any(|hidden| path.as_os_str().as_bytes().starts_with(hidden.as_os_str().as_bytes()))
    }

    fn is_above(&self, path: &Path) -> bool {
        self.hidden.iter().any(|hidden| hidden != path && hidden.starts_with(path))
    }
}

impl Kept {
    fn holds(&self) -> bool {
        self.above.iter().all(|(folder, changed)| {
            fs::metadata(folder).and_then(|found| found.modified()).is_ok_and(|found| found == *changed)
        })
    }

    fn is_settled(&self) -> bool {
        let now = SystemTime::now();
        self.above.iter().all(|(_, changed)| now.duration_since(*changed).is_ok_and(|age| age > SETTLED))
    }
}

/// What is gone meanwhile, or may not be reached, needs no rule. One that has become a link meanwhile is not followed.
fn allowed(rules: RulesetCreated, path: &Path) -> io::Result<RulesetCreated> {
    match rustix::fs::open(path, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty()) {
        Ok(place) => rules.add_rule(PathBeneath::new(&place, AccessFs::ReadFile)).map_err(io::Error::other),
        Err(_) => Ok(rules),
    }
}
