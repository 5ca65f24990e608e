//! Finding the file of a program by its name.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

/// How long a file that was found stands for its name: a program that is put in front of it on PATH is seen that much later.
const KEPT: Duration = Duration::from_secs(1);

/// Finds programs, and remembers the last one: looking through PATH takes longer than most of what is done for a short attempt.
#[derive(Default)]
pub(crate) struct Programs {
    last: Option<Found>,
}

struct Found {
    name: String,
    file: PathBuf,
    at: Instant,
}

impl Programs {
    /// As [`program`]; a file that was found a moment ago and still runs is not looked for again.
    pub(crate) fn find(&mut self, name: &str, now: Instant) -> Option<PathBuf> {
        let is_fresh = |found: &&Found| found.name == name && now.duration_since(found.at) < KEPT && runs(&found.file);
        if let Some(found) = self.last.as_ref().filter(is_fresh) {
            return Some(found.file.clone());
        }
        let file = program(name)?;
        self.last = Some(Found { name: name.to_owned(), file: file.clone(), at: now });
        Some(file)
    }
}

/// The file that would be run for a program of this name: on PATH, unless the name has a folder. `None`: there is none that runs.
pub fn program(name: &str) -> Option<PathBuf> {
    if name.contains('/') {
        return Some(name.into()).filter(|file: &PathBuf| runs(file));
    }
    // Without a PATH, where the C library looks.
    let path = std::env::var_os("PATH").unwrap_or_else(|| "/bin:/usr/bin".into());
    let candidates = std::env::split_paths(&path).map(|folder| folder.join(name));
    candidates.filter(|file| file.is_absolute()).find(|file| runs(file))
}

fn runs(file: &Path) -> bool {
    fs::metadata(file).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_found_is_looked_for_again_after_a_moment_or_when_it_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let gone = folder.path().join("sh");
        fs::write(&gone, "").unwrap();
        fs::set_permissions(&gone, fs::Permissions::from_mode(0o755)).unwrap();
        let (now, real) = (Instant::now(), program("sh").unwrap());
        let mut programs = Programs { last: Some(Found { name: "sh".to_owned(), file: gone.clone(), at: now }) };
        assert_eq!(programs.find("sh", now + KEPT / 2).as_ref(), Some(&gone), "found a moment ago");
        assert_ne!(programs.find("true", now), Some(gone.clone()), "another name");
        programs.last = Some(Found { name: "sh".to_owned(), file: gone.clone(), at: now });
        assert_eq!(programs.find("sh", now + KEPT).as_ref(), Some(&real), "found too long ago");
        programs.last = Some(Found { name: "sh".to_owned(), file: gone.clone(), at: now });
        fs::remove_file(&gone).unwrap();
        assert_eq!(programs.find("sh", now).as_ref(), Some(&real), "gone since");
        assert_eq!(programs.find("no such program", now), None);
    }
}
