//! REBUILD: the log folds to the live rows, and the chain holds.
//!
//! The ledger folds every op as it comes and compares the rows that it touches. Here the store's own checks are asked:
//! the chain at every start, and at the end everything, with a rebuild from the first op.

use super::{Invariant, Look, Rest, Verdict, ensure};
use crate::ledger::OpSeen;
use relaymesh_store::{
    Reader as _,
    memory::MemoryStore,
    verify::{self, Checked},
};

#[derive(Debug, Default)]
pub(crate) struct Rebuild {
    checked: Checked,
}

impl Invariant for Rebuild {
    fn name(&self) -> &'static str {
        "REBUILD"
    }

    fn op(&mut self, seen: &OpSeen<'_>) -> Verdict {
        seen.after.map(drop).map_err(|refusal| format!("op {} has no effect: {refusal}", seen.op.pos))
    }

    fn start(&mut self, look: &mut Look<'_>) -> Verdict {
        let from = self.checked.clone();
        self.checked = verify::chain(look.reader, from, &mut |_| {}).map_err(|problem| problem.to_string())?;
        verify::rows(look.reader, &mut |_| {}).map(drop).map_err(|problem| problem.to_string())
    }

    fn rest(&mut self, look: &mut Look<'_>, _rest: &Rest) -> Verdict {
        verify::rows(look.reader, &mut |_| {}).map_err(|problem| problem.to_string())?;
        let origin = look.reader.head().map_err(|error| error.to_string())?.chain.origin;
        let mut scratch = MemoryStore::new(origin);
        let rebuilt = verify::rebuild(look.reader, &mut scratch, &mut |_| {}).map_err(|problem| problem.to_string())?;
        let differences = rebuilt.differences;
        ensure(differences.is_empty(), || format!("a rebuild differs: {differences:?}"))
    }
}
