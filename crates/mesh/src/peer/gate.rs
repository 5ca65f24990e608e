//! What this node lets in and gives out.

use crate::{
    capability::{Action, Deed, Resource, Shown},
    feed::{FeedId, Place},
    fold::Fold,
    mandate::kind_of,
    sync,
};
use relaymesh_core::{hash::Hash, hlc::Hlc, id::NodeId, op::Scope};
use std::collections::BTreeMap;

/// The gate of a node, as it is now.
pub(super) struct Gate<'a> {
    pub(super) fold: &'a Fold,
    pub(super) contents: &'a BTreeMap<Hash, Vec<u8>>,
    pub(super) now: Hlc,
    pub(super) max_drift_ms: u64,
}

impl sync::Gate for Gate<'_> {
    fn enrolled(&self, origin: NodeId) -> bool {
        self.fold.registers().is_some_and(|registers| registers.is_enrolled(origin))
    }

    fn sealed(&self, feed: FeedId) -> Vec<Place> {
        let seals = self.fold.registers().map_or(&[][..], |registers| registers.seals().all());
        let heads = seals.iter().filter_map(|seal| seal.head(feed.origin, feed.origin_epoch));
        heads.map(|head| Place { seq: head.seq, hash: head.hash }).collect()
    }

    fn max_drift_ms(&self) -> u64 {
        self.max_drift_ms
    }

    /// Whoever may read all work of a task may see its content (L13). A rule that would change the content is for whoever can apply it: here
    /// it is withheld.
    fn may_see(&self, peer: NodeId, content: &Hash, scope: Scope) -> bool {
        let Some(registers) = self.fold.registers() else { return false };
        let Some(rows) = self.fold.rows(scope).and_then(|rows| rows.task()) else { return false };
        let named = |step: &relaymesh_core::task::Step| {
            let input = step.spec.input.as_ref().map(|input| input.hash);
            [input, step.result.map(|result| result.hash)].contains(&Some(*content))
        };
        let is_named = rows.task.input.is_some_and(|input| input.hash == *content) || rows.steps.iter().any(named);
        let sees = |step: &relaymesh_core::task::Step| {
            let kind = kind_of(&step.spec.agent);
            let deed = Deed { kind: kind.as_ref(), ..Deed::new(Resource::Job, Action::Read, rows.task.head) };
            registers.shown(peer, &deed, self.now) == Shown::Whole
        };
        is_named && rows.steps.iter().all(sees)
    }

    fn content(&self, content: &Hash, offset: u32, len_max: usize) -> Option<Vec<u8>> {
        let bytes = self.contents.get(content)?;
        let rest = bytes.get(usize::try_from(offset).ok()?..)?;
        Some(rest[..rest.len().min(len_max)].to_vec())
    }
}
