//! The other flows that are killed: a message, a lock, a purge, a compaction, a backup, a restore. Each can be repeated, or its outcome asked for.

use super::{case::Case, check::Depth};
use serde_json::Value;
use std::{path::Path, sync::OnceLock};

const THREAD: &str = "thr_01ARZ3NDEKTSV4RRFFQ69G5FAV";
const MESSAGE: &str = "msg_01ARZ3NDEKTSV4RRFFQ69G5FAW";
/// Long enough to be a blob.
const LETTER_BYTES: usize = 20_000;

/// What a client wants done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Story {
    /// `message send` of a long message on a fresh root: the root and its first blob are made.
    Letter,
    /// `lock acquire` where a lock was taken and given back before.
    Lock,
    /// `purge` of two of three tasks.
    Purge,
    /// `log compact` after a purge, with content in blobs: ops, content and files go.
    Compact,
    /// `backup` of a root with content in blobs.
    Backup,
    /// `restore` of such a backup where there is nothing.
    Restore,
    /// `init` on a root of the first schema: every migration there is.
    Upgrade,
}

/// Brings a store back to the first schema.
const BACK_TO_V1: &str = include_str!("../../../store-sqlite/src/tests/back_to_v1.sql");

/// The backup that is restored, and its folder's name.
static BACKED_UP: OnceLock<Case> = OnceLock::new();
const BACKUP: &str = "b";

impl Story {
    /// What there is before it.
    pub(crate) fn start(self) -> Case {
        let case = Case::new();
        let run = |arguments: &[&str]| {
            let ran = case.run(arguments);
            ran.expect(0).unwrap_or_else(|why| panic!("{why}")).lines()
        };
        match self {
            Self::Letter => {}
            Self::Lock => {
                let held = run(&["lock", "acquire", "src/a", "--repository", "app"])[0]["held"].clone();
                run(&["lock", "release", held.as_str().unwrap_or_default(), "--repository", "app"]);
            }
            Self::Restore => {
                BACKED_UP.get_or_init(|| {
                    let source = Self::Backup.start();
                    let made = source.run(&Self::Backup.command(&source));
                    made.expect(0).unwrap_or_else(|why| panic!("{why}"));
                    source
                });
            }
            // The first schema had neither blobs nor locks.
            Self::Upgrade => {
                for number in ["1", "2", "3"] {
                    run(&["submit", "--agent", "echo", "--input", number, "--key", number, "--wait"]);
                }
            }
            Self::Purge | Self::Compact | Self::Backup => {
                for number in ["1", "2", "3"] {
                    let input = format!("@{}", letter(&case, number));
                    run(&["submit", "--agent", "echo", "--input", &input, "--key", number, "--wait"]);
                }
                let held = run(&["lock", "acquire", "src/a", "--repository", "app"])[0]["held"].clone();
                run(&["lock", "release", held.as_str().unwrap_or_default(), "--repository", "app"]);
            }
        }
        if self == Self::Compact {
            run(&Self::Purge.command(&case).iter().map(String::as_str).collect::<Vec<_>>());
        }
        if self == Self::Upgrade {
            let older = rusqlite::Connection::open(case.file("relaymesh.db"));
            let older = older.and_then(|database| database.execute_batch(BACK_TO_V1));
            older.unwrap_or_else(|error| panic!("cannot go back: {error}"));
        }
        case
    }

    /// The command.
    pub(crate) fn command(self, case: &Case) -> Vec<String> {
        let words: Vec<String> = match self {
            Self::Letter => {
                let input = format!("@{}", letter(case, "1"));
                ["message", "send", "--to", "reviewer", "--thread", THREAD, "--id", MESSAGE, "--input", &input]
                    .map(str::to_owned)
                    .to_vec()
            }
            Self::Lock => {
                let words =
                    ["lock", "acquire", "src/**", "--repository", "app", "--holder", "ann", "--ttl-ms", "600000"];
                words.map(str::to_owned).to_vec()
            }
            Self::Purge => {
                let ids = case.tasks().unwrap_or_else(|why| panic!("{why}"));
                let ids = ids.iter().skip(1).filter_map(|task| task["task"].as_str().map(str::to_owned));
                ["purge".to_owned(), "--yes".to_owned()].into_iter().chain(ids).collect()
            }
            Self::Compact => ["log", "compact"].map(str::to_owned).to_vec(),
            Self::Upgrade => vec!["init".to_owned()],
            Self::Backup => vec!["backup".to_owned(), backup(case)],
            Self::Restore => vec!["restore".to_owned(), backup(BACKED_UP.get().unwrap_or(case))],
        };
        words
    }

    /// Starts again on what an ended run left behind, and goes on to the end.
    pub(crate) fn restart(self, case: &Case, depth: Depth) -> Result<(), String> {
        let said = case.said();
        if !case.has_database() {
            if !said.is_empty() {
                return Err(format!("{said:?} was said, and there is no root"));
            }
            case.run(&self.command(case)).expect(0)?;
        }
        if self == Self::Upgrade {
            // Whatever schema it has by now: the next start goes on from there.
            case.run(&self.command(case)).expect(0)?;
        }
        sound(case, depth)?;
        match self {
            Self::Letter => letter_arrives(case, self),
            Self::Lock => lock_is_held_once(case, said.first()),
            Self::Purge => purged(case, !said.is_empty()),
            Self::Compact => compacted(case),
            Self::Upgrade => goes_on(case, str::to_owned),
            Self::Backup => backed_up(case),
            Self::Restore => restored(case),
        }?;
        sound(case, depth)
    }
}

/// Everything is there and whole.
fn sound(case: &Case, depth: Depth) -> Result<(), String> {
    case.run(&["log", "verify"]).expect(0)?;
    if depth == Depth::Rebuild {
        case.run(&["log", "rebuild"]).expect(0)?;
        let scrubbed = case.run(&["log", "scrub"]);
        let found = scrubbed.expect(0)?.lines();
        if found.iter().any(|line| line["quarantined"] != Value::Array(Vec::new())) {
            return Err(format!("something is not understood: {scrubbed}"));
        }
    }
    Ok(())
}

/// Whatever was said: the repeat is the same message, and it is delivered once, whole.
fn letter_arrives(case: &Case, story: Story) -> Result<(), String> {
    let sent = case.run(&story.command(case));
    if sent.expect(0)?.lines().first().map(|line| line["message"].clone()) != Some(MESSAGE.into()) {
        return Err(format!("another message: {sent}"));
    }
    let taken = case.run(&["message", "take", "--agent", "reviewer"]);
    let delivered = taken.expect(0)?.lines();
    let content = delivered.first().and_then(|line| line["content"].as_str()).unwrap_or_default();
    if content != long("1") {
        return Err(format!("{} bytes arrived", content.len()));
    }
    match case.run(&["message", "take", "--agent", "reviewer"]).expect(0)?.lines().first() {
        Some(Value::Null) => Ok(()),
        other => Err(format!("it is there twice: {other:?}")),
    }
}

/// What was told is held, with its fence; nobody else gets in; the next fence is greater than any before.
fn lock_is_held_once(case: &Case, said: Option<&Value>) -> Result<(), String> {
    let listed = case.run(&["lock", "list"]).expect(0)?.lines();
    if listed.len() > 1 || (said.is_some() && listed.is_empty()) {
        return Err(format!("{said:?} was said, and there are {listed:?}"));
    }
    let fence = |line: &Value| line["fence"].as_u64().unwrap_or(0);
    if let (Some(said), Some(there)) = (said, listed.first())
        && fence(said) != fence(there)
    {
        return Err(format!("{said} was said, and there is {there}"));
    }
    let other = case.run(&["lock", "acquire", "src/lib.rs", "--repository", "app", "--holder", "ben"]);
    other.expect(if listed.is_empty() { 0 } else { 4 })?;
    let beside = case.run(&["lock", "acquire", "docs/x", "--repository", "app", "--holder", "ben"]);
    let beside = beside.expect(0)?.lines();
    let fences = listed.iter().map(fence).chain([1]).max().unwrap_or(0);
    match beside.first().map(fence) {
        Some(next) if next > fences => Ok(()),
        next => Err(format!("the next fence is {next:?} after {fences}")),
    }
}

/// Each of the two is there or gone, and once it was said, gone; the third stays.
fn purged(case: &Case, was_said: bool) -> Result<(), String> {
    let listed = case.tasks()?;
    if listed.is_empty() || listed.len() > 3 || (was_said && listed.len() != 1) {
        return Err(format!("said: {was_said}, left: {listed:?}"));
    }
    if listed.len() > 1 {
        case.run(&Story::Purge.command(case)).expect(0)?;
    }
    kept(case)
}

/// However far it came, it can be done again to the end, and then nothing of what was purged is left.
fn compacted(case: &Case) -> Result<(), String> {
    case.run(&["log", "compact"]).expect(0)?;
    case.run(&["log", "scrub"]).expect(0)?;
    let kinds: Vec<Value> = case.run(&["log", "show", "--limit", "1000"]).expect(0)?.lines();
    let about = |kind: &str| kinds.iter().filter(|op| op["kind"] == kind).count();
    if about("ScheduleJob") != 1 || about("PurgeScope") != 0 || about("AcquireLock") != 0 || about("Checkpoint") != 1 {
        return Err(format!("left on the log: {kinds:?}"));
    }
    let blobs = std::fs::read_dir(case.file("blobs")).map(Iterator::count).unwrap_or(0);
    if blobs != 1 {
        return Err(format!("{blobs} blobs are left"));
    }
    kept(case)
}

/// The newest task is untouched, and the keys of the others are free again.
fn kept(case: &Case) -> Result<(), String> {
    let input = format!("@{}", letter(case, "3"));
    let again = case.run(&["submit", "--agent", "echo", "--input", &input, "--key", "3"]);
    if again.expect(0)?.lines().first().map(|line| line["merged"].clone()) != Some(true.into()) {
        return Err(format!("the task that should stay: {again}"));
    }
    let input = format!("@{}", letter(case, "1"));
    let new = case.run(&["submit", "--agent", "echo", "--input", &input, "--key", "1"]);
    if new.expect(0)?.lines().first().map(|line| line["merged"].clone()) != Some(false.into()) {
        return Err(format!("its key should be free: {new}"));
    }
    Ok(())
}

/// There is no backup, or a whole one; and where there is none, it can be made. The root is as it was.
fn backed_up(case: &Case) -> Result<(), String> {
    if !Path::new(&backup(case)).exists() {
        case.run(&Story::Backup.command(case)).expect(0)?;
    }
    let into = Case::new();
    into.run(&["restore".to_owned(), backup(case)]).expect(0)?;
    restored(&into)?;
    if case.path().join(format!("{BACKUP}.new")).exists() {
        return Err("something is left beside the backup".to_owned());
    }
    three(case)
}

/// All three tasks, and nothing else.
fn restored(case: &Case) -> Result<(), String> {
    sound(case, Depth::Rebuild)?;
    let left = case.path().join("root.new");
    if left.exists() {
        return Err(format!("{} is left", left.display()));
    }
    goes_on(case, |number| format!("@{}", letter(case, number)))
}

/// All three tasks are there with their keys, and the next one can be submitted.
fn goes_on(case: &Case, input: impl Fn(&str) -> String) -> Result<(), String> {
    three(case)?;
    for (number, wanted) in [("1", true), ("4", false)] {
        let sent = case.run(&["submit", "--agent", "echo", "--input", &input(number), "--key", number]);
        if sent.expect(0)?.lines().first().map(|line| line["merged"].clone()) != Some(wanted.into()) {
            return Err(format!("it goes on from there: {sent}"));
        }
    }
    Ok(())
}

fn three(case: &Case) -> Result<(), String> {
    let listed = case.tasks()?;
    if listed.len() == 3 { Ok(()) } else { Err(format!("three tasks wanted, found {listed:?}")) }
}

/// Where the backup of this case goes.
fn backup(case: &Case) -> String {
    case.path().join(BACKUP).display().to_string()
}

fn long(mark: &str) -> String {
    mark.repeat(LETTER_BYTES)
}

/// A file with a long text in it.
fn letter(case: &Case, mark: &str) -> String {
    let file = case.path().join(format!("letter-{mark}.json"));
    let text = Value::from(long(mark)).to_string();
    std::fs::write(&file, text).unwrap_or_else(|error| panic!("cannot write the letter: {error}"));
    file.display().to_string()
}
