//! What an op says about a task: one variant per verb.

use super::spec::Schedule;
use crate::{
    content::ContentRef,
    hash::Hash,
    hlc::Hlc,
    id::{LeaseToken, NodeId, WorkerId},
    name::Name,
    op::{CancelMode, ExpireReason, Hold, bodies},
};

bodies! {
    /// What happened to a task.
    Task {
        /// A task was submitted; all its steps are scheduled.
        ScheduleJob {
            /// The graph and what it needs.
            schedule: Schedule,
        }
        /// A worker took a step, or renewed its lease on it.
        ClaimWork {
            /// The step's place in its task.
            step: u16,
            /// The node that answers for the worker.
            owner: NodeId,
            /// Who works on it.
            worker: WorkerId,
            /// What the worker will show to prove it.
            token: LeaseToken,
            /// How long the lease lasts from the op's HLC (L3).
            #[serde(rename = "lease_duration_ms")]
            lease_ms: u64,
            /// The newest op of the task that the claimer had seen (D19).
            seen: Hlc,
        }
        /// The step is done and this is its result.
        CompleteJob {
            /// Who says so.
            held: Hold<u16>,
            /// The result.
            result: ContentRef,
        }
        /// The attempt failed.
        FailJob {
            /// Who says so.
            held: Hold<u16>,
            /// Whether another attempt may help.
            retryable: bool,
            /// Random part of the backoff, drawn by the author.
            jitter_ms: u32,
            /// What went wrong, for people.
            error: String,
        }
        /// The worker gave the step back unfinished; the attempt does not count.
        YieldWork {
            /// Who says so.
            held: Hold<u16>,
            /// Why, for people.
            reason: String,
        }
        /// A lease ended without its holder's word.
        ExpireWork {
            /// The step's place in its task.
            step: u16,
            /// The epoch of the lease that ended.
            epoch: u32,
            /// Why.
            reason: ExpireReason,
            /// Random part of the backoff, drawn by the author.
            jitter_ms: u32,
        }
        /// The attempt ran longer than the step allows. Said by the node that owns the lease.
        TimeoutWork {
            /// The step's place in its task.
            step: u16,
            /// The epoch of the attempt.
            epoch: u32,
            /// Random part of the backoff, drawn by the author.
            jitter_ms: u32,
        }
        /// A person or program stopped the task.
        CancelTask {
            /// How.
            mode: CancelMode,
            /// Why, for people.
            reason: String,
        }
        /// A task that ended badly is to be tried again.
        RedriveTask {
            /// Why, for people.
            reason: String,
        }
        /// A person agreed to what a step asked.
        ApproveStep {
            /// The step's place in its task.
            step: u16,
            /// Hash of exactly what was asked.
            ask: Hash,
        }
        /// A person refused what a step asked, or nobody answered in time.
        DenyStep {
            /// The step's place in its task.
            step: u16,
            /// Hash of exactly what was asked.
            ask: Hash,
            /// Why, for people.
            reason: String,
        }
        /// The holder of a step left something behind besides its result.
        RecordArtifact {
            /// Who says so.
            held: Hold<u16>,
            /// What sort of thing: `inference`, `file`, `log`, …
            kind: Name,
            /// What it is called.
            name: Name,
            /// The thing itself.
            content: ContentRef,
            /// A few words about it, in the order of their names.
            about: Vec<(Name, String)>,
        }
        /// The holder found that the step's condition holds.
        PassWork {
            /// Who says so.
            held: Hold<u16>,
        }
        /// The holder found that the step's condition does not hold.
        SkipWork {
            /// Who says so.
            held: Hold<u16>,
            /// What it found, for people.
            reason: String,
        }
        /// The holder found out for how many items the step runs; each gets a step of its own.
        FanOut {
            /// Who says so.
            held: Hold<u16>,
            /// How many.
            count: u16,
        }
    }
}

impl Body {
    /// The proof that it shows, if it is the word of a step's holder.
    pub fn held(&self) -> Option<&Hold<u16>> {
        match self {
            Self::CompleteJob { held, .. }
            | Self::FailJob { held, .. }
            | Self::YieldWork { held, .. }
            | Self::RecordArtifact { held, .. }
            | Self::PassWork { held }
            | Self::SkipWork { held, .. }
            | Self::FanOut { held, .. } => Some(held),
            Self::ScheduleJob { .. }
            | Self::ClaimWork { .. }
            | Self::ExpireWork { .. }
            | Self::TimeoutWork { .. }
            | Self::CancelTask { .. }
            | Self::RedriveTask { .. }
            | Self::ApproveStep { .. }
            | Self::DenyStep { .. } => None,
        }
    }

    /// The place of the step that the op names, if it names one.
    pub fn step(&self) -> Option<u16> {
        match self {
            Self::ClaimWork { step, .. }
            | Self::ExpireWork { step, .. }
            | Self::TimeoutWork { step, .. }
            | Self::ApproveStep { step, .. }
            | Self::DenyStep { step, .. } => Some(*step),
            Self::CompleteJob { .. }
            | Self::FailJob { .. }
            | Self::YieldWork { .. }
            | Self::RecordArtifact { .. }
            | Self::PassWork { .. }
            | Self::SkipWork { .. }
            | Self::FanOut { .. }
            | Self::ScheduleJob { .. }
            | Self::CancelTask { .. }
            | Self::RedriveTask { .. } => self.held().map(|held| held.step),
        }
    }
}
