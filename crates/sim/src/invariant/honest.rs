//! HONEST: every failure is one of three. *Done*: it is durable at the moment of the answer, exactly as told. *Rejected*:
//! nothing was or will ever be written for this command, and the reason agrees with the rows. *Unknown*: the command is
//! in the log or not, and either is fine.
//!
//! A command's number stands on the log, so "nothing was written" can be checked for ever after.

use super::{Invariant, Look, Verdict, ensure};
use crate::{
    call::{Call, CallId, call_of},
    ledger::{Ledger, OpSeen, Seen},
};
use relaymesh_core::{
    id::{StepId, TaskId},
    op::Kind,
    task::{Refusal, Status},
};
use relaymesh_runtime::{
    driver::{Answer, Command, Error},
    world::{Hold, Work},
};
use relaymesh_store::Reader as _;
use std::collections::BTreeSet;

#[derive(Debug, Default)]
pub(crate) struct Honest {
    rejected: BTreeSet<CallId>,
}

impl Invariant for Honest {
    fn name(&self) -> &'static str {
        "HONEST"
    }

    fn op(&mut self, seen: &OpSeen<'_>) -> Verdict {
        let Some(call) = call_of(seen.op).filter(|call| self.rejected.contains(call)) else { return Ok(()) };
        Err(format!("call {call} was rejected and is now on the log as op {}", seen.op.pos))
    }

    fn answer(&mut self, call: &Call, result: &Result<Answer, Error>, look: &mut Look<'_>) -> Verdict {
        let said = |found: String| format!("call {} ({}) was told {result:?}: {found}", call.id, call.verb());
        match result {
            Ok(answer) => done(call, answer, look).map_err(said),
            Err(Error::Indeterminate(_)) => Ok(()),
            Err(error) => {
                let written = look.ledger.by_call.get(&call.id);
                ensure(written.is_none(), || said(format!("but it is on the log: {written:?}")))?;
                self.rejected.insert(call.id);
                rejected(call, error, look.ledger).map_err(said)
            }
        }
    }

    /// Work begins only once its claim is durable.
    fn work(&mut self, work: &Work, ledger: &Ledger) -> Verdict {
        let claim = ledger.by_token.get(&work.hold.token);
        let durable = claim.is_some_and(|claim| (claim.step, claim.epoch) == (work.hold.step, work.hold.epoch));
        ensure(durable, || format!("work on {} epoch {} began before its claim", work.hold.step, work.hold.epoch))
    }
}

/// The answer is durable, exactly as told.
fn done(call: &Call, answer: &Answer, look: &mut Look<'_>) -> Verdict {
    let ledger = look.ledger;
    let wrote = |kinds: &[Kind]| {
        let written = ledger.by_call.get(&call.id);
        ensure(written.is_some_and(|written| kinds.contains(&written.kind)), || {
            format!("but nothing of the kind is durable: {written:?}")
        })
    };
    match (&call.command, answer) {
        (Command::Submit(submit), Answer::Accepted { task, merged, status, .. }) => {
            let seen = seen(ledger, *task)?;
            let row = &seen.rows.task;
            let same = row.idempotency_key == submit.schedule.key && row.fingerprint == submit.schedule.fingerprint;
            ensure(same, || "but the task is another request's".to_owned())?;
            ensure(seen.statuses.contains(status), || format!("but it was never {status}"))?;
            if *merged { Ok(()) } else { wrote(&[Kind::ScheduleJob]) }
        }
        (Command::Submit(_) | Command::Wait { .. }, Answer::Ended { task, status, result_hash }) => {
            let ends = &seen(ledger, *task)?.ends;
            ensure(ends.contains(&(*status, *result_hash)), || format!("but its durable ends are {ends:?}"))
        }
        (Command::Claim { step, worker, .. }, Answer::Claimed(hold)) => {
            wrote(&[Kind::ClaimWork])?;
            let claim = ledger.by_token.get(&hold.token);
            let same = claim.is_some_and(|claim| {
                (claim.step, claim.epoch, claim.worker) == (*step, hold.epoch, *worker) && hold.step == *step
            });
            ensure(same, || format!("but the durable claim is {claim:?}"))
        }
        (Command::Heartbeat { worker }, Answer::Done { .. }) => {
            let heard = look.reader.heartbeat(*worker).ok().flatten();
            ensure(heard.is_some(), || "but the journal has no word of it".to_owned())
        }
        (Command::Finish { .. }, Answer::Done { .. }) => wrote(&[Kind::CompleteJob, Kind::FailJob]),
        (Command::Yield { .. }, Answer::Done { .. }) => wrote(&[Kind::YieldWork]),
        (Command::Cancel { .. }, Answer::Done { .. }) => wrote(&[Kind::CancelTask]),
        (Command::Redrive { .. }, Answer::Done { .. }) => wrote(&[Kind::RedriveTask]),
        (Command::Approve { .. }, Answer::Done { .. }) => wrote(&[Kind::ApproveStep]),
        (Command::Deny { .. }, Answer::Done { .. }) => wrote(&[Kind::DenyStep]),
        _ => Err("which is no answer to this command".to_owned()),
    }
}

/// The reason agrees with the rows.
fn rejected(call: &Call, error: &Error, ledger: &Ledger) -> Verdict {
    match error {
        Error::Refused(refusal) => refused(call, refusal, ledger),
        Error::KeyReused { task, .. } => {
            let holder = call.key().and_then(|key| ledger.by_key.get(key));
            ensure(holder == Some(task), || format!("but the key belongs to {holder:?}"))
        }
        Error::Lock(_) | Error::Message(_) | Error::NotPurged(_) => {
            Err("but nobody asked about a lock or a message".to_owned())
        }
        Error::TooLong { found, .. } => Err(format!("but nothing is {found} bytes long")),
        Error::DiskFull(_) | Error::Busy { .. } | Error::Indeterminate(_) | Error::Stopped | Error::Store(_) => Ok(()),
    }
}

fn refused(call: &Call, refusal: &Refusal, ledger: &Ledger) -> Verdict {
    let Some((task, step, hold)) = subject(&call.command) else { return Err("but it names no task".to_owned()) };
    if *refusal == Refusal::NoTask {
        return ensure(!ledger.tasks.contains_key(&task), || "but the task is durable".to_owned());
    }
    let seen = seen(ledger, task)?;
    let was = |found: &Status| match step {
        Some(step) => seen.step_statuses.get(usize::from(step.index)).is_some_and(|all| all.contains(found)),
        None => seen.statuses.contains(found),
    };
    let row = step.and_then(|step| seen.rows.steps.get(usize::from(step.index)));
    let agrees = match refusal {
        Refusal::NoStep { count, .. } => *count == seen.rows.steps.len() && row.is_none(),
        Refusal::NotPossible { found, .. } => was(found),
        Refusal::NotReady { .. } => true,
        Refusal::NotDue { due_ms, now_ms, .. } => due_ms > now_ms,
        Refusal::Held { worker, epoch, .. } => ledger
            .by_token
            .values()
            .any(|claim| Some(claim.step) == step && claim.epoch == *epoch && claim.worker == *worker),
        Refusal::Fenced { found, epoch, given, .. } => {
            let shown = hold.is_some_and(|hold| hold.epoch == *given);
            let current = row.is_some_and(|row| {
                row.lease.as_ref().map(|lease| lease.token) == hold.map(|hold| hold.token) && row.epoch == *given
            });
            shown && !current && was(found) && row.is_some_and(|row| row.epoch >= *epoch)
        }
        Refusal::Ended { found } => seen.ends.iter().any(|(status, _)| status == found),
        Refusal::NotRedrivable { found } => was(found),
        Refusal::CancelledAlready => seen.cancels > 0,
        Refusal::OtherAsk { asked, cited, .. } => asked != cited,
        // None of these is for a client of a single node.
        Refusal::NoTask
        | Refusal::TaskExists
        | Refusal::Graph(_)
        | Refusal::BackDated { .. }
        | Refusal::LeaseRuns { .. }
        | Refusal::NotOwner { .. }
        | Refusal::NotEnded { .. }
        | Refusal::Artifact(_)
        | Refusal::WrongScope { .. } => false,
    };
    ensure(agrees, || format!("but the rows say {row:?} of a task that is {}", seen.rows.task.status))
}

/// The task, step and hold that a command is about.
fn subject(command: &Command) -> Option<(TaskId, Option<StepId>, Option<Hold>)> {
    match command {
        Command::Submit(_) | Command::Heartbeat { .. } | Command::Lock(_) | Command::Message(_) | Command::Life(_) => {
            None
        }
        Command::Wait { task } | Command::Cancel { task, .. } | Command::Redrive { task, .. } => {
            Some((*task, None, None))
        }
        Command::Claim { step, .. } | Command::Approve { step, .. } | Command::Deny { step, .. } => {
            Some((step.task, Some(*step), None))
        }
        Command::Finish { hold, .. } | Command::Yield { hold, .. } | Command::Record { hold, .. } => {
            Some((hold.step.task, Some(hold.step), Some(*hold)))
        }
    }
}

fn seen(ledger: &Ledger, task: TaskId) -> Result<&Seen, String> {
    ledger.tasks.get(&task).ok_or_else(|| format!("but {task} is not durable"))
}
