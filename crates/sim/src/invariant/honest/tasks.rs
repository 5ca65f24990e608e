//! Answers about tasks and their steps.

use super::{
    super::{Look, Verdict, ensure},
    said, wrote,
};
use crate::{
    call::Call,
    ledger::{Ledger, Seen},
};
use relaymesh_core::{
    id::{StepId, TaskId},
    op::{Kind, Scope},
    task::{Refusal, Status},
};
use relaymesh_runtime::{
    driver::{Answer, Command, LifeCommand, MessageCommand},
    world::Hold,
};
use relaymesh_store::Reader as _;

/// The answer is durable, exactly as told.
pub(super) fn done(call: &Call, answer: &Answer, look: &mut Look<'_>) -> Verdict {
    let ledger = look.ledger;
    let wrote = |kinds: &[Kind]| wrote(call, kinds, ledger);
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
        (Command::Heartbeat { worker, .. }, Answer::Renewed { .. }) => {
            let heard = look.reader.heartbeat(*worker).ok().flatten();
            ensure(heard.is_some(), || "but the journal has no word of it".to_owned())
        }
        (Command::Finish { .. }, Answer::Done { .. }) => {
            said(call, &[Kind::CompleteJob, Kind::FailJob], ledger).map(drop)
        }
        (Command::Yield { .. }, Answer::Done { .. }) => wrote(&[Kind::YieldWork]),
        (Command::Cancel { .. }, Answer::Done { .. }) => wrote(&[Kind::CancelTask]),
        (Command::Redrive { .. }, Answer::Done { .. }) => wrote(&[Kind::RedriveTask]),
        (Command::Approve { .. }, Answer::Done { .. }) => wrote(&[Kind::ApproveStep]),
        (Command::Deny { .. }, Answer::Done { .. }) => wrote(&[Kind::DenyStep]),
        _ => Err("which is no answer to this command".to_owned()),
    }
}

pub(super) fn refused(call: &Call, refusal: &Refusal, ledger: &Ledger) -> Verdict {
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
        Refusal::NotRedrivable { found } | Refusal::NotEnded { found } => was(found),
        Refusal::CancelledAlready => seen.cancels > 0,
        Refusal::OtherAsk { asked, cited, .. } => asked != cited,
        // None of these is for a client of a single node.
        Refusal::NoTask
        | Refusal::TaskExists
        | Refusal::Graph(_)
        | Refusal::BackDated { .. }
        | Refusal::LeaseRuns { .. }
        | Refusal::NotOwner { .. }
        | Refusal::Artifact(_)
        | Refusal::NotWeighed { .. }
        | Refusal::NothingToWeigh { .. }
        | Refusal::TooManyItems { .. } => false,
    };
    ensure(agrees, || format!("but the rows say {row:?} of a task that is {}", seen.rows.task.status))
}

/// The task, step and hold that a command is about.
fn subject(command: &Command) -> Option<(TaskId, Option<StepId>, Option<Hold>)> {
    match command {
        Command::Message(MessageCommand::Send(letter)) => {
            let hold = letter.asks?;
            Some((hold.step.task, Some(hold.step), Some(hold)))
        }
        Command::Life(LifeCommand::Purge { scope: Scope::Task(task) }) => Some((*task, None, None)),
        Command::Submit(_)
        | Command::Heartbeat { .. }
        | Command::Filed { .. }
        | Command::Lock(_)
        | Command::Message(_)
        | Command::CreateNamespace { .. }
        | Command::Note { .. }
        | Command::Life(_) => None,
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
    ledger.ever(task).ok_or_else(|| format!("but {task} is not durable"))
}
