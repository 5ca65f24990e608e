//! PROGRESS: in a world without faults everything that was accepted comes to rest, in bounded time: tasks and messages
//! end, and say why if they came to nothing, and locks end.
//!
//! The world asks for this when its time is up or when nothing moves any more, whichever comes first.

use super::{Invariant, Look, Rest, Verdict, ensure};
use crate::time::SECOND;
use relaymesh_core::{lock::Lock, message::State};

#[derive(Debug)]
pub(crate) struct Progress;

impl Invariant for Progress {
    fn name(&self) -> &'static str {
        "PROGRESS"
    }

    fn rest(&mut self, look: &mut Look<'_>, rest: &Rest) -> Verdict {
        let seconds = rest.at / SECOND;
        ensure(rest.sizes.is_some(), || format!("the process does not run after {seconds} s"))?;
        for seen in look.ledger.tasks.values() {
            let (id, status) = (seen.rows.task.id, seen.rows.task.status);
            let steps: Vec<String> =
                seen.rows.steps.iter().map(|step| format!("{}: {}", step.spec.name, step.status)).collect();
            ensure(status.is_terminal(), || format!("{id} is {status} after {seconds} s: {}", steps.join(", ")))?;
        }
        for (_, message) in look.ledger.messages() {
            let (id, state) = (message.draft.id, message.state);
            ensure(state.is_terminal(), || format!("{id} is {state} after {seconds} s: {message:?}"))?;
            let says_why = state == State::Done || message.error.is_some();
            ensure(says_why, || format!("{id} is {state} and nobody knows why"))?;
        }
        for rows in look.ledger.repositories.values() {
            let left: Vec<&Lock> = rows.locks.values().collect();
            ensure(left.is_empty(), || format!("locks are left after {seconds} s: {left:?}"))?;
        }
        ensure(rest.is_settled, || format!("the engine is not settled after {seconds} s"))
    }
}
