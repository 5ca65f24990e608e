//! The roster: who belongs to the mesh, as this node's registers have it.
//!
//! A new node has empty registers, and knows nobody but the owner. If only members were listened to, it would never hear who they are; if
//! everybody were, a liar could invent nodes. So it begins with those that it was told of: they are *guests* as long as the registers are
//! silent about them. Whoever was let in and is frozen, or has no right left, is no guest either.

use super::node::Peer;
use crate::{
    fold::Fold,
    membership::{Known, Rank, Status},
};
use rand_core::Rng;
use relaymesh_core::{hlc::Hlc, id::NodeId};
use std::collections::BTreeSet;

/// How often it is looked whose rights have run out.
const REVIEW_PERIOD_MS: u64 = 1_000;

/// Who belongs to the mesh.
#[derive(Debug)]
pub(super) struct Roster {
    members: BTreeSet<NodeId>,
    /// Those to begin with of whom nothing was said.
    guests: BTreeSet<NodeId>,
    /// Everybody of whom something was said.
    judged: BTreeSet<NodeId>,
    due_ms: u64,
}

impl Roster {
    pub(super) fn new(fold: &Fold, now: Hlc, now_ms: u64) -> Self {
        let mut roster =
            Self { members: BTreeSet::new(), guests: BTreeSet::new(), judged: BTreeSet::new(), due_ms: now_ms };
        roster.read(fold, now);
        roster
    }

    pub(super) fn rank(&self, node: NodeId) -> Rank {
        if self.members.contains(&node) {
            Rank::Member
        } else if self.guests.contains(&node) {
            Rank::Guest
        } else {
            Rank::Stranger
        }
    }

    pub(super) fn due_ms(&self) -> u64 {
        self.due_ms
    }

    /// The registers may have changed.
    pub(super) fn look_again(&mut self) {
        self.due_ms = 0;
    }

    /// This node was told of these.
    pub(super) fn begin_with(&mut self, nodes: impl IntoIterator<Item = NodeId>, max: usize) {
        for node in nodes.into_iter().filter(|node| !self.judged.contains(node)) {
            if self.guests.len() < max {
                self.guests.insert(node);
            }
        }
    }

    /// Reads the registers, and gives those that were no members before.
    fn read(&mut self, fold: &Fold, now: Hlc) -> Vec<NodeId> {
        let Some(registers) = fold.registers() else { return Vec::new() };
        let members: BTreeSet<NodeId> = registers.members(now).into_iter().map(|member| member.node).collect();
        self.judged = registers.nodes().collect();
        self.guests.retain(|node| !self.judged.contains(node) && !registers.is_frozen(*node, now));
        let new = members.difference(&self.members).copied().collect();
        self.members = members;
        new
    }
}

impl<R: Rng> Peer<R> {
    /// Forgets whoever does not belong to the mesh any more, and calls on whoever is new.
    pub(super) fn review(&mut self, now_ms: u64) {
        if self.roster.due_ms > now_ms {
            return;
        }
        self.roster.due_ms = now_ms.saturating_add(REVIEW_PERIOD_MS);
        let new = self.roster.read(&self.fold, self.clock.last());
        let older_than_ms = self.config.membership.mesh_prune_older_than_ms;
        let is_gone = |known: &&Known| match self.roster.rank(known.identity.node) {
            Rank::Member => false,
            Rank::Guest => {
                let since_ms = now_ms.saturating_sub(known.since_ms());
                known.status() == Status::Dead && since_ms >= older_than_ms
            }
            Rank::Stranger => true,
        };
        let gone: Vec<NodeId> = self.membership.members().filter(is_gone).map(|known| known.identity.node).collect();
        for node in gone {
            self.roster.guests.remove(&node);
            self.membership.forget(node);
        }
        let roster = &self.roster;
        for node in new.into_iter().filter(|node| *node != self.node) {
            self.membership.welcome(node, |node| roster.rank(node), now_ms);
        }
        self.watch_members(now_ms);
    }

    /// Checks that every bound holds; the first broken rule is the answer.
    pub fn validate(&self) -> Result<(), &'static str> {
        self.membership.validate()?;
        self.sync.validate()?;
        let known = self.sync.peers(&self.log).into_iter().all(|status| self.membership.status(status.peer).is_some());
        if known { Ok(()) } else { Err("feeds are exchanged with nobody but known members") }
    }
}
