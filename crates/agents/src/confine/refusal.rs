//! What to say when an agent was refused a write.
//!
//! The kernel says `Permission denied` to the agent and nothing to us, and a reader of that looks at the permissions of the file, which are
//! in order. So what the agent said last about it is looked at, and if the path that it names lies outside of where it may write, its error
//! says so. A path inside is refused for another reason, about which there is nothing to add.

use super::{Confine, Level, machine, own_folders};
use crate::agent::Process;
use std::path::{Component, Path, PathBuf};

/// How every language says it.
const WORDS: &[u8] = b"permission denied";
/// The longest line that is looked at.
const LINE_BYTES_MAX: usize = 4096;

/// What the confinement of this process refused it, if that is what these words of it are about. It may write to `places`; it works in
/// `folder`.
pub(crate) fn refusal(process: &Process, places: &[&Path], folder: &Path, said: &[u8]) -> Option<String> {
    if process.confine == Confine::Off {
        return None;
    }
    let lines = said.rsplit(|byte| *byte == b'\n').filter(|line| line.len() <= LINE_BYTES_MAX);
    let mut lines = lines.filter(|line| line.windows(WORDS.len()).any(|part| part.eq_ignore_ascii_case(WORDS)));
    let named = normal(&folder.join(named(&String::from_utf8_lossy(lines.next()?))?));
    if machine().level == Level::None {
        return None;
    }
    let own = own_folders(process);
    let allowed = process.writable.iter().map(Path::new).chain(own.iter().map(PathBuf::as_path));
    // A folder on the way may be a symbolic link.
    let folder = named.parent().and_then(|folder| folder.canonicalize().ok());
    let real = folder.zip(named.file_name()).map_or_else(|| named.clone(), |(folder, name)| folder.join(name));
    let is_inside = |place: &Path| {
        let places = [normal(place), place.canonicalize().unwrap_or_default()];
        let is_in = |path: &Path| places.iter().any(|place| place.is_absolute() && path.starts_with(place));
        is_in(&named) || is_in(&real)
    };
    if places.iter().copied().chain(allowed).any(is_inside) {
        return None;
    }
    let named = named.display();
    Some(format!(
        "confined: an agent writes only in its own folder and in the paths of `writable` in agents.toml, and `{named}` is in none of them"
    ))
}

/// The path that a line names: in quotes, or else its last word with a slash in it.
fn named(line: &str) -> Option<&str> {
    let quotes = ['\'', '"', '`', '\u{2018}', '\u{2019}'];
    let quoted = line.split(quotes).skip(1).find(|part| part.starts_with(['/', '.']));
    let trimmed =
        line.split_whitespace().map(|word| word.trim_start_matches('(').trim_end_matches([':', ',', ')', '.']));
    quoted.or_else(|| trimmed.rev().find(|word| word.contains('/')))
}

/// The path without `.` and `..`; what it names need not be there.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                normal.pop();
            }
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => normal.push(part),
        }
    }
    normal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_is_found_in_what_the_usual_languages_say() {
        for (line, expected) in [
            ("PermissionError: [Errno 13] Permission denied: '/data/x.jsonl'", "/data/x.jsonl"),
            ("sh: 1: cannot create /data/x: Permission denied", "/data/x"),
            ("bash: line 1: ../x: Permission denied", "../x"),
            ("Error: EACCES: permission denied, open '/data/x'", "/data/x"),
            ("open /data/x: permission denied", "/data/x"),
            ("mkdir: cannot create directory \u{2018}/data\u{2019}: Permission denied", "/data"),
            ("/usr/bin/touch: cannot touch '/data/x': Permission denied", "/data/x"),
            ("python3: can't open file '/data/x.py': [Errno 13] Permission denied", "/data/x.py"),
        ] {
            assert_eq!(named(line), Some(expected), "{line}");
        }
        assert_eq!(named("git@host: Permission denied (publickey)."), None);
        assert_eq!(normal(Path::new("/a/./b/../c")), Path::new("/a/c"));
    }
}
