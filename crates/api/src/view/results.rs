//! Which results stand in an answer, and where.
//!
//! A result has up to ten megabytes, a task up to 1,024 of them, and steps hand the same one on. The tempting answer shows each of them wherever
//! it belongs: with its step, in the list that it is an item of, and as what the task delivered. A flow of 41 steps with 58 MB on the disk was
//! an answer of 729 MB by that. So
//!
//! - a result **stands once**: those of the last steps in the task's own, those of items in the result of their list, all others with their step;
//! - one that is long, or for which there is no room any more, is **named**: by hash, length and media type, to be read as content of the task.
//!
//! The rows have the length of every result, so all of this is decided before a byte of any of them is read.

use relaymesh_core::{
    content::{ContentRef, Media},
    hash::Hash,
    task::{Status, TaskRows},
};
use relaymesh_store::ContentKey;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use utoipa::ToSchema;

/// Results up to this length stand in an answer; a longer one is named.
pub const RESULT_BYTES_MAX: u64 = 64 << 10;
/// Results of one answer have up to this length together; those for which there is no room are named.
pub const RESULTS_BYTES_MAX: u64 = 1 << 20;

/// Which results an answer has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Results {
    /// None: all of them are named.
    None,
    /// Those up to 64 KiB, as far as they have 1 MiB together; the others are named.
    #[default]
    Short,
    /// All of them, however long.
    Full,
}

/// Content that is not in the answer: read it with `GET /content/{hash}`, with the task or the thread that names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = ContentRef)]
pub struct Reference {
    /// SHA-256 of the bytes.
    #[schema(value_type = String, pattern = "^[0-9a-f]{64}$")]
    pub hash: Hash,
    /// Length in bytes.
    pub bytes: u32,
    /// `application/json` or `text/plain`.
    #[schema(value_type = String, pattern = "^(application/json|text/plain)$")]
    pub media_type: Media,
}

impl From<ContentRef> for Reference {
    fn from(named: ContentRef) -> Self {
        Self { hash: named.hash, bytes: named.len, media_type: named.media }
    }
}

impl From<Reference> for ContentRef {
    fn from(reference: Reference) -> Self {
        Self { hash: reference.hash, len: reference.bytes, media: reference.media_type }
    }
}

/// Room for content in one answer.
#[derive(Debug, Clone)]
pub struct Room {
    /// For one piece.
    each: u64,
    /// For all that is still to come.
    left: u64,
}

impl Room {
    /// As much as an answer with these results has.
    pub fn new(results: Results) -> Self {
        let (each, left) = match results {
            Results::None => (0, 0),
            Results::Short => (RESULT_BYTES_MAX, RESULTS_BYTES_MAX),
            Results::Full => (u64::MAX, u64::MAX),
        };
        Self { each, left }
    }

    /// Takes room for so many bytes, if there is any.
    pub(super) fn take(&mut self, bytes: u64) -> bool {
        let fits = self.left > 0 && bytes <= self.each && bytes <= self.left;
        self.left -= if fits { bytes } else { 0 };
        fits
    }
}

/// Where the results of a task stand in an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Plan {
    /// What the task delivered.
    pub(super) task: Delivery,
    /// Of each step, whether its result stands with it.
    here: Vec<bool>,
}

/// How what a task delivered is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Delivery {
    /// It has delivered nothing yet.
    Nothing,
    /// It stands here: the result of the one last step, those of several by name, or of none at all.
    Here(Vec<u16>),
    /// It is named.
    Named(ContentRef),
    /// It is with these steps, each of which shows or names its own.
    Steps(Vec<u16>),
}

impl Plan {
    /// What stands where in an answer about these rows.
    pub(super) fn new(rows: &TaskRows, results: Results) -> Self {
        let last = if rows.task.status == Status::Success { last(rows) } else { Vec::new() };
        let length = |index: &u16| rows.steps[usize::from(*index)].result.map_or(0, |named| u64::from(named.len));
        let mut room = Room::new(results);
        let is_here = last.is_empty() || room.take(last.iter().map(length).sum());
        let elsewhere: BTreeSet<u16> = if is_here { last.iter().copied().collect() } else { BTreeSet::new() };
        let mut here = vec![false; rows.steps.len()];
        for (index, step) in rows.indexed() {
            let Some(named) = step.result else { continue };
            // A list stands before its items.
            let is_listed = step.spec.item().is_some_and(|item| {
                let list = rows.steps.get(usize::from(item.of)).filter(|list| list.result.is_some());
                let has_it = list.and_then(|list| list.fan).is_some_and(|count| item.index < count);
                has_it && (elsewhere.contains(&item.of) || here.get(usize::from(item.of)).copied().unwrap_or_default())
            });
            here[usize::from(index)] = !is_listed && !elsewhere.contains(&index) && room.take(u64::from(named.len));
        }
        let only = if let [only] = last[..] { rows.steps[usize::from(only)].result } else { None };
        let task = match only {
            _ if rows.task.status != Status::Success => Delivery::Nothing,
            _ if is_here => Delivery::Here(last),
            Some(named) => Delivery::Named(named),
            None => Delivery::Steps(last),
        };
        Self { task, here }
    }

    /// Where the result of one step stands in an answer about it alone.
    pub(super) fn alone(rows: &TaskRows, index: u16, results: Results) -> Self {
        let named = rows.steps.get(usize::from(index)).and_then(|step| step.result);
        let is_here = named.is_some_and(|named| Room::new(results).take(u64::from(named.len)));
        let here = (0..rows.steps.len()).map(|place| is_here && place == usize::from(index)).collect();
        Self { task: Delivery::Nothing, here }
    }

    /// Whether the result of this step stands with it.
    pub(super) fn is_here(&self, index: u16) -> bool {
        self.here.get(usize::from(index)).copied().unwrap_or_default()
    }

    /// The name of a step's result that stands elsewhere, or nowhere.
    pub(super) fn named(&self, rows: &TaskRows, index: u16) -> Option<Reference> {
        let named = rows.steps.get(usize::from(index))?.result?;
        (!self.is_here(index)).then(|| named.into())
    }
}

/// Where the content with this hash lies that the rows name: an input, a result or an artifact.
pub fn place(rows: &TaskRows, hash: &Hash) -> Option<(ContentRef, ContentKey)> {
    let task = rows.task.key;
    let is_it = |named: &ContentRef| named.hash == *hash;
    rows.indexed().find_map(|(index, step)| {
        let input = step.spec.input.filter(is_it).map(|named| (named, ContentKey::new(task, rows.input_place(index))));
        let result = || step.result.filter(is_it).map(|named| (named, ContentKey::new(step.result_pos, 0)));
        let artifact = || {
            let artifact = step.output_artifacts.iter().find(|artifact| is_it(&artifact.content))?;
            Some((artifact.content, ContentKey::new(artifact.pos, 0)))
        };
        input.or_else(result).or_else(artifact)
    })
}

/// The last steps that have a result, as [`TaskRows::is_last`] says, in one go.
fn last(rows: &TaskRows) -> Vec<u16> {
    let mut is_last: Vec<bool> =
        rows.steps.iter().map(|step| !step.is_compensation() && step.spec.item().is_none()).collect();
    for of in rows.steps.iter().flat_map(|step| &step.spec.depends_on) {
        if let Some(depended) = is_last.get_mut(usize::from(*of)) {
            *depended = false;
        }
    }
    rows.indexed()
        .filter(|(index, step)| is_last[usize::from(*index)] && step.result.is_some())
        .map(|(index, _)| index)
        .collect()
}
