//! The life of the log: what was let go of, and what stands in for it (D33).
//!
//! ```text
//!   op_log   1 2 3 4 5 6 7 8 9 10        a checkpoint at op 9 says what ops 1 to 8 came to
//!                            ▲
//!            · · ◊ 4 · · · ◊ 9 10        1–3 and 5–8 are gone, each run left a stub (◊); 4 is of a task that lives
//! ```
//!
//! Ops up to the **horizon** may go: those of scopes that were purged before it, and those of repositories and namespaces,
//! whose rows as of the horizon are kept as a **snapshot**. Everything else stays. With the snapshot, the ops that are left fold to the
//! rows that the checkpoint names by their hash, so a rebuild can begin with them and prove where it has got to.

use crate::{Error, StoredOp};
use relaymesh_core::op::{Chain, Op, Scope};

/// How far a store has let go of what is over.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Life {
    /// Ops up to here may be gone; 0 when none are. The op after it is the checkpoint.
    pub horizon: u64,
    /// Keys of tasks that ended up to here may be gone (R14).
    pub swept_ms: u64,
}

/// Ops that go, with the content that they brought.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// The first of them.
    pub first: u64,
    /// What stands in the place of the last.
    pub stub: StoredOp,
}

impl StoredOp {
    /// Where the chain stood, if this is a stub.
    pub fn stub(&self) -> Option<Chain> {
        Chain::at_stub(&self.bytes, self.hash)
    }

    /// Whether it may stand right after `pos`: only a stub may stand for more than itself.
    pub fn continues(&self, pos: u64) -> bool {
        self.pos == pos + 1 || (self.pos > pos && self.stub().is_some())
    }
}

/// What may go of a page of ops.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Dropped {
    /// The runs, in order.
    pub runs: Vec<Run>,
    /// How many ops they are.
    pub ops: u64,
}

/// What may go of `page`, which ends at the horizon or before it: ops about the log itself, about scopes that are in the
/// snapshot, and about scopes of which `is_over` says so. An op that cannot be read stays: it is not understood.
pub fn droppable(page: &[StoredOp], is_over: &mut dyn FnMut(Scope) -> Result<bool, Error>) -> Result<Dropped, Error> {
    let mut dropped = Dropped::default();
    let mut open: Option<(Run, u64)> = None;
    for stored in page {
        let chain = match (stored.stub(), Op::decode(stored.pos, &stored.bytes)) {
            (Some(chain), _) => Some((chain, 0)),
            (None, Ok(op)) => {
                let scope = op.header.scope;
                let goes = scope == Scope::Log || in_snapshot(scope) || is_over(scope)?;
                goes.then(|| (Chain::after(&op.header, stored.hash), 1))
            }
            (None, Err(_)) => None,
        };
        let Some((chain, ops)) = chain else {
            dropped.take(open.take());
            continue;
        };
        let stub = StoredOp { pos: stored.pos, bytes: chain.stub(), hash: stored.hash };
        let (first, before) = open.map_or((stored.pos, 0), |(run, ops)| (run.first, ops));
        open = Some((Run { first, stub }, before + ops));
    }
    dropped.take(open);
    Ok(dropped)
}

impl Dropped {
    /// Takes a run in, unless it is nothing but a stub.
    fn take(&mut self, run: Option<(Run, u64)>) {
        if let Some((run, ops)) = run.filter(|(run, ops)| *ops > 0 || run.first < run.stub.pos) {
            self.runs.push(run);
            self.ops += ops;
        }
    }
}

/// Whether a scope's rows as of the horizon are kept in a snapshot. A repository lives for ever, because its fences only
/// grow (D22), and so does a namespace, because what is in it carries its name; their ops need not.
pub fn in_snapshot(scope: Scope) -> bool {
    match scope {
        Scope::Repository(_) | Scope::Namespace(_) | Scope::Register(_) => true,
        Scope::Task(_) | Scope::Thread(_) | Scope::Plan(_) | Scope::Log => false,
    }
}
