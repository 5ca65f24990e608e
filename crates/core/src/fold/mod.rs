//! The fold: ops in, rows out, whatever the order in which the ops arrived (L12, D18).
//!
//! Ops of one scope are folded in HLC order. The tempting wrong answer is to apply what arrives when it arrives: then
//! two nodes that hear of two claims in a different order disagree for ever. Here an op that is newer than all others
//! of its scope is applied to the rows at once; a late one re-folds its scope from the start. The rows are always what
//! a full fold of the same set of ops would give.
//!
//! Whatever is validly authored stays in the set, whether it took effect or not. Three things disturb the set itself:
//! - two ops with one HLC are both refused (L4);
//! - two different ops in one place of a chain are evidence that their author lies: both stay, and nothing that it
//!   wrote from that place on takes effect (D24);
//! - an op that cites others waits until they are there (L7, `causal.rs`). So many may wait and no more: one beyond that
//!   is not taken in, and its sender, who is told so, keeps it. What arrives after all that it cites never waits, so
//!   whoever fills the room keeps out latecomers only.

mod causal;
mod scope;

use crate::{
    hash::Hash,
    hlc::Hlc,
    id::{NodeId, OpId},
    kernel::{Refusal, Rows},
    op::{CAUSAL_DEPS_MAX, Op, Scope},
    row::StateHash,
};
use causal::Causes;
use scope::{Entry, Frozen, ScopeFold};
use std::collections::{BTreeMap, BTreeSet};

/// How many ops may wait for others, unless the node is configured otherwise.
pub const WAITING_MAX: usize = 10_000;

/// Why an op that is in the set has no effect.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoEffect {
    /// The kernel refused it.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// Another op has the same HLC.
    #[error("integrity failure: another op has the same time {0}")]
    SameTime(Hlc),
    /// Its author wrote two different ops in one place of its chain, at this one or before it.
    #[error("integrity failure: {origin} wrote two ops with sequence {seq}")]
    Frozen {
        /// The author's node.
        origin: NodeId,
        /// The first place with two ops.
        seq: u64,
    },
    /// It cites an op that is not there, or that waits itself. It takes effect when that one does not any more.
    #[error("it waits for {missing}")]
    Waiting {
        /// The first one of those that it cites.
        missing: OpId,
    },
    /// It cites an op that is not older than itself: time grows along citations, so it can never take effect.
    #[error("it is dated {own} and cites {dependency}, which is dated {dated} and so is not older")]
    CausalCycle {
        /// What it cites.
        dependency: OpId,
        /// When that was.
        dated: Hlc,
        /// When it was itself.
        own: Hlc,
    },
    /// It cites more than anybody may.
    #[error("it cites {found} ops, {CAUSAL_DEPS_MAX} are allowed")]
    TooManyDependencies {
        /// How many.
        found: usize,
    },
}

/// What the arrival of an op meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrival {
    /// Newer than all others of its scope: applied to the rows.
    Newest,
    /// Older than another one of its scope: the scope was folded again.
    Late,
    /// In the set, and without effect until what it cites is there.
    Deferred,
    /// It would have to wait, and as many wait as may. It was **not** taken in: keep it, and offer it again.
    DeferralFull,
    /// It was there already.
    Duplicate,
    /// Its place in its chain is taken by another op: its author is frozen from there on.
    Equivocation,
}

/// A set of ops and the rows that they fold to.
#[derive(Debug, Clone)]
pub struct Fold {
    scopes: BTreeMap<Scope, ScopeFold>,
    /// What lies in each place of each chain, by hash of all that it says: an op id alone is the author's word.
    places: BTreeMap<(NodeId, u32, u64), BTreeSet<Hash>>,
    frozen: Frozen,
    causes: Causes,
    waiting_max: usize,
}

impl Default for Fold {
    fn default() -> Self {
        Self::with_waiting_max(WAITING_MAX)
    }
}

impl Fold {
    /// An empty set in which so many ops may wait for others.
    pub fn with_waiting_max(waiting_max: usize) -> Self {
        Self {
            scopes: BTreeMap::new(),
            places: BTreeMap::new(),
            frozen: Frozen::new(),
            causes: Causes::default(),
            waiting_max,
        }
    }

    /// The rows that these ops fold to, from nothing. All of them are taken in: they were let in once.
    pub fn of(ops: impl IntoIterator<Item = Op>) -> Self {
        let mut fold = Self::default();
        for op in ops {
            let entry = Entry::new(op);
            if !fold.has(&entry) {
                fold.place(entry);
            }
        }
        fold.refold(fold.scopes.keys().copied().collect());
        fold
    }

    /// Takes in one more op and brings the rows up to date.
    pub fn insert(&mut self, op: Op) -> Arrival {
        let entry = Entry::new(op);
        if self.has(&entry) {
            return Arrival::Duplicate;
        }
        let header = &entry.op.header;
        let waits = self.causes.would_wait(header);
        if waits && self.causes.waiting() >= self.waiting_max {
            return Arrival::DeferralFull;
        }
        let (scope, author) = (header.scope, (header.origin, header.origin_epoch));
        let Placed { lied, newest, mut changed } = self.place(entry);
        if lied {
            let of_author = self.scopes.iter().filter(|(_, scope)| scope.has_ops_of(author));
            changed.extend(of_author.map(|(scope, _)| *scope));
        }
        let again = !newest || changed.contains(&scope);
        if again {
            changed.insert(scope);
        } else if let Some(scope) = self.scopes.get_mut(&scope) {
            scope.apply_last(&self.frozen, &self.causes);
        }
        self.refold(changed);
        match () {
            () if lied => Arrival::Equivocation,
            () if waits => Arrival::Deferred,
            () if newest => Arrival::Newest,
            () => Arrival::Late,
        }
    }

    /// The rows of a scope. One that was purged has none.
    pub fn rows(&self, scope: Scope) -> Option<&Rows> {
        self.scopes.get(&scope)?.rows()
    }

    /// All rows, by scope.
    pub fn all_rows(&self) -> impl Iterator<Item = &Rows> {
        self.scopes.values().filter_map(ScopeFold::rows)
    }

    /// When a scope was purged, if it was.
    pub fn purged(&self, scope: Scope) -> Option<Hlc> {
        self.scopes.get(&scope)?.purged()
    }

    /// Why an op has no effect, if it has none.
    pub fn no_effect(&self, scope: Scope, op: OpId) -> Option<&NoEffect> {
        self.scopes.get(&scope)?.outcomes.get(&op)
    }

    /// How many ops wait for others.
    pub fn waiting(&self) -> usize {
        self.causes.waiting()
    }

    /// The hash of all rows.
    pub fn state_hash(&self) -> StateHash {
        let add = |sum: u128, rows: &Rows| sum.wrapping_add(StateHash::of_rows(rows).0);
        StateHash(self.all_rows().fold(0, add))
    }

    fn has(&self, entry: &Entry) -> bool {
        let header = &entry.op.header;
        let place = self.places.get(&(header.origin, header.origin_epoch, header.seq));
        place.is_some_and(|place| place.contains(&entry.hash))
    }

    /// Puts the op in its scope's order, its author's chain and the web of citations, and touches no rows.
    fn place(&mut self, entry: Entry) -> Placed {
        let header = &entry.op.header;
        let place = self.places.entry((header.origin, header.origin_epoch, header.seq)).or_default();
        place.insert(entry.hash);
        let lied = place.len() > 1;
        if lied {
            let from = self.frozen.entry((header.origin, header.origin_epoch)).or_insert(header.seq);
            *from = header.seq.min(*from);
        }
        let changed = self.causes.add(header, entry.spot());
        let newest = self.scopes.entry(header.scope).or_default().place(entry);
        Placed { lied, newest, changed }
    }

    fn refold(&mut self, scopes: BTreeSet<Scope>) {
        for scope in scopes {
            if let Some(scope) = self.scopes.get_mut(&scope) {
                scope.refold(&self.frozen, &self.causes);
            }
        }
    }
}

/// What putting an op in its place meant.
struct Placed {
    /// Its place in its chain was taken.
    lied: bool,
    /// It is newer than all others of its scope.
    newest: bool,
    /// Scopes with ops that wait no longer, or for something else.
    changed: BTreeSet<Scope>,
}
