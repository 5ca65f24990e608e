//! What this node has heard of others with its own ears: from whom, how much, when, and in which life.

use relaymesh_core::id::NodeId;
use std::collections::BTreeMap;

/// How long a quota is for.
const QUOTA_PERIOD_MS: u64 = 1_000;

#[derive(Debug, Clone, Copy)]
struct Ear {
    since_ms: u64,
    frames: u64,
    /// When it last spoke, and in which life.
    heard: Option<(u64, u64)>,
    /// When it last said that this node is dead.
    accused_ms: Option<u64>,
}

/// One ear for each node that may speak here.
#[derive(Debug, Default)]
pub(super) struct Ears {
    nodes: BTreeMap<NodeId, Ear>,
}

impl Ears {
    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(super) fn forget(&mut self, node: NodeId) {
        self.nodes.remove(&node);
    }

    /// Whether one more frame of a node is read in this second.
    pub(super) fn read(&mut self, node: NodeId, frames_max: u64, now_ms: u64) -> bool {
        let fresh = Ear { since_ms: now_ms, frames: 0, heard: None, accused_ms: None };
        let ear = self.nodes.entry(node).or_insert(fresh);
        if now_ms.saturating_sub(ear.since_ms) >= QUOTA_PERIOD_MS {
            (ear.since_ms, ear.frames) = (now_ms, 0);
        }
        ear.frames += 1;
        ear.frames <= frames_max
    }

    /// A node speaks in one of its lives. False if a later one has spoken within this time: then this was long on its way. After that it
    /// is a node that does not know any more how often it had to come back.
    pub(super) fn hear(&mut self, node: NodeId, life: u64, within_ms: u64, now_ms: u64) -> bool {
        let Some(ear) = self.nodes.get_mut(&node) else { return false };
        let is_recent = |heard_ms: u64| now_ms.saturating_sub(heard_ms) < within_ms;
        if ear.heard.is_some_and(|(heard_ms, known)| known > life && is_recent(heard_ms)) {
            return false;
        }
        ear.heard = Some((now_ms, life));
        true
    }

    /// The life in which a node spoke within this time, if it did.
    pub(super) fn life_within(&self, node: NodeId, within_ms: u64, now_ms: u64) -> Option<u64> {
        let (heard_ms, life) = self.nodes.get(&node)?.heard?;
        (now_ms.saturating_sub(heard_ms) < within_ms).then_some(life)
    }

    /// A node says that this one is dead. How many have said so within this time?
    pub(super) fn accuse(&mut self, by: NodeId, within_ms: u64, now_ms: u64) -> usize {
        if let Some(ear) = self.nodes.get_mut(&by) {
            ear.accused_ms = Some(now_ms);
        }
        let recent = |ear: &&Ear| ear.accused_ms.is_some_and(|at_ms| now_ms.saturating_sub(at_ms) < within_ms);
        self.nodes.values().filter(recent).count()
    }
}
