//! What the bodies of several verbs have in common: proofs, and how and why something ended.

use crate::id::{ItemId, LeaseToken, MessageId, OpId, StepId};
use serde::{Deserialize, Serialize};

/// Proof of holding an attempt of a step: checked against the lease in the write itself (D7). An op whose scope is the task names the
/// step by its place in it (`Hold<u16>`); everywhere else the step is named whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hold<Step = StepId> {
    /// The step.
    pub step: Step,
    /// The epoch that the claim got. Only grows.
    pub epoch: u32,
    /// The token that the claim made.
    pub token: LeaseToken,
}

impl Hold {
    /// The same as an op says it whose scope is the task.
    pub fn in_task(self) -> Hold<u16> {
        Hold { step: self.step.index, epoch: self.epoch, token: self.token }
    }
}

/// Proof that the author holds the lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldLock {
    /// The token that the acquire made.
    pub token: LeaseToken,
    /// The fence that it got. Only grows.
    pub fence: u64,
}

/// Proof that the author has the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldMessage {
    /// The message.
    pub message: MessageId,
    /// The epoch that the delivery got. Only grows.
    pub epoch: u32,
    /// The token that the delivery made.
    pub token: LeaseToken,
}

/// What the author of a write about an item of a plan had seen of it: checked in the write itself (D23).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenItem {
    /// The item.
    pub item: ItemId,
    /// The number of its revision.
    pub rev: u32,
    /// The op that made that revision.
    pub by: OpId,
}

/// How a task is cancelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CancelMode {
    /// Running steps are stopped.
    Hard,
    /// Running steps may finish; nothing new starts.
    Soft,
}

/// Why a lease ended without its holder's word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExpireReason {
    /// The deadline passed without a renewal. Any node may say so.
    DeadlinePassed,
    /// The node that held it restarted and the process is gone. Only that node may say so (D6).
    OwnerGone,
}
