//! Removing what the bus accepted or refused long ago (R35).
//!
//! The tempting answer is to delete everything that is old enough. But `dead/` is also where the bus moves what it did not understand,
//! and that may be somebody's only copy: nothing unknown is ever deleted (D4). So a file goes only when the bus knows what it is:
//!
//! - in `done/<day>/`: a plain file with a name of the bus (`<id>.meta.json`, `.payload.json`, `.receipt.json`), when the day is over;
//! - in `dead/`: a meta file that was understood as one and refused, with its payload. The reason beside it says so, and when.
//!
//! Everything else stays: links, folders, other names, orphaned payloads, files without a reason. It is counted and reported.

use super::{
    folder::Folder,
    keep::day,
    meta::{Id, META, META_BYTES_MAX, PAYLOAD, REASON, RECEIPT},
};
use rustix::fs::FileType;
use serde::Deserialize;
use std::{ffi::OsStr, io, path::Path};

/// Codes of reasons with which something was quarantined: the bus does not know what it is.
pub(super) const UNKNOWN: [&str; 4] = ["bad_name", "no_meta", "no_row", "not_a_folder"];

/// What a sweep did.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Swept {
    /// Files that were removed.
    pub files: u64,
    /// Entries that are old enough and stay, because the bus does not know what they are.
    pub unknown: u64,
}

/// Removes what was accepted on a day that was over at `until_ms`, and what was refused up to then. Anybody may call it while the bus
/// works: it writes to the folder of today only.
pub fn sweep(root: &Path, until_ms: u64) -> io::Result<Swept> {
    let mut swept = Swept::default();
    let root = Folder::root(root)?;
    if let Some(done) = there(root.open("done"))? {
        sweep_done(&done, &day(until_ms), &mut swept)?;
    }
    if let Some(dead) = there(root.open("dead"))? {
        sweep_dead(&dead, until_ms, &mut swept)?;
    }
    Ok(swept)
}

fn sweep_done(done: &Folder, today: &str, swept: &mut Swept) -> io::Result<()> {
    done.each(|name| {
        let past = name.to_str().filter(|name| is_day(name) && *name < today);
        let Some(folder) = past.map(|name| there(done.open(name))).transpose()?.flatten() else { return Ok(()) };
        let mut unknown = 0;
        folder.each(|file| {
            let ends = [META, PAYLOAD, RECEIPT];
            let is_known = file.to_str().is_some_and(|text| ends.iter().any(|end| is_place(text, end)));
            if is_known && is_plain(&folder, file)? {
                folder.remove(file)?;
                swept.files += 1;
            } else {
                unknown += 1;
            }
            Ok(())
        })?;
        swept.unknown += unknown;
        folder.sync()?;
        done.remove_empty(name).map(drop)
    })?;
    done.sync()
}

/// What the bus wrote down when it refused something.
#[derive(Deserialize)]
struct Reason {
    file: String,
    code: String,
    at_ms: u64,
}

fn sweep_dead(dead: &Folder, until_ms: u64, swept: &mut Swept) -> io::Result<()> {
    dead.each(|name| {
        let Some(base) = name.to_str().and_then(|text| text.strip_suffix(REASON)) else { return Ok(()) };
        // Most are young, and need not be read.
        if !is_old(dead, name, until_ms)? {
            return Ok(());
        }
        match refused(dead, base, until_ms)? {
            Some(false) => {}
            Some(true) => {
                // The reason last: after a crash in the middle it says that there is more to do.
                for end in [PAYLOAD, META, REASON] {
                    let file = format!("{base}{end}");
                    if dead.has(&file)? {
                        dead.remove(OsStr::new(&file))?;
                        swept.files += 1;
                    }
                }
            }
            None => swept.unknown += 1,
        }
        Ok(())
    })?;
    dead.sync()
}

/// Whether the time is over of what was refused under this name. `None`: it is not known what it is.
fn refused(dead: &Folder, base: &str, until_ms: u64) -> io::Result<Option<bool>> {
    let Ok((_, bytes)) = dead.read(&format!("{base}{REASON}"), META_BYTES_MAX) else { return Ok(None) };
    let Ok(reason) = serde_json::from_slice::<Reason>(&bytes) else { return Ok(None) };
    let is_order = Id::of(&reason.file, META).is_some_and(|id| is_base(base, &id.to_string()));
    if !is_order || UNKNOWN.contains(&reason.code.as_str()) || dead.has(base)? {
        return Ok(None);
    }
    for end in [PAYLOAD, META] {
        let file = format!("{base}{end}");
        if dead.has(&file)? && !is_plain(dead, OsStr::new(&file))? {
            return Ok(None);
        }
    }
    Ok(Some(reason.at_ms <= until_ms))
}

/// Whether it was written up to then.
fn is_old(folder: &Folder, name: &OsStr, until_ms: u64) -> io::Result<bool> {
    let written_ms = |found: rustix::fs::Stat| u64::try_from(found.st_mtime).unwrap_or(0).saturating_mul(1_000);
    Ok(folder.stat(name)?.is_some_and(|found| written_ms(found) <= until_ms))
}

fn is_plain(folder: &Folder, name: &OsStr) -> io::Result<bool> {
    Ok(folder.stat(name)?.is_some_and(|found| FileType::from_raw_mode(found.st_mode) == FileType::RegularFile))
}

/// `<id><end>` or `<id>.<place><end>`: the same id may come again.
fn is_place(file: &str, end: &str) -> bool {
    let Some(base) = file.strip_suffix(end) else { return false };
    let id = base.split_once('.').map_or(base, |(id, _)| id);
    Id::of(&format!("{id}{end}"), end).is_some() && is_base(base, id)
}

/// Whether this is a place for that id.
fn is_base(base: &str, id: &str) -> bool {
    let number = |rest: &str| !rest.is_empty() && rest.bytes().all(|c| c.is_ascii_digit());
    base.strip_prefix(id).is_some_and(|rest| rest.is_empty() || rest.strip_prefix('.').is_some_and(number))
}

/// `2026-11-17`.
fn is_day(name: &str) -> bool {
    let digit = |(at, c): (usize, u8)| if matches!(at, 4 | 7) { c == b'-' } else { c.is_ascii_digit() };
    name.len() == 10 && name.bytes().enumerate().all(digit)
}

/// `None`: there is no such folder, or something else has its name.
fn there(opened: io::Result<Folder>) -> io::Result<Option<Folder>> {
    match opened {
        Ok(folder) => Ok(Some(folder)),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(None),
        Err(error) if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, os::unix::fs::symlink};

    /// The end of 1970-01-02.
    const UNTIL_MS: u64 = 2 * 86_400_000;

    fn names(folder: &Path) -> Vec<String> {
        let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn put(folder: &Path, names: &[&str]) {
        fs::create_dir_all(folder).unwrap();
        names.iter().for_each(|name| fs::write(folder.join(name), "{}").unwrap());
    }

    #[test]
    fn r35_days_that_are_over_go_and_what_is_not_of_the_bus_stays() {
        let root = tempfile::tempdir().unwrap();
        let done = root.path().join("done");
        let all = ["a.meta.json", "a.payload.json", "a.receipt.json", "a.2.receipt.json", "msg_01.meta.json"];
        put(&done.join("1970-01-01"), &all);
        put(&done.join("1970-01-02"), &["b.receipt.json", "b.x.receipt.json", "notes.txt", ".mine"]);
        symlink("/etc/hostname", done.join("1970-01-02/c.meta.json")).unwrap();
        put(&done.join("1970-01-03"), &all);
        put(&done.join("archive"), &["a.receipt.json"]);
        assert_eq!(sweep(root.path(), UNTIL_MS - 1).unwrap(), Swept { files: 5, unknown: 0 });
        assert_eq!(names(&done), ["1970-01-02", "1970-01-03", "archive"]);
        assert_eq!(sweep(root.path(), UNTIL_MS).unwrap(), Swept { files: 1, unknown: 4 });
        assert_eq!(names(&done.join("1970-01-02")), [".mine", "b.x.receipt.json", "c.meta.json", "notes.txt"]);
        assert_eq!((names(&done.join("1970-01-03")).len(), names(&done.join("archive")).len()), (5, 1));
        assert_eq!(sweep(root.path(), UNTIL_MS).unwrap(), Swept { files: 0, unknown: 4 });
    }

    #[test]
    fn r35_what_was_refused_goes_and_what_was_never_understood_stays() {
        let root = tempfile::tempdir().unwrap();
        let dead = root.path().join("dead");
        let reason = |base: &str, file: &str, code: &str, at_ms: u64| {
            let text =
                serde_json::json!({ "file": file, "from": "inbox/low", "code": code, "reason": "x", "at_ms": at_ms });
            let path = dead.join(format!("{base}{REASON}"));
            fs::write(&path, text.to_string()).unwrap();
            fs::File::open(&path).unwrap().set_modified(std::time::UNIX_EPOCH).unwrap();
        };
        put(&dead, &["a.meta.json", "a.payload.json", "a.2.meta.json", "young.meta.json", "x.payload.json", "README"]);
        put(&dead, &["lost.meta.json", "odd.meta.json", "later.txt"]);
        symlink("/etc/hostname", dead.join("link.meta.json")).unwrap();
        reason("a", "a.meta.json", "bad_meta", UNTIL_MS);
        reason("a.2", "a.meta.json", "refused", UNTIL_MS);
        reason("young", "young.meta.json", "refused", UNTIL_MS + 1);
        reason("x.payload.json", "x.payload.json", "no_meta", 0);
        reason("README", "README", "bad_name", 0);
        reason("link", "link.meta.json", "not_a_plain_file", 0);
        fs::write(dead.join(format!("odd{REASON}")), "not json").unwrap();
        fs::File::open(dead.join(format!("odd{REASON}"))).unwrap().set_modified(std::time::UNIX_EPOCH).unwrap();
        assert_eq!(sweep(root.path(), UNTIL_MS).unwrap(), Swept { files: 5, unknown: 4 });
        let left = names(&dead);
        assert!(left.iter().all(|name| !name.starts_with("a.")), "{left:?}");
        for stays in
            ["young.meta.json", "x.payload.json", "README", "lost.meta.json", "odd.meta.json", "link.meta.json"]
        {
            assert!(left.iter().any(|name| name == stays), "{stays}: {left:?}");
        }
    }

    #[test]
    fn a_root_without_a_bus_has_nothing_to_sweep() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(sweep(root.path(), u64::MAX).unwrap(), Swept::default());
    }
}
