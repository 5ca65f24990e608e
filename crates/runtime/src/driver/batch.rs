//! The batch that is being decided, and the one that is on its way.

use super::{
    attempts, audience,
    command::{Answer, Error, Reply},
    ready,
};
use relaymesh_core::{id::TaskId, name::Name, op::Scope, task::spec::IdempotencyKey};
use relaymesh_store::{Batch, Content, ContentKey, Head};
use std::sync::Arc;

/// What is decided and not yet given to the writer.
pub(super) struct Open {
    pub(super) batch: Batch,
    pub(super) after: After,
    /// How many of the touched tasks have their rows in the batch.
    pub(super) rows_put: usize,
    /// How many of the other touched scopes have.
    pub(super) scopes_put: usize,
}

/// What happens once the batch is durable.
#[derive(Default)]
pub(super) struct After {
    /// Answers, each decided in this batch or standing on it.
    pub(super) replies: Vec<(Reply, Result<Answer, Error>)>,
    /// Tasks with changed rows; again if they changed after their rows were put.
    pub(super) touched: Vec<TaskId>,
    /// Other scopes with changed rows, likewise.
    pub(super) touched_scopes: Vec<Scope>,
    pub(super) attempts: attempts::Share,
    pub(super) ready: ready::Share,
    /// Idempotency keys that no reader sees before this batch is durable.
    pub(super) keys: Vec<(Name, IdempotencyKey)>,
    /// Namespaces that were made in it: if it is rolled back they are not there.
    pub(super) namespaces: Vec<Name>,
    /// The earliest time at which something in it falls due.
    pub(super) wake_ms: Option<u64>,
    pub(super) audience: audience::Share,
}

/// A batch that the writer has, or had: what follows from it is still to be done.
pub(super) struct InFlight {
    pub(super) number: u64,
    pub(super) batch: Arc<Batch>,
    pub(super) after: After,
}

impl Open {
    pub(super) fn new(head: Head) -> Self {
        Self { batch: Batch::new(head), after: After::default(), rows_put: 0, scopes_put: 0 }
    }

    /// Whether there is anything to commit or anybody to answer.
    pub(super) fn is_idle(&self) -> bool {
        self.batch.is_empty() && self.after.replies.is_empty()
    }
}

/// Content that a batch carries. Content is pushed in the order of its ops, so its keys are sorted.
pub(super) fn content_of(batch: &Batch, key: ContentKey) -> Option<&Content> {
    let found = batch.content.binary_search_by_key(&key, |put| put.key).ok()?;
    Some(&batch.content[found].content)
}
