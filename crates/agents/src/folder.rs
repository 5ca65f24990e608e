//! The folder of an attempt.
//!
//! Making one is the dearest thing that a file system does for an attempt, and most attempts leave theirs empty. So an empty one is
//! not left lying about for nobody: the next attempt of the same agent gets it under its own name.

use crate::agent::Process;
use rustix::fs::{Mode, OFlags, RawDir};
use std::{
    fs::DirBuilder,
    io,
    mem::MaybeUninit,
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
    sync::Arc,
};

/// Who may do what in a folder.
const MODE: u32 = 0o700;

/// Makes folders. Each thread that makes attempts has one.
#[derive(Default)]
pub(crate) struct Folders {
    /// One that was left empty, and by whom. What an agent did to its folder is no other agent's business.
    spare: Option<(Arc<Process>, PathBuf)>,
}

impl Folders {
    /// Makes the folder, or finds it made.
    pub(crate) fn make(&mut self, process: &Arc<Process>, folder: &Path) -> io::Result<()> {
        if let Some((owner, spare)) = self.spare.take()
            && Arc::ptr_eq(&owner, process)
            // It is gone if its task is; or the folder around the new one is not there yet; or there is one already.
            && rustix::fs::renameat_with(rustix::fs::CWD, &spare, rustix::fs::CWD, folder, rustix::fs::RenameFlags::NOREPLACE).is_ok()
        {
            return Ok(());
        }
        let mut one = DirBuilder::new();
        one.mode(MODE);
        match one.create(folder) {
            // Most often the one around it is there: another step of the task has made it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => one.recursive(true).create(folder),
            // Not a link to one: an agent may have put it there.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                if std::fs::symlink_metadata(folder)?.is_dir() { Ok(()) } else { Err(error) }
            }
            made => made,
        }
    }

    /// The attempt that worked there is over, and so is everybody whom it started.
    pub(crate) fn left(&mut self, process: &Arc<Process>, folder: &Path) {
        if is_as_new(folder).unwrap_or(false) {
            self.spare = Some((Arc::clone(process), folder.to_owned()));
        }
    }
}

/// Whether nobody has changed anything about it.
fn is_as_new(folder: &Path) -> io::Result<bool> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = rustix::fs::open(folder, flags, Mode::empty())?;
    if rustix::fs::fstat(&opened)?.st_mode & 0o7777 != MODE {
        return Ok(false);
    }
    let mut buffer = [MaybeUninit::uninit(); 512];
    let mut entries = RawDir::new(opened, &mut buffer);
    while let Some(entry) = entries.next() {
        if !matches!(entry?.file_name().to_bytes(), b"." | b"..") {
            return Ok(false);
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Agents;
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

    fn process() -> Arc<Process> {
        let agents = Agents::parse("[agents.a]\ncommand = [\"true\"]\n", Path::new("/nowhere")).unwrap();
        agents.get(&"a".parse().unwrap()).unwrap().process().unwrap().clone().into()
    }

    #[test]
    fn an_empty_folder_is_the_next_attempts_and_no_other_is() {
        let (rig, process) = (tempfile::tempdir().unwrap(), process());
        let mut folders = Folders::default();
        let path = |name: &str| rig.path().join("task").join(name);
        folders.make(&process, &path("a.1")).unwrap();
        let made = std::fs::metadata(path("a.1")).unwrap();
        assert_eq!(made.mode() & 0o7777, MODE);
        folders.left(&process, &path("a.1"));
        folders.make(&process, &path("b.1")).unwrap();
        assert!(!path("a.1").exists(), "it has another name now");
        assert_eq!(std::fs::metadata(path("b.1")).unwrap().ino(), made.ino());
        // Something lies in it.
        std::fs::write(path("b.1").join(".kept"), "").unwrap();
        folders.left(&process, &path("b.1"));
        folders.make(&process, &path("c.1")).unwrap();
        assert!(path("b.1").join(".kept").exists() && path("c.1").exists());
        // Its mode was changed.
        std::fs::set_permissions(path("c.1"), std::fs::Permissions::from_mode(0o755)).unwrap();
        folders.left(&process, &path("c.1"));
        folders.make(&process, &path("d.1")).unwrap();
        assert!(path("c.1").exists() && path("d.1").exists());
    }

    #[test]
    fn a_folder_is_made_whatever_became_of_the_spare_one() {
        let (rig, process) = (tempfile::tempdir().unwrap(), process());
        let mut folders = Folders::default();
        let path = |name: &str| rig.path().join(name);
        folders.make(&process, &path("one/a.1")).unwrap();
        folders.left(&process, &path("one/a.1"));
        std::fs::remove_dir_all(path("one")).unwrap();
        folders.make(&process, &path("two/a.1")).unwrap();
        folders.left(&process, &path("two/a.1"));
        folders.make(&process, &path("three/a.1")).unwrap();
        assert!(path("three/a.1").is_dir());
        // It is there already: an agent tool's attempts share one.
        folders.left(&process, &path("three/a.1"));
        folders.make(&process, &path("two/a.1")).unwrap();
        assert!(path("two/a.1").is_dir());
        // Another agent's.
        folders.left(&process, &path("two/a.1"));
        folders.make(&Arc::new(process.as_ref().clone()), &path("two/b.1")).unwrap();
        assert!(path("two/a.1").is_dir() && path("two/b.1").is_dir());
    }
}
