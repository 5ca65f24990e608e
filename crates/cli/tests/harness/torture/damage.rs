//! Damage: one flipped bit, or a file that ends too early.
//!
//! For each damaged copy: read everything, open it for writing with one more submit, read everything again, work on the
//! task that waits, verify. Whoever succeeds must have given the same data; everybody else must have named an error.
//!
//! A reader takes no lock and asks the sidecar nothing, so after damage to the write-ahead log it may show an older state
//! until a writer has looked. That is counted as `reads older`, and is wrong once a writer has said yes.

use crate::harness::{
    case::Case,
    known::{self, Known, Word},
    point::Point,
    seed::{Seed, is_quick},
    strace::{self, Blow},
    table::Table,
};
use serde_json::Value;
use std::{fs, path::Path};

const FILES: [&str; 5] = ["relaymesh.db", "relaymesh.db-wal", "relaymesh.db-shm", "head", "lock"];

/// How the store was left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// By a process that ended well: everything is in the database.
    Closed,
    /// By a process that was killed when it told the end of a task: much is in the write-ahead log only.
    Killed,
}

/// Flips one bit at random places of each file.
pub(crate) fn flip(state: State) {
    let places = if is_quick() { 30 } else { 300 };
    damage(state, "flip", places, |bytes, seed| {
        let at = seed.below(bytes.len() as u64);
        let bit = seed.below(8);
        bytes[at as usize] ^= 1 << bit;
        format!("bit {bit} of byte {at}")
    });
}

/// Cuts each file at random lengths.
pub(crate) fn cut(state: State) {
    let lengths = if is_quick() { 10 } else { 60 };
    damage(state, "cut", lengths, |bytes, seed| {
        let length = seed.below(bytes.len() as u64);
        bytes.truncate(length as usize);
        format!("cut to {length} bytes")
    });
}

fn damage(state: State, how: &str, times: usize, hurt: fn(&mut Vec<u8>, &mut Seed) -> String) {
    let title = format!("{how} in a {state:?} store");
    let mut seed = Seed::of(&title);
    let store = store(state);
    let known = Known::of(&store.copy());
    let mut table = Table::default();
    for name in FILES {
        let whole = fs::read(store.file(name)).unwrap_or_default();
        let times = if whole.is_empty() { 0 } else { times };
        for index in 0..times {
            let case = store.copy();
            let mut bytes = whole.clone();
            let what = hurt(&mut bytes, &mut seed);
            fs::write(case.file(name), bytes).unwrap_or_else(|error| panic!("cannot damage {name}: {error}"));
            match look(&case, &known) {
                Ok(outcome) => table.count(name, &outcome),
                Err(why) => {
                    let place = format!("{name} #{index}, {what}");
                    table.fail(name, format!("{title}: {place}: {why}\n  evidence: {}", case.keep().display()));
                }
            }
        }
    }
    table.finish(&title);
}

/// A store with a finished chain, a dead letter and a task that waits.
fn store(state: State) -> Case {
    let case = Case::new();
    for words in [
        &["submit", "--agent", "fail", "--max-attempts", "1", "--name", "dead", "--wait"][..],
        &["submit", "--agent", "echo", "--input", "\"waits\"", "--name", "waits", "--base-backoff-ms", "1"],
    ] {
        assert!(matches!(case.run(words).code(), Some(0 | 10)));
    }
    let words = ["submit", "--agent", "hash", "--input", "\"done\"", "--name", "done"].map(str::to_owned);
    if state == State::Closed {
        case.run(&words).expect(0).unwrap_or_else(|why| panic!("{why}"));
        return case;
    }
    let point = Point { path: "root/relaymesh.db".to_owned(), call: "pwrite64".to_owned(), number: 1 };
    let died = strace::strike(&case, &words, &point, Blow::Kill, Path::new("/dev/null"));
    assert!(
        died.is_killed() && fs::metadata(case.file("relaymesh.db-wal")).is_ok_and(|found| found.len() > 0),
        "{died}"
    );
    case
}

/// What everybody says about the damaged store, in a word. `Err`: somebody lied.
fn look(case: &Case, known: &Known) -> Result<String, String> {
    let first = known::read(case)?;
    let opened = case.run(&["submit", "--agent", "echo", "--input", "\"one more\""]);
    if opened.code() != Some(0) {
        let named = known::named(&opened)?;
        let verified = case.run(&["log", "verify"]);
        known::named(&verified).map_err(|why| format!("the writer said {named}, and verify: {why}"))?;
        let is_older = matches!(&first, Word::Data(data) if data != known);
        return Ok(if is_older { format!("{named} (reads older)") } else { named });
    }
    if let Word::Data(data) = &first
        && data != known
    {
        return Err(format!("read before the writer opened it: {data:?}"));
    }
    let second = known::read(case)?;
    match &second {
        Word::Data(data) if !known.is_same_below(data, 1) => {
            return Err(format!("a green start with other data: {data:?}"));
        }
        Word::Data(_) | Word::Named(_) => {}
    }
    let worked = works(case, known)?;
    let verified = case.run(&["log", "verify"]);
    match (second, worked, verified.code()) {
        (Word::Data(_), None, Some(0)) => Ok("same data".to_owned()),
        (Word::Named(code), _, _) if verified.code() == Some(0) => {
            Err(format!("reads say {code}, and verify says all is well"))
        }
        (Word::Named(code), _, _) => Ok(format!("read: {code}")),
        (_, Some(code), _) => Ok(format!("work: {code}")),
        (_, None, _) => known::named(&verified).map(|code| format!("verify: {code}")),
    }
}

/// The task that waits comes to its end, or an error is named.
fn works(case: &Case, known: &Known) -> Result<Option<String>, String> {
    let waits = known.tasks.iter().find(|task| task["name"] == "waits");
    let id = waits.and_then(|task| task["task"].as_str()).ok_or("no task waits")?;
    let waited = case.run(&["task", "wait", id, "--timeout-s", "10"]);
    if waited.code() != Some(0) {
        return known::named(&waited).map(Some);
    }
    let result: Option<Value> = waited.lines().pop().map(|mut last| last["result"].take());
    if result == Some(Value::from("waits")) { Ok(None) } else { Err(format!("another result: {waited}")) }
}
