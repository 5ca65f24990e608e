//! MONOTONE: places, times, sequences, origin epochs and revisions only grow; a task that ended stays ended until
//! somebody redrives it.

use super::{Invariant, Verdict, ensure};
use crate::ledger::OpSeen;
use relaymesh_core::{
    hlc::Hlc,
    op::Kind,
    task::{TaskRows, validate},
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
        rows_grow(before, after)?;
        let ended = before.task.status;
        let reopened = ended.is_terminal() && after.task.status != ended && op.body.kind() != Kind::RedriveTask;
        ensure(!reopened, || format!("op {} takes {} out of {ended}", op.pos, after.task.id))?;
        validate(after).map_err(|invalid| format!("after op {}: {invalid}", op.pos))
    }
}

fn rows_grow(before: &TaskRows, after: &TaskRows) -> Verdict {
    let id = after.task.id;
    ensure(after.task.rev > before.task.rev, || format!("the revision of {id} does not grow"))?;
    for (index, (old, new)) in before.steps.iter().zip(&after.steps).enumerate() {
        ensure(new.epoch >= old.epoch, || format!("the epoch of step {index} of {id} shrinks"))?;
        ensure(new.rev > old.rev || new == old, || format!("step {index} of {id} changed without a revision"))?;
    }
    Ok(())
}
