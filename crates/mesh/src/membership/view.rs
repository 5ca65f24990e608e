//! What this node shows of the others.

use super::{
    dwell::{Dwell, Status, Step, Windows},
    identity::Identity,
};
use relaymesh_core::id::NodeId;
use std::collections::BTreeMap;

/// Another node, as this one sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Known {
    /// The newest life that was heard of.
    pub identity: Identity,
    dwell: Dwell,
}

impl Known {
    /// How it is.
    pub const fn status(&self) -> Status {
        self.dwell.status()
    }

    /// Since when.
    pub const fn since_ms(&self) -> u64 {
        self.dwell.since_ms()
    }
}

/// Every other node that was ever heard of and not pruned.
#[derive(Debug, Default)]
pub(super) struct View {
    nodes: BTreeMap<NodeId, Known>,
}

impl View {
    pub(super) fn known(&self, node: NodeId) -> Option<&Known> {
        self.nodes.get(&node)
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Known> {
        self.nodes.values()
    }

    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// The first node after `node`, around the ring of all.
    pub(super) fn after(&self, node: NodeId) -> Option<NodeId> {
        use std::ops::Bound::{Excluded, Unbounded};
        let next = self.nodes.range((Excluded(node), Unbounded)).next().or_else(|| self.nodes.iter().next());
        next.map(|(node, _)| *node)
    }

    /// Takes in what SWIM says of a node. One that was never alive here is not shown when it is dead.
    pub(super) fn hear(&mut self, identity: Identity, word: Status, now_ms: u64, windows: Windows) -> Step {
        match self.nodes.get_mut(&identity.node) {
            Some(known) => {
                known.identity = known.identity.max(identity);
                known.dwell.hear(word, now_ms, windows)
            }
            None if word == Status::Dead => Step::Same,
            None => {
                let known = Known { identity, dwell: Dwell::new(word, now_ms) };
                self.nodes.insert(identity.node, known);
                Step::Same
            }
        }
    }

    /// A node lives this life, and no later one.
    pub(super) fn correct(&mut self, identity: Identity) {
        if let Some(known) = self.nodes.get_mut(&identity.node) {
            known.identity = identity;
        }
    }

    pub(super) fn remove(&mut self, node: NodeId) -> bool {
        self.nodes.remove(&node).is_some()
    }

    /// Forgets nodes that have been DEAD for so long, the longest first, and says which.
    pub(super) fn prune(&mut self, now_ms: u64, older_than_ms: u64, limit: usize) -> Vec<NodeId> {
        let old =
            |known: &&Known| known.status() == Status::Dead && now_ms.saturating_sub(known.since_ms()) >= older_than_ms;
        let mut dead: Vec<_> = self.all().filter(old).map(|known| (known.since_ms(), known.identity.node)).collect();
        dead.sort_unstable();
        dead.truncate(limit);
        self.nodes.retain(|node, _| !dead.iter().any(|(_, gone)| gone == node));
        dead.into_iter().map(|(_, node)| node).collect()
    }
}
