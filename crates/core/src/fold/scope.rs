//! The fold of one scope.

use super::{
    NoEffect,
    causal::{Causes, Held, Spot},
};
use crate::{
    hash::Hash,
    hlc::Hlc,
    id::{NodeId, OpId},
    kernel::{Effect, Purged, Rows, apply},
    op::Op,
};
use std::collections::BTreeMap;

/// From which place on each author is frozen.
pub(super) type Frozen = BTreeMap<(NodeId, u32), u64>;

/// An op with the hash of all that it says.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) op: Op,
    pub(super) hash: Hash,
}

/// The ops of one scope and what they fold to.
#[derive(Debug, Clone, Default)]
pub(super) struct ScopeFold {
    /// In order of HLC, then hash.
    ops: Vec<Entry>,
    rows: Option<Rows>,
    pub(super) outcomes: BTreeMap<OpId, NoEffect>,
}

impl Entry {
    pub(super) fn new(op: Op) -> Self {
        let mut bytes = Vec::with_capacity(192);
        Op::encode(&op.header, &op.body, &mut bytes);
        Self { hash: Hash::sha3(&[&bytes]), op }
    }

    pub(super) fn spot(&self) -> Spot {
        Spot { scope: self.op.header.scope, hlc: self.op.header.hlc, hash: self.hash }
    }
}

impl ScopeFold {
    /// Puts the op in its place, and says whether it is newer than all others.
    pub(super) fn place(&mut self, entry: Entry) -> bool {
        let order = |entry: &Entry| (entry.op.header.hlc, entry.hash);
        let newest = self.ops.last().is_none_or(|last| last.op.header.hlc < entry.op.header.hlc);
        let index = self.ops.partition_point(|other| order(other) < order(&entry));
        self.ops.insert(index, entry);
        newest
    }

    /// The rows, unless they were purged.
    pub(super) fn rows(&self) -> Option<&Rows> {
        self.rows.as_ref().filter(|rows| !matches!(rows, Rows::Purged(_)))
    }

    /// When they were purged.
    pub(super) fn purged(&self) -> Option<Hlc> {
        if let Some(Rows::Purged(Purged { at })) = &self.rows { Some(*at) } else { None }
    }

    /// Whether this author wrote any of the ops.
    pub(super) fn has_ops_of(&self, author: (NodeId, u32)) -> bool {
        self.ops.iter().any(|entry| (entry.op.header.origin, entry.op.header.origin_epoch) == author)
    }

    pub(super) fn refold(&mut self, frozen: &Frozen, causes: &Causes) {
        self.rows = None;
        self.outcomes.clear();
        for index in 0..self.ops.len() {
            self.apply_at(index, frozen, causes);
        }
    }

    pub(super) fn apply_last(&mut self, frozen: &Frozen, causes: &Causes) {
        self.apply_at(self.ops.len() - 1, frozen, causes);
    }

    fn apply_at(&mut self, index: usize, frozen: &Frozen, causes: &Causes) {
        let Entry { op, hash } = &self.ops[index];
        let header = &op.header;
        let same_time = |other: usize| self.ops.get(other).is_some_and(|other| other.op.header.hlc == header.hlc);
        let frozen_from = frozen.get(&(header.origin, header.origin_epoch)).copied();
        let outcome = if let Some(seq) = frozen_from.filter(|from| header.seq >= *from) {
            Err(NoEffect::Frozen { origin: header.origin, seq })
        } else if same_time(index + 1) || (index > 0 && same_time(index - 1)) {
            Err(NoEffect::SameTime(header.hlc))
        } else {
            match causes.held(hash) {
                Some(Held::Waiting(missing)) => Err(NoEffect::Waiting { missing }),
                Some(Held::Cycle(dependency, dated)) => {
                    Err(NoEffect::CausalCycle { dependency, dated, own: header.hlc })
                }
                Some(Held::TooMany(found)) => Err(NoEffect::TooManyDependencies { found }),
                None => apply(&mut self.rows, op, &mut Vec::<Effect>::new()).map_err(NoEffect::from),
            }
        };
        if let Err(reason) = outcome {
            self.outcomes.insert(header.op_id, reason);
        }
    }
}
