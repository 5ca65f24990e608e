//! DURABLE: what was acknowledged is there after every restart, with the content that was acknowledged.
//!
//! What is compared is the disk, not anybody's memory of it: rows, ops and the bytes of inputs and results.

use super::{Invariant, Look, Rest, Verdict, ensure};
use crate::{call::Call, ledger::Ledger};
use relaymesh_core::id::TaskId;
use relaymesh_runtime::{
    driver::{Answer, Command, Error},
    world::{Outcome, Work},
};
use relaymesh_store::{Content, ContentKey, Reader as _, StoredOp};
use std::collections::BTreeMap;

#[derive(Debug, Default)]
pub(crate) struct Durable {
    /// Acknowledged tasks with the bytes of their inputs.
    tasks: BTreeMap<TaskId, Vec<(u16, Content)>>,
    /// Acknowledged results, by the op that carried them.
    results: BTreeMap<u64, Content>,
}

impl Invariant for Durable {
    fn name(&self) -> &'static str {
        "DURABLE"
    }

    fn answer(&mut self, call: &Call, result: &Result<Answer, Error>, look: &mut Look<'_>) -> Verdict {
        match (&call.command, result) {
            (Command::Submit(submit), Ok(Answer::Accepted { task, .. } | Answer::Ended { task, .. })) => {
                self.tasks.insert(*task, submit.inputs.clone());
                self.task(*task, look)
            }
            (Command::Finish { outcome: Outcome::Done { result, .. }, .. }, Ok(_)) => {
                let Some(written) = look.ledger.by_call.get(&call.id) else { return Ok(()) }; // HONEST says so
                self.results.insert(written.pos, result.clone());
                self.result(written.pos, look)
            }
            _ => Ok(()),
        }
    }

    /// An agent gets what was submitted, byte for byte.
    fn work(&mut self, work: &Work, ledger: &Ledger) -> Verdict {
        let Some(seen) = ledger.tasks.get(&work.hold.step.task) else { return Ok(()) };
        let Some(input) = seen.rows.steps[usize::from(work.hold.step.index)].spec.input else { return Ok(()) };
        let given = work.input.named(input.media);
        ensure(given == input, || format!("{} was given another input than was submitted", work.hold.step))
    }

    fn start(&mut self, look: &mut Look<'_>) -> Verdict {
        self.log(look)?;
        let tasks: Vec<TaskId> = self.tasks.keys().copied().collect();
        tasks.into_iter().try_for_each(|task| self.task(task, look))
    }

    fn rest(&mut self, look: &mut Look<'_>, _rest: &Rest) -> Verdict {
        self.log(look)?;
        let (tasks, results): (Vec<TaskId>, Vec<u64>) =
            (self.tasks.keys().copied().collect(), self.results.keys().copied().collect());
        tasks.into_iter().try_for_each(|task| self.task(task, look))?;
        results.into_iter().try_for_each(|pos| self.result(pos, look))
    }
}

impl Durable {
    /// Every op that was ever on the disk is still there.
    fn log(&self, look: &mut Look<'_>) -> Verdict {
        let stored = look.reader.ops(0, usize::MAX).map_err(|error| error.to_string())?;
        let known = look.ledger.hashes.iter();
        let same = stored.len() == look.ledger.hashes.len() && stored.iter().map(|op: &StoredOp| &op.hash).eq(known);
        ensure(same, || format!("the log has {} ops; {} were on the disk", stored.len(), look.ledger.hashes.len()))
    }

    fn task(&self, task: TaskId, look: &mut Look<'_>) -> Verdict {
        let rows = look.reader.task(task).map_err(|error| error.to_string())?;
        let rows = rows.ok_or_else(|| format!("{task} was acknowledged and is gone"))?;
        for (place, bytes) in self.tasks.get(&task).into_iter().flatten() {
            let key = ContentKey::new(rows.task.key, *place);
            let found = look.reader.content(key).map_err(|error| error.to_string())?;
            ensure(found.as_ref() == Some(bytes), || format!("input {place} of {task} is {found:?}"))?;
        }
        Ok(())
    }

    fn result(&self, pos: u64, look: &mut Look<'_>) -> Verdict {
        let found = look.reader.content(ContentKey::new(pos, 0)).map_err(|error| error.to_string())?;
        ensure(found.as_ref() == self.results.get(&pos), || format!("the result of op {pos} is {found:?}"))
    }
}
