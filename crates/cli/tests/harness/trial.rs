//! Reading a record of a trial, of `strace` or of fail points: which points there are.

use super::{case::Case, point::Point, striker::Striker};
use std::{collections::BTreeMap, path::Path};

/// A file, from the case's folder on, and a call.
type Kind = (String, String);

/// All calls of one kind on one file.
#[derive(Debug, Default)]
struct Group {
    /// For each that counts its own calls, whether each of them writes; only an `open` may not. `strace` counts by
    /// thread, fail points by process: then there is only one.
    counted: BTreeMap<u32, Vec<bool>>,
}

/// Every point in the record, in groups by file and call, and how many calls have none of their own: where several
/// threads make the same call on the same file, and each counts for itself, only the first of them to get to a number is
/// struck there.
pub(crate) fn points(case: &Case, record: &Path, striker: Striker) -> (Vec<Point>, usize) {
    let mut groups: BTreeMap<Kind, Group> = BTreeMap::new();
    for (thread, kind, writes) in seen(case, &read(record)) {
        let counts = if striker == Striker::Strace { thread } else { 0 };
        groups.entry(kind).or_default().counted.entry(counts).or_default().push(writes);
    }
    let writes = |group: &Group| group.counted.values().flatten().filter(|writes| **writes).count();
    let calls: usize = groups.values().map(writes).sum();
    let numbered = |((path, call), group): (Kind, Group)| {
        let longest = group.counted.values().map(Vec::len).max().unwrap_or(0);
        let writes = move |number: &usize| group.counted.values().any(|calls| calls.get(number - 1) == Some(&true));
        (1..=longest).filter(writes).map(move |number| Point { path: path.clone(), call: call.clone(), number })
    };
    let points: Vec<Point> = groups.into_iter().flat_map(numbered).collect();
    let shared = calls - points.len();
    (points, shared)
}

/// The writing calls in the record, in their order, by thread.
pub(crate) fn calls(case: &Case, record: &Path) -> BTreeMap<u32, Vec<Kind>> {
    let mut calls: BTreeMap<u32, Vec<Kind>> = BTreeMap::new();
    for (thread, kind, _) in seen(case, &read(record)).filter(|(_, _, writes)| *writes) {
        calls.entry(thread).or_default().push(kind);
    }
    calls
}

/// Thread, kind, and whether it writes, of all calls on files of the case.
fn seen<'a>(case: &'a Case, text: &'a str) -> impl Iterator<Item = (u32, Kind, bool)> + 'a {
    text.lines().filter_map(entered).filter_map(|(thread, call, arguments)| {
        let path = Path::new(path(arguments)?).strip_prefix(case.path()).ok()?;
        let writes = !call.starts_with("open") || arguments.contains("O_CREAT") || arguments.contains("O_TRUNC");
        Some((thread, (path.display().to_string(), call.to_owned()), writes))
    })
}

fn read(record: &Path) -> String {
    std::fs::read_to_string(record).unwrap_or_else(|error| panic!("no record: {error}"))
}

/// How many commits the record shows, in which each was synced before it was remembered, and was remembered before the
/// first word on stdout. `Err` says what came too early. This is what a kill cannot show: a power cut would.
pub(crate) fn synced_commits(case: &Case, record: &Path) -> Result<usize, String> {
    let text = read(record);
    let (log, head, stdout) = (case.file("relaymesh.db-wal"), case.file("head"), case.stdout());
    let mut unsynced: BTreeMap<u32, bool> = BTreeMap::new();
    let mut commits = 0;
    for (thread, call, arguments) in text.lines().filter_map(entered) {
        let path = path(arguments).map(Path::new);
        let (is_write, is_sync) = (call.contains("write"), call.contains("sync"));
        if path == Some(&log) && (is_write || is_sync) {
            unsynced.insert(thread, is_write);
        } else if path == Some(&head) && is_write {
            match unsynced.get(&thread) {
                Some(false) => commits += 1,
                Some(true) => return Err(format!("commit {} was remembered before it was synced", commits + 1)),
                None => {}
            }
        } else if path == Some(&stdout) && commits == 0 {
            return Err("something was said before the first commit was durable".to_owned());
        }
    }
    Ok(commits)
}

/// Thread, call and arguments of a line that begins a call. The second half of a call in two halves is no new call.
fn entered(line: &str) -> Option<(u32, &str, &str)> {
    let (thread, rest) = line.split_once(' ')?;
    let (call, arguments) = rest.trim_start().split_once('(')?;
    let is_name =
        !call.is_empty() && call.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
    is_name.then_some((thread.parse().ok()?, call, arguments))
}

/// The first file that the arguments name: by descriptor (`3</path>`) or by name (`"/path"`).
fn path(arguments: &str) -> Option<&str> {
    let by_descriptor = arguments.starts_with(|first: char| first.is_ascii_digit());
    let (before, after) = if by_descriptor { ("<", ">") } else { ("\"", "\"") };
    let (_, rest) = arguments.split_once(before)?;
    rest.split_once(after).map(|(path, _)| path)
}

#[test]
fn a_record_is_read() {
    let case = Case::new();
    let folder = case.path().display();
    let record = case.path().join("record");
    let text = format!(
        "7 openat(AT_FDCWD</x>, \"{folder}/root/db\", O_RDWR|O_CREAT, 0600) = 3<{folder}/root/db>\n\
         7 openat(AT_FDCWD</x>, \"{folder}/root/db\", O_RDONLY) = 4<{folder}/root/db>\n\
         7 openat(AT_FDCWD</x>, \"/etc/passwd\", O_RDWR|O_CREAT) = 5</etc/passwd>\n\
         7 pwrite64(3<{folder}/root/db>, \"\"..., 4096, 0) = 4096\n\
         8 fdatasync(3<{folder}/root/db> <unfinished ...>\n\
         7 pwrite64(3<{folder}/root/db>, \"\"..., 4096, 0) = 4096\n\
         8 <... fdatasync resumed>) = 0\n\
         8 pwrite64(3<{folder}/root/db>, \"\"..., 4096, 0) = 4096\n\
         7 rename(\"{folder}/root/a\", \"{folder}/root/b\") = 0\n\
         8 +++ exited with 0 +++\n"
    );
    std::fs::write(&record, text).expect("a record");
    let (points, shared) = points(&case, &record, Striker::Strace);
    let found: Vec<String> = points.iter().map(ToString::to_string).collect();
    let wanted =
        ["rename root/a #1", "fdatasync root/db #1", "openat root/db #1", "pwrite64 root/db #1", "pwrite64 root/db #2"];
    assert_eq!(found, wanted);
    assert_eq!(shared, 1, "the one write of thread 8 has the number of the first of thread 7");
}

#[test]
fn a_record_of_fail_points_is_read_and_no_call_is_shared() {
    let case = Case::new();
    let folder = case.path().display();
    let record = case.path().join("record");
    let text = format!(
        "7 openat(\"{folder}/root/db\")\n\
         7 openat(\"{folder}/root/db\", O_CREAT)\n\
         7 openat(\"/etc/passwd\", O_CREAT)\n\
         7 pwrite64(\"{folder}/root/db\")\n\
         8 pwrite64(\"{folder}/root/db\")\n\
         8 write(\"pipe:[1]\")\n"
    );
    std::fs::write(&record, text).expect("a record");
    let (points, shared) = points(&case, &record, Striker::FailPoints);
    let found: Vec<String> = points.iter().map(ToString::to_string).collect();
    assert_eq!(found, ["openat root/db #2", "pwrite64 root/db #1", "pwrite64 root/db #2"]);
    assert_eq!(shared, 0);
    let kind = |call: &str| ("root/db".to_owned(), call.to_owned());
    let threads = BTreeMap::from([(7, vec![kind("openat"), kind("pwrite64")]), (8, vec![kind("pwrite64")])]);
    assert_eq!(calls(&case, &record), threads);
}
