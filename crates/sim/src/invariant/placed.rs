//! PLACED: nothing new is put into a namespace that nobody made.
//!
//! What is asked is the log: when a task, a lock or a message comes, the namespace has come before it.

use super::{Invariant, Verdict, ensure};
use crate::ledger::OpSeen;
use relaymesh_core::op::Kind;

#[derive(Debug)]
pub(crate) struct Placed;

impl Invariant for Placed {
    fn name(&self) -> &'static str {
        "PLACED"
    }

    fn op(&mut self, seen: &OpSeen<'_>) -> Verdict {
        let (kind, namespace) = (seen.op.body.kind(), &seen.op.header.namespace);
        let puts = matches!(kind, Kind::ScheduleJob | Kind::AcquireLock | Kind::SendMessage);
        ensure(!puts || seen.ledger.has_namespace(namespace), || {
            format!("op {} is {kind:?} in `{namespace}`, which nobody has made", seen.op.pos)
        })
    }
}
