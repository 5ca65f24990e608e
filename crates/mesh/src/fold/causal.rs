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
//! do. A liar can use that: an op whose citation was a cycle has to wait after all when an older op of the same name turns up.
//! So whoever cites is looked at again whenever something happens to what it cites, whether it waits or not.
//!
//! Words of registers never wait: one that cites something is refused by its machine, whatever is in the set. Others are judged by them, seals
//! take others away, and what is taken away is waited for by nobody: a word that waited would be judged by what it judges.

use relaymesh_core::{
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
    /// The ops that cite others, with what they cite.
    cited: BTreeMap<Hash, (Spot, Cited)>,
    /// Which of those cite which id.
    citing: BTreeMap<OpId, BTreeSet<Hash>>,
    /// The ops that their citations hold up.
    held: BTreeMap<Hash, Held>,
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
        self.held.get(hash).copied()
    }

    /// What would hold up an op with this header if it were in the set.
    pub(super) fn would_be_held(&self, header: &Header) -> Option<Held> {
        self.judge(&cited(header)?)
    }

    /// Whether an op with this header would have to wait if it were in the set.
    pub(super) fn would_wait(&self, header: &Header) -> bool {
        matches!(self.would_be_held(header), Some(Held::Waiting(_)))
    }

    /// Takes in an op, and gives the scopes of others for which that made a difference.
    pub(super) fn add(&mut self, header: &Header, spot: Spot) -> BTreeSet<Scope> {
        self.named.entry(header.op_id).or_default().push(spot);
        if let Some(cited) = cited(header) {
            for dep in cited.deps.iter().take(CAUSAL_DEPS_MAX) {
                self.citing.entry(*dep).or_default().insert(spot.hash);
            }
            let held = self.judge(&cited);
            self.cited.insert(spot.hash, (spot, cited));
            self.hold(spot.hash, held);
        }
        let mut changed = BTreeSet::new();
        let mut happened = vec![header.op_id];
        while let Some(id) = happened.pop() {
            let citing: Vec<Hash> = self.citing.get(&id).into_iter().flatten().copied().collect();
            for hash in citing {
                let Some((spot, cited)) = self.cited.get(&hash) else { continue };
                let (before, now) = (self.held(&hash), self.judge(cited));
                if now == before {
                    continue;
                }
                changed.insert(spot.scope);
                if is_waiting(now) != is_waiting(before) {
                    happened.push(cited.op_id);
                }
                self.hold(hash, now);
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
            let mut older = known.iter().filter(|spot| spot.hlc < op.hlc);
            match known.iter().map(|spot| spot.hlc).min() {
                Some(oldest) if oldest >= op.hlc => Some(Held::Cycle(*dep, oldest)),
                _ if older.any(|spot| !is_waiting(self.held(&spot.hash))) => None,
                _ => Some(Held::Waiting(*dep)),
            }
        })
    }

    fn hold(&mut self, hash: Hash, held: Option<Held>) {
        let before = match held {
            Some(held) => self.held.insert(hash, held),
            None => self.held.remove(&hash),
        };
        self.waiting = self.waiting + usize::from(is_waiting(held)) - usize::from(is_waiting(before));
    }
}

fn is_waiting(held: Option<Held>) -> bool {
    matches!(held, Some(Held::Waiting(_)))
}

/// What an op has to wait for, if it is one that waits.
fn cited(header: &Header) -> Option<Cited> {
    let waits = !header.causal_deps.is_empty() && !matches!(header.scope, Scope::Register(_));
    waits.then(|| Cited { op_id: header.op_id, hlc: header.hlc, deps: header.causal_deps.clone() })
}
