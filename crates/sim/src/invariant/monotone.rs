//! MONOTONE: places, times, sequences, origin epochs and revisions only grow; a task or a message that ended stays ended
//! until somebody redrives it, and one that is done stays done.

use super::{Invariant, Verdict, ensure};
use crate::ledger::OpSeen;
use relaymesh_core::{
    hlc::Hlc,
    kernel::{Rows, validate},
    lock::RepositoryRows,
    message::{State, ThreadRows},
    op::Kind,
    task::TaskRows,
};

#[derive(Debug, Default)]
pub(crate) struct Monotone {
    pos: u64,
    seq: u64,
    origin_epoch: u32,
    hlc: Option<Hlc>,
}

impl Invariant for Monotone {
    fn name(&self) -> &'static str {
        "MONOTONE"
    }

    fn op(&mut self, seen: &OpSeen<'_>) -> Verdict {
        let (op, header) = (seen.op, &seen.op.header);
        ensure(op.pos == self.pos + 1, || format!("op {} follows op {}", op.pos, self.pos))?;
        ensure(header.seq == self.seq + 1, || format!("sequence {} follows {}", header.seq, self.seq))?;
        ensure(header.origin_epoch >= self.origin_epoch, || format!("origin epoch {} is old", header.origin_epoch))?;
        ensure(self.hlc < Some(header.hlc), || format!("op {} is dated {} after {:?}", op.pos, header.hlc, self.hlc))?;
        (self.pos, self.seq) = (op.pos, header.seq);
        (self.origin_epoch, self.hlc) = (header.origin_epoch, Some(header.hlc));
        let (Some(before), Ok(after)) = (seen.before, seen.after) else { return Ok(()) };
        let redriven = matches!(op.body.kind(), Kind::RedriveTask | Kind::RedriveMessage);
        match (before, after) {
            (Rows::Task(before), Rows::Task(after)) => task_grows(before, after, redriven),
            (Rows::Thread(before), Rows::Thread(after)) => thread_grows(before, after, redriven),
            (Rows::Repository(before), Rows::Repository(after)) => repository_grows(before, after),
            (Rows::Task(_) | Rows::Thread(_), Rows::Purged(_)) if op.body.kind() == Kind::PurgeScope => Ok(()),
            _ => Err("became something else".to_owned()),
        }
        .map_err(|found| format!("op {}: {} {found}", op.pos, header.scope))?;
        validate(after).map_err(|invalid| format!("after op {}: {invalid}", op.pos))
    }
}

fn task_grows(before: &TaskRows, after: &TaskRows, redriven: bool) -> Verdict {
    ensure(after.task.rev > before.task.rev, || "does not get a new revision".to_owned())?;
    for (index, (old, new)) in before.steps.iter().zip(&after.steps).enumerate() {
        ensure(new.epoch >= old.epoch, || format!("has a step {index} whose epoch shrinks"))?;
        ensure(new.rev > old.rev || new == old, || format!("has a step {index} that changed without a revision"))?;
    }
    let (was, is) = (before.task.status, after.task.status);
    ensure(!was.is_terminal() || is == was || redriven, || format!("is taken out of {was}"))
}

fn thread_grows(before: &ThreadRows, after: &ThreadRows, redriven: bool) -> Verdict {
    ensure(after.thread.rev > before.thread.rev, || "does not get a new revision".to_owned())?;
    for (id, old) in &before.messages {
        let new = after.messages.get(id).ok_or_else(|| format!("has lost {id}"))?;
        ensure(new.epoch >= old.epoch, || format!("has {id} whose epoch shrinks"))?;
        ensure(new.rev > old.rev || new == old, || format!("has {id} that changed without a revision"))?;
        let stays = old.state == State::Done || !redriven;
        let taken_out = old.state.is_terminal() && new.state != old.state && stays;
        ensure(!taken_out, || format!("has {id} that is taken out of {}", old.state))?;
    }
    Ok(())
}

fn repository_grows(before: &RepositoryRows, after: &RepositoryRows) -> Verdict {
    let (old, new) = (&before.repository, &after.repository);
    ensure(new.rev > old.rev, || "does not get a new revision".to_owned())?;
    ensure(new.fence >= old.fence, || format!("has a fence that shrinks from {} to {}", old.fence, new.fence))?;
    for (token, old) in &before.locks {
        let Some(new) = after.locks.get(token) else { continue };
        ensure(new.fence >= old.fence, || format!("has {token} whose fence shrinks"))?;
        ensure(new.rev > old.rev || new == old, || format!("has {token} that changed without a revision"))?;
    }
    Ok(())
}
