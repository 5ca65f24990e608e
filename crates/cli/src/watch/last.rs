//! The last line that an agent said about its progress.

use relaymesh_core::{id::TaskId, name::Name};
use relaymesh_runtime::agents::{folder, said};
use std::{
    fs::{self, File},
    io::{Read as _, Seek as _, SeekFrom},
    path::Path,
};

/// How much of the end of the file is looked at.
const TAIL_BYTES: u64 = 2048;
const LINE_CHARS_MAX: usize = 80;

/// What the newest attempt of the step said last, if it is a process that said anything.
pub(crate) fn line(root: &Path, task: TaskId, step: &Name) -> Option<String> {
    let mut file = File::open(said(root, task, step, newest(root, task, step)?, "stderr")).ok()?;
    let length = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL_BYTES))).ok()?;
    let mut bytes = Vec::new();
    file.take(TAIL_BYTES).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let last = text.lines().rev().map(str::trim).find(|line| !line.is_empty())?;
    Some(crate::output::short(last, LINE_CHARS_MAX))
}

/// The number of the newest attempt that said something.
fn newest(root: &Path, task: TaskId, step: &Name) -> Option<u32> {
    let attempts = folder(root, task, step, 0).parent()?.to_owned();
    let epoch = |entry: fs::DirEntry| {
        let name = entry.file_name().into_string().ok()?;
        let (of, epoch) = name.strip_suffix(".stderr")?.rsplit_once('.')?;
        (of == step.as_str()).then_some(epoch.parse::<u32>().ok()?)
    };
    fs::read_dir(&attempts).ok()?.filter_map(|entry| epoch(entry.ok()?)).max()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_of_the_newest_attempt_is_found() {
        let root = tempfile::tempdir().unwrap();
        let (task, step): (TaskId, Name) = (TaskId::new(1, 1), "fix.1".parse().unwrap());
        assert_eq!(line(root.path(), task, &step), None);
        for (epoch, words) in [(2, "old\n"), (10, "first\nhalf way\u{1b}[2J\n\n"), (9, "older")] {
            fs::create_dir_all(folder(root.path(), task, &step, epoch)).unwrap();
            fs::write(said(root.path(), task, &step, epoch, "stderr"), words).unwrap();
        }
        fs::write(said(root.path(), task, &"fix".parse().unwrap(), 99, "stderr"), "other").unwrap();
        let last = line(root.path(), task, &step).unwrap();
        assert!(last.starts_with("half way") && !last.contains('\u{1b}'), "{last:?}");
    }
}
