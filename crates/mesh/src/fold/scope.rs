//! The fold of one scope.

use super::{NoEffect, causal::Causes, entry::Entry, keys::Keys, notes::Notes, places::Places};
use crate::rows::{Rows, apply};
use crate::{mandate::Registers, register::Seals};
use relaymesh_bus::write_class::{self, EntityType, Order};
use relaymesh_core::{
    hlc::Hlc,
    id::{NodeId, OpId},
    op::{Body, Op, Scope},
    row::StateHash,
    task,
};
use std::collections::BTreeMap;

/// What the fold of a scope may know of all others.
pub(super) struct Context<'a> {
    pub(super) places: &'a Places,
    pub(super) causes: &'a Causes,
    /// In a mesh: who may say what, and who has which key.
    pub(super) mesh: Option<(&'a Registers, &'a Keys)>,
    /// In a mesh: every seal that counts, later ones than the op included.
    pub(super) seals: Option<&'a Seals>,
}

/// The ops of one scope and what they fold to.
#[derive(Debug, Clone, Default)]
pub(super) struct ScopeFold {
    /// In order of HLC, then hash.
    ops: Vec<Entry>,
    rows: Option<Rows>,
    pub(super) outcomes: BTreeMap<OpId, NoEffect>,
    pub(super) notes: Notes,
    /// What its rows added to the hash of all rows when that was last brought up to date.
    pub(super) summed: StateHash,
}

impl ScopeFold {
    /// Puts the op in its place, and says whether it is newer than all others.
    pub(super) fn place(&mut self, entry: Entry) -> bool {
        let newest = self.newest().is_none_or(|last| last < entry.hlc());
        let index = self.ops.partition_point(|other| other.order() < entry.order());
        self.ops.insert(index, entry);
        newest
    }

    /// The time of the newest op.
    pub(super) fn newest(&self) -> Option<Hlc> {
        self.ops.last().map(Entry::hlc)
    }

    /// The ops, in order.
    pub(super) fn ops(&self) -> &[Entry] {
        &self.ops
    }

    /// All ops; none is left.
    pub(super) fn take_ops(&mut self) -> Vec<Entry> {
        std::mem::take(&mut self.ops)
    }

    /// The rows, unless they were purged.
    pub(super) fn rows(&self) -> Option<&Rows> {
        self.rows.as_ref().filter(|rows| rows.purged().is_none())
    }

    /// When they were purged.
    pub(super) fn purged(&self) -> Option<Hlc> {
        self.rows.as_ref().and_then(Rows::purged)
    }

    /// Whether this author wrote any of the ops.
    pub(super) fn has_ops_of(&self, author: (NodeId, u32)) -> bool {
        self.ops.iter().any(|entry| entry.chain() == author)
    }

    /// Forgets what the ops folded to.
    pub(super) fn clear(&mut self) {
        self.rows = None;
        self.outcomes.clear();
        self.notes = Notes::default();
    }

    pub(super) fn refold(&mut self, context: &Context<'_>) {
        self.clear();
        for index in 0..self.ops.len() {
            self.apply_at(index, context);
        }
    }

    pub(super) fn apply_last(&mut self, context: &Context<'_>) {
        self.apply_at(self.ops.len() - 1, context);
    }

    /// Applies one op to the rows, if it may, and says whether it took effect.
    pub(super) fn apply_at(&mut self, index: usize, context: &Context<'_>) -> bool {
        let outcome = match self.stopped(index, context) {
            Some(reason) => Err(reason),
            None => self.run(index),
        };
        let op = &self.ops[index].op;
        match outcome {
            Ok(()) => {
                if context.mesh.is_some() && matches!(op.header.scope, Scope::Task(_)) {
                    self.notes.take(op);
                }
                true
            }
            Err(reason) => {
                self.outcomes.insert(op.header.op_id, reason);
                false
            }
        }
    }

    /// What would come of an op that is newer than all others. Nothing changes.
    pub(super) fn attempt(&self, entry: &Entry, context: &Context<'_>) -> Result<(), NoEffect> {
        if let Some(seq) = context.places.frozen_from(entry, context.seals) {
            return Err(NoEffect::Frozen { origin: entry.op.header.origin, seq });
        }
        if let Some(held) = context.causes.would_be_held(&entry.op.header) {
            return Err(NoEffect::of(held, entry.hlc()));
        }
        if let Some(reason) = self.unheard(&entry.op, context) {
            return Err(reason);
        }
        apply(&mut self.rows.clone(), &entry.op).map_err(NoEffect::from)
    }

    /// Applies one op that was judged before.
    pub(super) fn run(&mut self, index: usize) -> Result<(), NoEffect> {
        apply(&mut self.rows, &self.ops[index].op).map_err(NoEffect::from)
    }

    /// Why an op does not even reach its machine.
    fn stopped(&self, index: usize, context: &Context<'_>) -> Option<NoEffect> {
        let entry = &self.ops[index];
        let header = &entry.op.header;
        if let Some(seq) = context.places.frozen_from(entry, context.seals) {
            return Some(NoEffect::Frozen { origin: header.origin, seq });
        }
        let same_time = |other: usize| self.ops.get(other).is_some_and(|other| other.hlc() == header.hlc);
        if same_time(index + 1) || (index > 0 && same_time(index - 1)) {
            return Some(NoEffect::SameTime(header.hlc));
        }
        match context.causes.held(&entry.hash) {
            Some(held) => Some(NoEffect::of(held, header.hlc)),
            None => self.unheard(&entry.op, context),
        }
    }

    /// In a mesh: why it cannot be said so there, why its author may not, or why somebody else said it first.
    fn unheard(&self, op: &Op, context: &Context<'_>) -> Option<NoEffect> {
        let (registers, keys) = context.mesh?;
        let entity = EntityType::of_scope(&op.header.scope);
        if let Err(wrong) = write_class::check(entity, Order::Feed, op.header.write_class) {
            return Some(wrong.into());
        }
        if let Err(unauthorised) = registers.judge(op, self.rows().and_then(Rows::node)) {
            return Some(unauthorised.into());
        }
        let Body::Task(task::Body::ScheduleJob { schedule }) = &op.body else { return None };
        let hold = keys.holder(op)?;
        let Scope::Task(by) = hold.scope else { return None };
        let same = hold.fingerprint == schedule.fingerprint;
        Some(if same { NoEffect::Superseded { by } } else { NoEffect::KeyTaken { by } })
    }
}
