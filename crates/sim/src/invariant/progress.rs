//! PROGRESS: in a world without faults everything that was accepted comes to rest, in bounded time.
//!
//! The world asks for this when its time is up or when nothing moves any more, whichever comes first.

use super::{Invariant, Look, Rest, Verdict, ensure};
use crate::time::SECOND;

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
        ensure(rest.is_settled, || format!("the engine is not settled after {seconds} s"))
    }
}
