//! The fold: ops in, rows out, whatever the order in which the ops arrived (L12, D18).
//!
//! Ops of one scope are folded in HLC order. The tempting wrong answer is to apply what arrives when it arrives: then
//! two nodes that hear of two claims in a different order disagree for ever. Here an op that is newer than all others
//! of its scope is applied to the rows at once; a late one re-folds its scope from the start. The rows are always what
//! a full fold of the same set of ops would give.
//!
//! Whatever is validly authored stays in the set, whether it took effect or not. Two things disturb the set itself:
//! - two ops with one HLC are both refused (L4);
//! - two different ops in one place of a chain are evidence that their author lies: both stay, and nothing that it
//!   wrote from that place on takes effect (D24).

use crate::{
    hash::Hash,
    hlc::Hlc,
    id::{NodeId, OpId},
    kernel::{Effect, Refusal, Rows, apply},
    op::{Op, Scope},
    row::StateHash,
};
use std::collections::{BTreeMap, BTreeSet};

/// Why an op that is in the set has no effect.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoEffect {
    /// The kernel refused it.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// Another op has the same HLC.
    #[error("integrity failure: another op has the same time {0}")]
    SameTime(Hlc),
    /// Its author wrote two different ops in one place of its chain, at this one or before it.
    #[error("integrity failure: {origin} wrote two ops with sequence {seq}")]
    Frozen {
        /// The author's node.
        origin: NodeId,
        /// The first place with two ops.
        seq: u64,
    },
}

/// What the arrival of an op meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrival {
    /// Newer than all others of its scope: applied to the rows.
    Newest,
    /// Older than another one of its scope: the scope was folded again.
    Late,
    /// It was there already.
    Duplicate,
    /// Its place in its chain is taken by another op: its author is frozen from there on.
    Equivocation,
}

/// A set of ops and the rows that they fold to.
#[derive(Debug, Clone, Default)]
pub struct Fold {
    scopes: BTreeMap<Scope, ScopeFold>,
    /// What lies in each place of each chain, by hash of all that it says: an op id alone is the author's word.
    places: BTreeMap<(NodeId, u32, u64), BTreeSet<Hash>>,
    frozen: BTreeMap<(NodeId, u32), u64>,
}

#[derive(Debug, Clone, Default)]
struct ScopeFold {
    /// In order of HLC, then op id, then place.
    ops: Vec<Op>,
    rows: Option<Rows>,
    outcomes: BTreeMap<OpId, NoEffect>,
}

impl Fold {
    /// The rows that these ops fold to, from nothing.
    pub fn of(ops: impl IntoIterator<Item = Op>) -> Self {
        let mut fold = Self::default();
        for op in ops {
            fold.place(op);
        }
        let scopes: Vec<Scope> = fold.scopes.keys().copied().collect();
        scopes.into_iter().for_each(|scope| fold.refold(scope));
        fold
    }

    /// Takes in one more op and brings the rows up to date.
    pub fn insert(&mut self, op: Op) -> Arrival {
        let (scope, hlc, author) = (op.header.scope, op.header.hlc, (op.header.origin, op.header.origin_epoch));
        let newest = self.scopes.get(&scope).and_then(|s| s.ops.last()).is_none_or(|last| last.header.hlc < hlc);
        let arrival = self.place(op);
        match arrival {
            Arrival::Duplicate => {}
            Arrival::Equivocation => self.refold_all_of(author),
            Arrival::Newest | Arrival::Late if newest => {
                let frozen = &self.frozen;
                if let Some(scope) = self.scopes.get_mut(&scope) {
                    scope.apply_last(frozen);
                }
                return Arrival::Newest;
            }
            Arrival::Newest | Arrival::Late => self.refold(scope),
        }
        arrival
    }

    /// The rows of a scope.
    pub fn rows(&self, scope: Scope) -> Option<&Rows> {
        self.scopes.get(&scope)?.rows.as_ref()
    }

    /// All rows, by scope.
    pub fn all_rows(&self) -> impl Iterator<Item = &Rows> {
        self.scopes.values().filter_map(|scope| scope.rows.as_ref())
    }

    /// Why an op has no effect, if it has none.
    pub fn no_effect(&self, scope: Scope, op: OpId) -> Option<&NoEffect> {
        self.scopes.get(&scope)?.outcomes.get(&op)
    }

    /// The hash of all rows.
    pub fn state_hash(&self) -> StateHash {
        let add = |sum: u128, rows: &Rows| sum.wrapping_add(StateHash::of_rows(rows).0);
        StateHash(self.all_rows().fold(0, add))
    }

    /// Puts the op in its scope's order and its author's chain, and touches no rows.
    fn place(&mut self, op: Op) -> Arrival {
        let header = &op.header;
        let author = (header.origin, header.origin_epoch);
        let place = self.places.entry((header.origin, header.origin_epoch, header.seq)).or_default();
        if !place.insert(content_hash(&op)) {
            return Arrival::Duplicate;
        }
        let lied = place.len() > 1;
        if lied {
            let from = self.frozen.entry(author).or_insert(header.seq);
            *from = header.seq.min(*from);
        }
        let scope = self.scopes.entry(header.scope).or_default();
        let order = |op: &Op| (op.header.hlc, op.header.op_id, op.header.origin, op.header.origin_epoch, op.header.seq);
        let index = scope.ops.partition_point(|other| order(other) < order(&op));
        scope.ops.insert(index, op);
        if lied { Arrival::Equivocation } else { Arrival::Late }
    }

    fn refold(&mut self, scope: Scope) {
        let frozen = &self.frozen;
        if let Some(scope) = self.scopes.get_mut(&scope) {
            scope.refold(frozen);
        }
    }

    fn refold_all_of(&mut self, (origin, epoch): (NodeId, u32)) {
        let wrote = |op: &Op| (op.header.origin, op.header.origin_epoch) == (origin, epoch);
        let scopes: Vec<Scope> =
            self.scopes.iter().filter(|(_, s)| s.ops.iter().any(wrote)).map(|(scope, _)| *scope).collect();
        scopes.into_iter().for_each(|scope| self.refold(scope));
    }
}

/// Equal for ops that say the same, wherever they arrived.
fn content_hash(op: &Op) -> Hash {
    let mut bytes = Vec::with_capacity(192);
    Op::encode(&op.header, &op.body, &mut bytes);
    Hash::sha3(&[&bytes])
}

impl ScopeFold {
    fn refold(&mut self, frozen: &BTreeMap<(NodeId, u32), u64>) {
        self.rows = None;
        self.outcomes.clear();
        for index in 0..self.ops.len() {
            self.apply_at(index, frozen);
        }
    }

    fn apply_last(&mut self, frozen: &BTreeMap<(NodeId, u32), u64>) {
        self.apply_at(self.ops.len() - 1, frozen);
    }

    fn apply_at(&mut self, index: usize, frozen: &BTreeMap<(NodeId, u32), u64>) {
        let op = &self.ops[index];
        let header = &op.header;
        let same_time = |other: usize| self.ops.get(other).is_some_and(|other| other.header.hlc == header.hlc);
        let frozen_from = frozen.get(&(header.origin, header.origin_epoch)).copied();
        let outcome = if let Some(seq) = frozen_from.filter(|from| header.seq >= *from) {
            Err(NoEffect::Frozen { origin: header.origin, seq })
        } else if same_time(index + 1) || (index > 0 && same_time(index - 1)) {
            Err(NoEffect::SameTime(header.hlc))
        } else {
            apply(&mut self.rows, op, &mut Vec::<Effect>::new()).map_err(NoEffect::from)
        };
        if let Err(reason) = outcome {
            self.outcomes.insert(header.op_id, reason);
        }
    }
}
