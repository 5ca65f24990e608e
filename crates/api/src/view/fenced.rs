//! Fenced writes: a worker that held the step no longer reported something. It was rejected, changed nothing, and the journal keeps it.

use crate::{error::Error, time};
use relaymesh_core::{id::TaskId, task::Status};
use relaymesh_store::{LeaseConflict, Reader};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Entries of the journal that are looked at, newest first.
const LOOK_MAX: usize = 10_000;

/// A rejected write of a worker that held the step no longer. It changed nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = FencedWrite)]
pub struct Shown {
    /// Time, in milliseconds since 1970.
    pub at_ms: u64,
    /// Time, in RFC 3339.
    pub at: String,
    /// Id of the task.
    #[schema(value_type = String)]
    pub task: TaskId,
    /// Index of the step.
    pub step: u16,
    /// What the worker tried: `complete`, `fail`, `yield`, `record`, …
    pub verb: String,
    /// Status of the step at that time.
    #[schema(value_type = String)]
    pub status: Status,
    /// Epoch of the step at that time.
    pub epoch: u32,
    /// Epoch that the worker showed.
    pub given: u32,
}

/// Fenced writes, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = FencedWrites)]
pub struct Page {
    /// Entries.
    pub entries: Vec<Shown>,
}

impl From<LeaseConflict> for Shown {
    fn from(fenced: LeaseConflict) -> Self {
        Self {
            at_ms: fenced.at_ms,
            at: time::rfc3339(fenced.at_ms),
            task: fenced.step.task,
            step: fenced.step.index,
            verb: fenced.verb.to_owned(),
            status: fenced.found,
            epoch: fenced.epoch,
            given: fenced.given,
        }
    }
}

/// The newest fenced writes, of this task if one is given, about tasks that may be seen.
pub fn newest<R: Reader + ?Sized>(
    reader: &mut R,
    task: Option<TaskId>,
    limit: usize,
    may_see: &mut dyn FnMut(&mut R, TaskId) -> Result<bool, Error>,
) -> Result<Page, Error> {
    let mut entries = Vec::new();
    for fenced in reader.conflicts(LOOK_MAX)? {
        if entries.len() == limit {
            break;
        }
        let is_wanted = task.is_none_or(|task| fenced.step.task == task);
        if is_wanted && may_see(reader, fenced.step.task)? {
            entries.push(Shown::from(fenced));
        }
    }
    Ok(Page { entries })
}
