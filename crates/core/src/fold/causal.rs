//! Causal dependencies: an op takes effect only after every op that it cites (L7).
//!
//! An op names the ops that must come before it. Until all of them are in the set, it waits: it is in the set, and has no
//! effect yet. When the last one arrives, its scope is folded again. Whether an op waits is a function of the set:
//!
//! > An op is **settled** when each op that it cites is in the set, is older than itself, and is settled.
//!
//! Time grows along citations, so this has one answer and a cycle can have none: an op that cites itself, or one that is
//! not older, is refused for good and counts as settled. That an op had no effect for another reason makes no difference
//! to those that cite it: it is there, and it was folded.
//!
//! An id is only its author's word, so two ops may have the same one. Then any of them that is older and settled will
//! do; with more ops in the set an op that was settled stays settled.
//!
//! What is unsettled watches the first of its citations, in the order in which it names them, that holds it up, and is
//! looked at again when something happens there. So the index has one entry for each op that waits, however much it
//! cites.

use crate::{
    hash::Hash,
    hlc::Hlc,
    id::OpId,
    op::{CAUSAL_DEPS_MAX, Header, Scope},
};
use std::collections::{BTreeMap, BTreeSet};

/// Where an op lies in the set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Spot {
    pub(super) scope: Scope,
    pub(super) hlc: Hlc,
    pub(super) hash: Hash,
}

/// Why an op's citations keep it from taking effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Held {
    /// This one is missing, or waits itself.
    Waiting(OpId),
    /// This one is not older; the oldest with that id is dated so.
    Cycle(OpId, Hlc),
    /// There are too many.
    TooMany(usize),
}

/// The citations of all ops of a set.
#[derive(Debug, Clone, Default)]
pub(super) struct Causes {
    /// All ops, by the id that others cite.
    named: BTreeMap<OpId, Vec<Spot>>,
    /// The ops that their citations hold up, with what they cite.
    held: BTreeMap<Hash, (Cited, Held)>,
    /// Which of those look at which id.
    watchers: BTreeMap<OpId, BTreeSet<Spot>>,
    waiting: usize,
}

/// What is known of an op's citations.
#[derive(Debug, Clone)]
struct Cited {
    op_id: OpId,
    hlc: Hlc,
    deps: Vec<OpId>,
}

impl Causes {
    /// How many ops wait.
    pub(super) fn waiting(&self) -> usize {
        self.waiting
    }

    /// Why the op with this hash has no effect, if its citations are why.
    pub(super) fn held(&self, hash: &Hash) -> Option<Held> {
        self.held.get(hash).map(|(_, held)| *held)
    }

    /// Whether an op with this header would have to wait if it were in the set.
    pub(super) fn would_wait(&self, header: &Header) -> bool {
        matches!(self.judge(&cited(header)), Some(Held::Waiting(_)))
    }

    /// Takes in an op, and gives the scopes of others for which that made a difference.
    pub(super) fn add(&mut self, header: &Header, spot: Spot) -> BTreeSet<Scope> {
        self.named.entry(header.op_id).or_default().push(spot);
        let cited = cited(header);
        if let Some(held) = self.judge(&cited) {
            self.hold(spot, cited, held);
        }
        let mut changed = BTreeSet::new();
        let mut happened = vec![header.op_id];
        while let Some(id) = happened.pop() {
            let watchers: Vec<Spot> = self.watchers.get(&id).into_iter().flatten().copied().collect();
            for spot in watchers {
                let Some((cited, before)) = self.held.get(&spot.hash).cloned() else { continue };
                let now = self.judge(&cited);
                if now == Some(before) {
                    continue;
                }
                self.release(spot, before);
                changed.insert(spot.scope);
                let own = cited.op_id;
                if let Some(held) = now {
                    self.hold(spot, cited, held);
                }
                if !matches!(now, Some(Held::Waiting(_))) {
                    happened.push(own);
                }
            }
        }
        changed
    }

    /// What holds up an op that cites this. The op itself need not be in the set.
    fn judge(&self, op: &Cited) -> Option<Held> {
        if op.deps.len() > CAUSAL_DEPS_MAX {
            return Some(Held::TooMany(op.deps.len()));
        }
        if op.deps.contains(&op.op_id) {
            return Some(Held::Cycle(op.op_id, op.hlc));
        }
        op.deps.iter().find_map(|dep| {
            let Some(known) = self.named.get(dep) else { return Some(Held::Waiting(*dep)) };
            let settled = |spot: &&Spot| !matches!(self.held(&spot.hash), Some(Held::Waiting(_)));
            let older = || known.iter().filter(|spot| spot.hlc < op.hlc);
            match known.iter().map(|spot| spot.hlc).min() {
                Some(oldest) if oldest >= op.hlc => Some(Held::Cycle(*dep, oldest)),
                _ if older().any(|spot| settled(&spot)) => None,
                _ => Some(Held::Waiting(*dep)),
            }
        })
    }

    fn hold(&mut self, spot: Spot, cited: Cited, held: Held) {
        if let Held::Waiting(dep) | Held::Cycle(dep, _) = held {
            self.watchers.entry(dep).or_default().insert(spot);
        }
        self.waiting += usize::from(matches!(held, Held::Waiting(_)));
        self.held.insert(spot.hash, (cited, held));
    }

    fn release(&mut self, spot: Spot, held: Held) {
        if let Held::Waiting(dep) | Held::Cycle(dep, _) = held
            && let Some(watchers) = self.watchers.get_mut(&dep)
        {
            watchers.remove(&spot);
            if watchers.is_empty() {
                self.watchers.remove(&dep);
            }
        }
        self.waiting -= usize::from(matches!(held, Held::Waiting(_)));
        self.held.remove(&spot.hash);
    }
}

fn cited(header: &Header) -> Cited {
    Cited { op_id: header.op_id, hlc: header.hlc, deps: header.causal_deps.clone() }
}
