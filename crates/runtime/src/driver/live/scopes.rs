//! The live rows of scopes other than tasks.
//!
//! They are few and seldom touched compared with tasks, so nothing of them stays in memory once it is durable.

use super::Touched;
use relaymesh_core::{
    kernel::{self, Effect, Refusal, Rows},
    op::{Op, Scope},
};
use relaymesh_store::{Batch, Error, Reader, SavedScope, ScopePut};
use std::collections::{BTreeMap, btree_map::Entry as Slot};

/// Live rows by scope.
#[derive(Debug, Default)]
pub(super) struct Scopes {
    entries: BTreeMap<Scope, Entry>,
}

/// The rows of one scope, newer than the store's as long as a batch with them is on its way.
#[derive(Debug, Default)]
struct Entry {
    rows: Option<Rows>,
    saved: SavedScope,
    /// The newest batch that has rows of it.
    batch: u64,
    /// Whether it has changed since its rows were last put.
    dirty: bool,
}

impl Scopes {
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn load<R: Reader>(&mut self, scope: Scope, reader: &mut R) -> Result<Option<&Rows>, Error> {
        let entry = match self.entries.entry(scope) {
            Slot::Occupied(live) => live.into_mut(),
            Slot::Vacant(vacant) => {
                let rows = reader.scope(scope)?;
                let saved = rows.as_ref().map(SavedScope::of).unwrap_or_default();
                vacant.insert(Entry { rows, saved, batch: 0, dirty: false })
            }
        };
        Ok(entry.rows.as_ref())
    }

    /// Applies an op to the scope, which is loaded. A refusal has changed neither rows nor effects.
    pub(super) fn apply(
        &mut self,
        op: &Op,
        effects: &mut Vec<Effect>,
        touched: &mut Touched<Scope>,
        batch: &mut Batch,
    ) -> Result<(), Refusal> {
        let scope = op.header.scope;
        let entry = self.entries.entry(scope).or_default();
        kernel::apply(&mut entry.rows, op, effects)?;
        // On this node's own log a purged scope is as if it had never been, and its name may be used again. Its rows go
        // out of the store before those of another life with the same name come in.
        if entry.rows.take_if(|rows| matches!(rows, Rows::Purged(_))).is_some() {
            entry.saved.put(scope, None, batch);
        }
        if !entry.dirty {
            entry.dirty = true;
            touched.all.push(scope);
        }
        Ok(())
    }

    /// Puts the rows that have changed into batch `number`. Gives back when the first of them falls due.
    pub(super) fn put(&mut self, touched: &mut Touched<Scope>, batch: &mut Batch, number: u64) -> Option<u64> {
        let put = batch.scopes.len();
        for scope in touched.take_new() {
            let Some(entry) = self.entries.get_mut(scope) else { continue };
            entry.dirty = false;
            entry.batch = number;
            entry.saved.put(*scope, entry.rows.as_ref(), batch);
        }
        batch.scopes[put..].iter().filter_map(ScopePut::due_ms).min()
    }

    /// Batches up to `number` are durable: lets go of what no later one has.
    pub(super) fn settle(&mut self, number: u64) {
        self.entries.retain(|_, entry| entry.dirty || entry.batch > number);
    }

    pub(super) fn clear(&mut self) {
        self.entries.clear();
    }
}
