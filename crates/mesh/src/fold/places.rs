//! Places of chains: what lies where, and where an author wrote twice (D24).
//!
//! Two different ops in one place are evidence that their author lies: nothing that it wrote from that place on takes effect. What
//! a seal covers is the exception: everybody had agreed on it before the lie came out, and it stays as it is on the branch that
//! was sealed ([`crate::register::Seals`]).

use super::entry::Entry;
use crate::register::Seals;
use relaymesh_core::{hash::Hash, id::NodeId, op::ChainHead};
use std::collections::BTreeMap;

/// What lies in each place of each chain: each op by its hash, with the hash of the one before it.
#[derive(Debug, Clone, Default)]
pub(super) struct Places {
    places: BTreeMap<(NodeId, u32, u64), BTreeMap<Hash, Hash>>,
    /// The first place with two ops.
    forks: BTreeMap<(NodeId, u32), u64>,
}

impl Places {
    pub(super) fn has(&self, entry: &Entry) -> bool {
        self.at(entry.chain(), entry.seq()).is_some_and(|place| place.contains_key(&entry.hash))
    }

    /// Whether an op with this hash lies in this place.
    pub(super) fn holds(&self, head: &ChainHead) -> bool {
        let place = self.at((head.origin, head.origin_epoch), head.seq);
        head.seq == 0 || place.is_some_and(|place| place.contains_key(&head.hash))
    }

    /// Takes in an op, and says whether its place was taken by another one.
    pub(super) fn add(&mut self, entry: &Entry) -> bool {
        let (chain, seq) = (entry.chain(), entry.seq());
        let place = self.places.entry((chain.0, chain.1, seq)).or_default();
        place.insert(entry.hash, entry.previous);
        let lied = place.len() > 1;
        if lied {
            let from = self.forks.entry(chain).or_insert(seq);
            *from = seq.min(*from);
        }
        lied
    }

    /// The first place with two ops, if this one lies there or behind it and no seal protects it.
    pub(super) fn frozen_from(&self, entry: &Entry, seals: Option<&Seals>) -> Option<u64> {
        let from = *self.forks.get(&entry.chain()).filter(|from| entry.seq() >= **from)?;
        let sealed = seals.and_then(|seals| seals.over(entry.hlc())).and_then(|seal| {
            let (origin, epoch) = entry.chain();
            seal.head(origin, epoch)
        });
        let protected = sealed.is_some_and(|head| self.descends(head, entry));
        (!protected).then_some(from)
    }

    /// Whether an op is dated up to a seal that does not cover it.
    pub(super) fn is_sealed_out(&self, entry: &Entry, seals: &Seals) -> bool {
        let Some(seal) = seals.over(entry.hlc()) else { return false };
        let (origin, epoch) = entry.chain();
        let Some(head) = seal.head(origin, epoch).filter(|head| entry.seq() <= head.seq) else { return true };
        self.is_behind_a_fork(entry) && !self.descends(head, entry)
    }

    /// Whether going back from a head one comes by this op.
    fn descends(&self, head: &ChainHead, entry: &Entry) -> bool {
        let mut hash = head.hash;
        for seq in (entry.seq()..=head.seq).rev() {
            if seq == entry.seq() {
                return hash == entry.hash;
            }
            let Some(previous) = self.at(entry.chain(), seq).and_then(|place| place.get(&hash)) else { return false };
            hash = *previous;
        }
        false
    }

    /// Whether an op lies on a chain in which somebody wrote twice, up to where that chain is sealed: then it may be what tells
    /// which branch was sealed.
    pub(super) fn tells_the_branch(&self, entry: &Entry, seals: &Seals) -> bool {
        let (origin, epoch) = entry.chain();
        let head = seals.last().and_then(|seal| seal.head(origin, epoch));
        self.forks.contains_key(&entry.chain()) && head.is_some_and(|head| entry.seq() <= head.seq)
    }

    /// Whether an op lies where its author wrote twice, or behind that.
    pub(super) fn is_behind_a_fork(&self, entry: &Entry) -> bool {
        self.forks.get(&entry.chain()).is_some_and(|from| entry.seq() >= *from)
    }

    /// Whether a seal names a chain in which somebody wrote twice, at that place or before it.
    pub(super) fn seals_a_fork(&self, seals: &Seals) -> bool {
        let named = |(origin, epoch, from): (NodeId, u32, u64)| {
            seals.last().and_then(|seal| seal.head(origin, epoch)).is_some_and(|head| head.seq >= from)
        };
        self.forks().any(named)
    }

    /// The authors that wrote twice in one place, and in which place first.
    pub(super) fn forks(&self) -> impl Iterator<Item = (NodeId, u32, u64)> {
        self.forks.iter().map(|((origin, epoch), seq)| (*origin, *epoch, *seq))
    }

    fn at(&self, chain: (NodeId, u32), seq: u64) -> Option<&BTreeMap<Hash, Hash>> {
        self.places.get(&(chain.0, chain.1, seq))
    }
}
