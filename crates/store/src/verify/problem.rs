//! What a check found, where, and what to do about it.

use crate::{ContentKey, Error};
use relaymesh_core::{
    content,
    id::TaskId,
    kernel::Refusal,
    op::{Break, Chain, Scope},
    row::StateHash,
};

/// What a check found. Nothing was changed by looking.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// The store could not answer; a damaged row is found this way.
    #[error(transparent)]
    Store(#[from] Error),
    /// The log is not the one that was written.
    #[error("{0}. Restore a backup; everything before that op is intact")]
    Break(#[from] Break),
    /// The log has a hole.
    #[error("op {pos} is missing: the next one is {found}. Restore a backup; everything before that op is intact")]
    Missing {
        /// The number that is missing.
        pos: u64,
        /// The number that is there instead.
        found: u64,
    },
    /// A stub stands where none may stand, or says something that cannot be.
    #[error(
        "the stub at op {pos} does not fit: the horizon is {horizon}, or the chain cannot have stood there. Restore a backup"
    )]
    Stub {
        /// Where it lies.
        pos: u64,
        /// Ops up to here may be gone.
        horizon: u64,
    },
    /// The op after the horizon is not the checkpoint that says what had come before.
    #[error("op {pos} is not the checkpoint of the {horizon} ops before it: {detail}. Restore a backup")]
    Checkpoint {
        /// Where it should lie.
        pos: u64,
        /// Ops up to here may be gone.
        horizon: u64,
        /// What is wrong.
        detail: String,
    },
    /// The log does not end where the head says. Fewer ops than the head knows is lost memory; restore a backup.
    #[error("the head is at op {expected}, but the log ends at op {found}. Restore a backup")]
    HeadPosition {
        /// Where the head stands.
        expected: u64,
        /// Where the log ends.
        found: u64,
    },
    /// The log ends in the right place with another chain than the head's.
    #[error(
        "op {pos} is sequence {} of epoch {} with hash {}; the head says sequence {} of epoch {} with hash {}. Restore a backup",
        found.seq, found.origin_epoch, found.head, expected.seq, expected.origin_epoch, expected.head
    )]
    HeadChain {
        /// The newest op.
        pos: u64,
        /// The chain of the head.
        expected: Box<Chain>,
        /// The chain of the ops.
        found: Box<Chain>,
    },
    /// The rows, each good by itself, are not those that were written together.
    #[error("the hash of the rows is {:032x}, but the head has {:032x} at op {pos}: a row was changed, lost or kept. Rebuild the rows from the log to see which", found.0, expected.0)]
    State {
        /// Where the head stands.
        pos: u64,
        /// The head's.
        expected: StateHash,
        /// That of the rows.
        found: StateHash,
    },
    /// The store counts other rows than it lists.
    #[error("the store counts {} tasks and {} steps, but lists {} and {}. Rebuild the rows from the log", counted.0, counted.1, listed.0, listed.1)]
    Counts {
        /// What it counts.
        counted: (u64, u64),
        /// What it lists.
        listed: (u64, u64),
    },
    /// What is looked up beside a task's rows says something else than the rows. Rebuild the rows from the log.
    #[error(
        "the {what} of {task} (row {key}) differs from the rows: expected {expected}, found {found}. Rebuild the rows from the log"
    )]
    Lookup {
        /// Which look-up: `idempotency row`, `list by status`, …
        what: &'static str,
        /// The task.
        task: TaskId,
        /// The key of its row.
        key: u64,
        /// What follows from the rows.
        expected: String,
        /// What is there.
        found: String,
    },
    /// The queues or leases hold other steps than the rows say. Rebuild the rows from the log.
    #[error("{what} has {found} steps, but the rows have {expected}, or different ones. Rebuild the rows from the log")]
    Index {
        /// Which one.
        what: String,
        /// How many follow from the rows.
        expected: u64,
        /// How many are there.
        found: u64,
    },
    /// Content that a row names is not there.
    #[error("{scope} names content at op {} place {}, and there is none. Restore a backup", key.pos(), key.place())]
    NoContent {
        /// Whose.
        scope: Scope,
        /// Where it should lie.
        key: ContentKey,
    },
    /// Content is not what a row says of it.
    #[error("{scope}, at op {} place {}: {damage}. Restore a backup", key.pos(), key.place())]
    Content {
        /// Whose.
        scope: Scope,
        /// Where it lies.
        key: ContentKey,
        /// What is wrong.
        damage: content::Damaged,
    },
    /// An op on the log has no effect. The author of a log checks before it writes, so this is a bug or a forgery.
    #[error("op {pos} about {scope} has no effect: {refusal}. Report this with the output of `relaymesh log show`")]
    Refused {
        /// Where it lies.
        pos: u64,
        /// What it is about.
        scope: Scope,
        /// Why.
        refusal: Box<Refusal>,
    },
    /// A scope is listed, and its rows are not there.
    #[error("the rows of {scope} are gone. Restore a backup")]
    NoScope {
        /// The scope.
        scope: Scope,
    },
    /// A rebuild begins with nothing.
    #[error("the store to rebuild into already has {pos} ops: use an empty one")]
    NotEmpty {
        /// Where its head stands.
        pos: u64,
    },
    /// Somebody wrote meanwhile.
    #[error("the store changed from op {from} to op {to} during the check. Try again while nothing is written")]
    Moved {
        /// Where the head stood.
        from: u64,
        /// Where it stands.
        to: u64,
    },
}
