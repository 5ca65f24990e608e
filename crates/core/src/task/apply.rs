//! One op on the rows of its task.

use super::table::{Status, Verb};
use super::{
    approve, artifact, body::Body, cancel, claim, complete, expire, fail, fan_out, graph, lease::stale, pass, redrive,
    skip, state::TaskRows, submit, timeout, yields,
};
use crate::{
    hash::Hash,
    hlc::Hlc,
    id::{NodeId, TaskId, WorkerId},
    name::Name,
    op::About,
    utc::Utc,
};

/// What is to be done because an op took effect. All of it can be derived from the rows again, so that a restart
/// forgets nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// The step may be claimed now.
    Offer {
        /// The step's place in its task.
        step: u16,
    },
    /// Look at the step again at this time: a retry falls due, or an approval runs out.
    Wake {
        /// The step's place in its task.
        step: u16,
        /// When.
        at_ms: u64,
    },
    /// The claim counts: begin work.
    Start {
        /// The step's place in its task.
        step: u16,
        /// The claim's fence.
        epoch: u32,
    },
    /// The attempt no longer counts: end whatever works on it.
    Stop {
        /// The step's place in its task.
        step: u16,
        /// The attempt's fence.
        epoch: u32,
    },
    /// The task ended.
    End {
        /// How.
        status: Status,
    },
}

/// Why an op has no effect. It changed nothing; each says what was found.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The op names a task that is not there.
    #[error("there is no such task")]
    NoTask,
    /// A second submit with the same task id.
    #[error("the task already exists")]
    TaskExists,
    /// The graph cannot be run.
    #[error(transparent)]
    Graph(#[from] graph::Error),
    /// The op names a step that the task does not have.
    #[error("the task has {count} steps; there is no step {step}")]
    NoStep {
        /// The place that was named.
        step: u16,
        /// How many steps there are.
        count: usize,
    },
    /// The transition table has no such move.
    #[error("step `{name}` is {found}: {verb:?} is not possible in this state")]
    NotPossible {
        /// The step.
        name: Name,
        /// What was tried.
        verb: Verb,
        /// Where the step rests.
        found: Status,
    },
    /// Steps that it depends on are not done.
    #[error("step `{name}` is not ready: it waits for other steps")]
    NotReady {
        /// The step.
        name: Name,
    },
    /// The retry is not due yet.
    #[error("step `{name}` is not due before {} (now {})", Utc(*.due_ms), Utc(*.now_ms))]
    NotDue {
        /// The step.
        name: Name,
        /// When it will be.
        due_ms: u64,
        /// The op's time.
        now_ms: u64,
    },
    /// Another worker holds the step.
    #[error("step `{name}` is held by {worker} (epoch {epoch}) until {}", Utc(*.deadline_ms))]
    Held {
        /// The step.
        name: Name,
        /// The holder.
        worker: WorkerId,
        /// The holder's fence.
        epoch: u32,
        /// When the lease ends.
        deadline_ms: u64,
    },
    /// The author does not hold the step any more, or never did (D7).
    #[error("rejected_fenced: step `{name}` is {found}: {}", stale(*.found == Status::Running, *.epoch, *.given))]
    Fenced {
        /// The step.
        name: Name,
        /// Where it rests.
        found: Status,
        /// The fence in force.
        epoch: u32,
        /// The fence that was shown.
        given: u32,
    },
    /// The claim cites an op that is not older than itself (D19).
    #[error("the claim has the time {}, but its author had already seen an op of {}", Utc(.dated.wall_ms), Utc(.seen.wall_ms))]
    BackDated {
        /// The claim's time.
        dated: Hlc,
        /// What it cites.
        seen: Hlc,
    },
    /// The lease has not run out.
    #[error("the lease on step `{name}` runs until {} (now {})", Utc(*.deadline_ms), Utc(*.now_ms))]
    LeaseRuns {
        /// The step.
        name: Name,
        /// When the lease ends.
        deadline_ms: u64,
        /// The op's time.
        now_ms: u64,
    },
    /// Only the node that owns the lease may say this.
    #[error("step `{name}` is leased by {owner}, not by {author}")]
    NotOwner {
        /// The step.
        name: Name,
        /// The node that owns the lease.
        owner: NodeId,
        /// The node that spoke.
        author: NodeId,
    },
    /// The task has ended.
    #[error("terminal_state:{found}")]
    Ended {
        /// How.
        found: Status,
    },
    /// The task has not ended, or ended well.
    #[error("the task is {found}: only a task that ended in FAILED, DEAD_LETTER or CANCELLED can be retried")]
    NotRedrivable {
        /// Where it rests.
        found: Status,
    },
    /// The task is being cancelled in this way already.
    #[error("the task is already being cancelled")]
    CancelledAlready,
    /// The decision is about something else than what is asked.
    #[error("step `{name}` has the request {asked}, but the decision is for {cited}")]
    OtherAsk {
        /// The step.
        name: Name,
        /// Hash of what is asked.
        asked: Hash,
        /// Hash of what was decided.
        cited: Hash,
    },
    /// The task has not ended.
    #[error("the task is {found}: only a task that ended can be purged")]
    NotEnded {
        /// Where it rests.
        found: Status,
    },
    /// The step cannot be done before its condition or its list was looked at.
    #[error("step `{name}` has a condition or a list that is not evaluated yet")]
    NotWeighed {
        /// The step.
        name: Name,
    },
    /// There is nothing to work out about the step.
    #[error("step `{name}` has no {what} to evaluate")]
    NothingToWeigh {
        /// The step.
        name: Name,
        /// What it does not have, or has been looked at.
        what: &'static str,
    },
    /// Its list has more items than a task has room for.
    #[error(
        "step `{name}` has {count} items; together with the other steps, that is more than {} steps",
        graph::STEPS_MAX
    )]
    TooManyItems {
        /// The step.
        name: Name,
        /// How many items.
        count: u16,
    },
    /// The artifact cannot be listed.
    #[error(transparent)]
    Artifact(#[from] artifact::Error),
}

/// What a verb may know of the op that it applies.
#[derive(Debug, Clone, Copy)]
pub(super) struct At<'a> {
    pub(super) pos: u64,
    pub(super) now_ms: u64,
    pub(super) hlc: Hlc,
    pub(super) origin: NodeId,
    pub(super) author: &'a Name,
}

/// Applies `op` to the rows of its task. An effect is pushed for whatever has to be done about it; a refusal has
/// changed neither rows nor effects.
pub fn apply(
    rows: &mut Option<TaskRows>,
    op: &About<'_, TaskId, Body>,
    effects: &mut Vec<Effect>,
) -> Result<(), Refusal> {
    let About { pos, header, id, body } = *op;
    let at = At { pos, now_ms: header.hlc.wall_ms, hlc: header.hlc, origin: header.origin, author: &header.author };
    if let Body::ScheduleJob { schedule } = body {
        if rows.is_some() {
            return Err(Refusal::TaskExists);
        }
        *rows = Some(submit::submit(schedule, id, &header.namespace, at, effects)?);
        return Ok(());
    }
    let rows = rows.as_mut().ok_or(Refusal::NoTask)?;
    match body {
        Body::ScheduleJob { .. } => return Err(Refusal::TaskExists),
        Body::ClaimWork { step, owner, worker, token, lease_ms, seen } => {
            let asked =
                claim::Asked { owner: *owner, worker: *worker, token: *token, lease_ms: *lease_ms, seen: *seen };
            claim::claim(rows, *step, asked, at, effects)?;
        }
        Body::CompleteJob { held, result } => complete::complete(rows, held, *result, at, effects)?,
        Body::FailJob { held, retryable, jitter_ms, error } => {
            fail::fail(rows, held, fail::Failure { retryable: *retryable, jitter_ms: *jitter_ms, error }, at, effects)?;
        }
        Body::PassWork { held } => pass::pass(rows, held, at, effects)?,
        Body::SkipWork { held, reason } => skip::skip(rows, held, reason, at, effects)?,
        Body::FanOut { held, count } => fan_out::fan_out(rows, held, *count, at, effects)?,
        Body::YieldWork { held, reason } => yields::give_back(rows, held, reason, at, effects)?,
        Body::ExpireWork { step, epoch, reason, jitter_ms } => {
            expire::expire(rows, *step, *epoch, *reason, *jitter_ms, at, effects)?;
        }
        Body::TimeoutWork { step, epoch, jitter_ms } => {
            timeout::time_out(rows, *step, *epoch, *jitter_ms, at, effects)?;
        }
        Body::CancelTask { mode, reason } => cancel::cancel(rows, *mode, reason, at, effects)?,
        Body::RedriveTask { .. } => redrive::redrive(rows, at, effects)?,
        Body::ApproveStep { step, ask } => approve::approve(rows, *step, *ask, at, effects)?,
        Body::DenyStep { step, ask, reason } => approve::deny(rows, *step, *ask, reason, at, effects)?,
        Body::RecordArtifact { held, kind, name, content, about } => {
            let (kind, name, about) = (kind.clone(), name.clone(), about.clone());
            let made = artifact::Artifact { pos: at.pos, epoch: held.epoch, kind, name, content: *content, about };
            artifact::record(rows, held, made, at)?;
        }
    }
    rows.task.head = at.hlc;
    rows.task.rev += 1;
    rows.task.updated_ms = at.now_ms;
    Ok(())
}
