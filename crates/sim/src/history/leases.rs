//! What was done with the leases of steps.
//!
//! Per step there are claims and ends of attempts. A command that was never answered stays open: it may have happened at
//! any time since, or never. Heartbeats do not count.

use super::{LeaseMoment, Moment, Thread, thread};
use crate::{
    call::{Call, CallId, call_of},
    ledger::OpSeen,
};
use relaymesh_core::{
    id::StepId,
    op::{Body, CancelMode, Kind},
    task::{self, Refusal},
};
use relaymesh_runtime::driver::{Answer, Command, Error};
use std::collections::{BTreeMap, BTreeSet};

/// What is done with the lease of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeaseOp {
    /// Take it.
    Claim,
    /// End the attempt with this epoch: complete, fail, yield, expire or time out.
    End {
        /// The epoch that is shown.
        epoch: u32,
    },
    /// End whatever attempt there is: a hard cancel.
    Clear,
}

/// What came of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeaseRet {
    /// The step was given out with this epoch.
    Claimed(u32),
    /// Somebody holds it.
    Held,
    /// The step cannot be claimed now, for reasons that are none of the lease's.
    NotNow,
    /// The attempt has ended.
    Ended,
    /// The epoch is not the one in force.
    Fenced,
    /// Nothing is held any more.
    Cleared,
}

/// The operations on every step, in the order in which their ends were seen.
#[derive(Debug, Default)]
pub(super) struct Leases {
    steps: BTreeMap<StepId, Vec<LeaseMoment>>,
    own: u64,
    /// Calls of which an op is on the log.
    written: BTreeSet<CallId>,
}

impl Leases {
    pub(super) fn steps(&self) -> impl Iterator<Item = (StepId, &[LeaseMoment])> {
        self.steps.iter().map(|(step, moments)| (*step, moments.as_slice()))
    }

    pub(super) fn sent(&mut self, call: &Call) {
        if let Some((step, op)) = lease_op(&call.command) {
            self.note(step, thread(call.id), Moment::Invoked(op));
        }
    }

    pub(super) fn answered(&mut self, call: &Call, result: &Result<Answer, Error>) {
        let Some((step, _)) = lease_op(&call.command) else { return };
        let moment = match result {
            Ok(Answer::Claimed(hold)) => Moment::Returned(LeaseRet::Claimed(hold.epoch)),
            // The end of an attempt that is said a second time was said the first time: this call did nothing.
            Ok(Answer::Done { .. }) if !self.written.contains(&call.id) => Moment::Withdrawn,
            Ok(Answer::Done { .. } | Answer::Accepted { .. } | Answer::Ended { .. }) => {
                Moment::Returned(LeaseRet::Ended)
            }
            Err(Error::Refused(Refusal::Held { .. })) => Moment::Returned(LeaseRet::Held),
            Err(Error::Refused(Refusal::Fenced { .. })) => Moment::Returned(LeaseRet::Fenced),
            // The task was purged: there is no lease to speak of.
            Err(Error::Refused(Refusal::NoTask)) => Moment::Withdrawn,
            Err(Error::Refused(_)) => Moment::Returned(LeaseRet::NotNow),
            Err(Error::Indeterminate(_))
            | Ok(
                Answer::Locked { .. }
                | Answer::Released
                | Answer::Message { .. }
                | Answer::Taken(_)
                | Answer::Replied { .. }
                | Answer::Swept { .. }
                | Answer::Compacted { .. }
                | Answer::Namespace { .. }
                | Answer::Renewed { .. }
                | Answer::Noted { .. },
            ) => return,
            Err(
                Error::KeyReused { .. }
                | Error::NotPurged(_)
                | Error::Namespace(_)
                | Error::NoNamespace { .. }
                | Error::TooManyNamespaces { .. }
                | Error::Lock(_)
                | Error::Message(_)
                | Error::TooLong { .. }
                | Error::NotAsAsked(_)
                | Error::DiskFull(_)
                | Error::Busy { .. }
                | Error::Stopped
                | Error::Store(_),
            ) => Moment::Withdrawn,
        };
        self.note(step, thread(call.id), moment);
    }

    pub(super) fn withdrawn(&mut self, call: &Call) {
        if let Some((step, _)) = lease_op(&call.command) {
            self.note(step, thread(call.id), Moment::Withdrawn);
        }
    }

    /// An op is durable: what the node did by itself happens now.
    pub(super) fn durable(&mut self, seen: &OpSeen<'_>) {
        self.written.extend(call_of(seen.op));
        let (op, Some(rows)) = (seen.op, seen.task()) else { return };
        let Body::Task(body) = &op.body else { return };
        let task = rows.task.id;
        // Whoever answers a question completes the step that asked, and knows nothing of its lease.
        let answers = |call| seen.ledger.by_call.get(&call).is_some_and(|first| first.kind == Kind::ReplyMessage);
        let by_driver = call_of(op).is_none_or(answers);
        match body {
            task::Body::ClaimWork { step, .. } if by_driver => {
                self.own(
                    StepId { task, index: *step },
                    LeaseOp::Claim,
                    LeaseRet::Claimed(rows.steps[usize::from(*step)].epoch),
                );
            }
            task::Body::CompleteJob { held, .. }
            | task::Body::FailJob { held, .. }
            | task::Body::YieldWork { held, .. }
            | task::Body::PassWork { held }
            | task::Body::SkipWork { held, .. }
            | task::Body::FanOut { held, .. }
                if by_driver =>
            {
                self.own(StepId { task, index: held.step }, LeaseOp::End { epoch: held.epoch }, LeaseRet::Ended);
            }
            task::Body::ExpireWork { step, epoch, .. } | task::Body::TimeoutWork { step, epoch, .. } => {
                self.own(StepId { task, index: *step }, LeaseOp::End { epoch: *epoch }, LeaseRet::Ended);
            }
            task::Body::CancelTask { mode: CancelMode::Hard, .. } => {
                for (index, _) in rows.indexed() {
                    self.own(StepId { task, index }, LeaseOp::Clear, LeaseRet::Cleared);
                }
            }
            task::Body::ClaimWork { .. }
            | task::Body::CompleteJob { .. }
            | task::Body::FailJob { .. }
            | task::Body::YieldWork { .. }
            | task::Body::PassWork { .. }
            | task::Body::SkipWork { .. }
            | task::Body::FanOut { .. }
            | task::Body::ScheduleJob { .. }
            | task::Body::CancelTask { mode: CancelMode::Soft, .. }
            | task::Body::RedriveTask { .. }
            | task::Body::ApproveStep { .. }
            | task::Body::DenyStep { .. }
            | task::Body::RecordArtifact { .. } => {}
        }
    }

    fn own(&mut self, step: StepId, op: LeaseOp, ret: LeaseRet) {
        self.own += 1;
        let thread = self.own * 2 + 1;
        self.note(step, thread, Moment::Invoked(op));
        self.note(step, thread, Moment::Returned(ret));
    }

    fn note(&mut self, step: StepId, thread: Thread, moment: Moment<LeaseOp, LeaseRet>) {
        self.steps.entry(step).or_default().push((thread, moment));
    }
}

fn lease_op(command: &Command) -> Option<(StepId, LeaseOp)> {
    match command {
        Command::Claim { step, .. } => Some((*step, LeaseOp::Claim)),
        Command::Finish { hold, .. } | Command::Yield { hold, .. } => {
            Some((hold.step, LeaseOp::End { epoch: hold.epoch }))
        }
        Command::Submit(_)
        | Command::Wait { .. }
        | Command::Heartbeat { .. }
        | Command::Filed { .. }
        | Command::Cancel { .. }
        | Command::Redrive { .. }
        | Command::Approve { .. }
        | Command::Lock(_)
        | Command::Message(_)
        | Command::Record { .. }
        | Command::Life(_)
        | Command::CreateNamespace { .. }
        | Command::Note { .. }
        | Command::Deny { .. } => None,
    }
}
