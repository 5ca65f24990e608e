//! What a store is known to hold, and what somebody says about a damaged copy of it.

use super::{case::Case, process::Ran};
use serde_json::Value;

/// All tasks in full, as they were told by the store that nothing had happened to. Newest first.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Known {
    pub(crate) tasks: Vec<Value>,
}

/// What a run said.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Word {
    /// It succeeded, and this is what it gave.
    Data(Known),
    /// It named an error that is a word about the store, and said what to do.
    Named(String),
}

impl Known {
    pub(crate) fn of(case: &Case) -> Self {
        match read(case) {
            Ok(Word::Data(known)) => known,
            other => panic!("a sound store cannot be read: {other:?}"),
        }
    }

    /// The same, apart from what came later.
    pub(crate) fn is_same_below(&self, newer: &Self, more: usize) -> bool {
        newer.tasks.len() == self.tasks.len() + more && newer.tasks[more..] == self.tasks[..]
    }
}

/// Reads everything there is. `Err`: an outcome that must not be.
pub(crate) fn read(case: &Case) -> Result<Word, String> {
    let list = case.run(&["task", "list", "--limit", "1000"]);
    if list.code() != Some(0) {
        return named(&list).map(Word::Named);
    }
    let mut tasks = Vec::new();
    for listed in list.lines() {
        let Some(id) = listed["task"].as_str() else { return Err(format!("a task without an id: {list}")) };
        let shown = case.run(&["task", "show", id, "--history"]);
        if shown.code() != Some(0) {
            return named(&shown).map(Word::Named);
        }
        let full = shown.lines().pop().ok_or_else(|| format!("nothing shown: {shown}"))?;
        if full["status"] != listed["status"] {
            return Err(format!("listed as {listed}, shown as {full}"));
        }
        tasks.push(full);
    }
    Ok(Word::Data(Known { tasks }))
}

/// The code of an error that is a word about the store. Everything else, a panic above all, must not be.
pub(crate) fn named(ran: &Ran) -> Result<String, String> {
    let error = ran.error().ok_or_else(|| format!("no named error: {ran}"))?;
    let code = error["code"].as_str().unwrap_or_default().to_owned();
    if !matches!(ran.code(), Some(6..=9)) || code == "internal" {
        return Err(format!("an error that says nothing about the store: {ran}"));
    }
    let has_hint = error["hints"].as_array().is_some_and(|hints| !hints.is_empty());
    let message = error["message"].as_str().unwrap_or_default();
    let says_what_to_do =
        ["`relaymesh", "Put ", "put ", "move it away", "close it", "restart", "free some space", "run as"];
    if !has_hint && !says_what_to_do.iter().any(|words| message.contains(words)) {
        return Err(format!("an error that does not say what to do: {ran}"));
    }
    Ok(code)
}
