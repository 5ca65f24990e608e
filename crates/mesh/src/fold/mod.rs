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
//!
//! A fold **of a mesh** ([`Fold::of_mesh`]) asks besides, as of each op's own time, what the registers say:
//! - whether its author may say so ([`crate::mandate`]); the registers are folded first, all of them in one order;
//! - of two tasks with one key the earlier stays (`keys.rs`, D30);
//! - what is dated up to a seal and not covered by it is as if it had never been written (`mesh.rs`, D29).
//!
//! A late word of a register may concern every scope with newer ops. Those are marked and folded again in batches:
//! [`Fold::settle`] does some, [`Fold::lag`] says how many are left. When none is, the rows are those of a full fold.

mod causal;
mod entry;
mod keys;
mod mesh;
mod notes;
mod places;
mod roster;
mod scope;
mod standing;

pub use roster::Job;
pub use standing::{News, ResultOf, Standing};

use crate::mandate::{Registers, Unauthorised};
use crate::rows::{Refusal, Rows, state_hash};
use causal::{Causes, Held};
use entry::Entry;
use mesh::Mesh;
use places::Places;
use relaymesh_bus::{sign::PublicKey, write_class};
use relaymesh_core::{
    hash::Hash,
    hlc::Hlc,
    id::{NodeId, OpId, TaskId},
    op::{CAUSAL_DEPS_MAX, Op, Scope},
    row::{RowSum, StateHash},
};
use scope::{Context, ScopeFold};
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
    /// It names another class than such a write has where every node writes its own feed (D34).
    #[error(transparent)]
    WrongClass(#[from] write_class::Refusal),
    /// Its author may not say so.
    #[error(transparent)]
    Unauthorised(#[from] Unauthorised),
    /// It is dated up to a seal that does not cover it: nobody who agreed knew of it.
    #[error("sealed_out: everything up to {upto} was agreed on, and this was not known to anybody then")]
    SealedOut {
        /// Up to when the seal reaches.
        upto: Hlc,
    },
    /// The same request was submitted before, elsewhere (D30).
    #[error("superseded: the same request is {by}")]
    Superseded {
        /// The task that stays.
        by: TaskId,
    },
    /// Another request was submitted before with the same key.
    #[error("the key is that of another request, {by}")]
    KeyTaken {
        /// The task that has it.
        by: TaskId,
    },
    /// It cites more than anybody may.
    #[error("it cites {found} ops, {CAUSAL_DEPS_MAX} are allowed")]
    TooManyDependencies {
        /// How many.
        found: usize,
    },
}

impl NoEffect {
    fn of(held: Held, own: Hlc) -> Self {
        match held {
            Held::Waiting(missing) => Self::Waiting { missing },
            Held::Cycle(dependency, dated) => Self::CausalCycle { dependency, dated, own },
            Held::TooMany(found) => Self::TooManyDependencies { found },
        }
    }
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
    /// In the set, and without effect for ever: it came after a seal over its time.
    SealedOut,
}

/// A set of ops and the rows that they fold to.
#[derive(Debug, Clone)]
pub struct Fold {
    scopes: BTreeMap<Scope, ScopeFold>,
    places: Places,
    causes: Causes,
    waiting_max: usize,
    /// The hash of all rows, but for scopes that changed since.
    summed: StateHash,
    unsummed: BTreeSet<Scope>,
    /// What a mesh needs besides; on one machine everybody may say everything.
    mesh: Option<Box<Mesh>>,
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
            places: Places::default(),
            causes: Causes::default(),
            waiting_max,
            summed: StateHash::default(),
            unsummed: BTreeSet::new(),
            mesh: None,
        }
    }

    /// An empty set of the mesh whose owner has this key.
    pub fn of_mesh(root: PublicKey) -> Self {
        Self { mesh: Some(Box::new(Mesh::new(root))), ..Self::default() }
    }

    /// The rows that these ops fold to, from nothing. All of them are taken in: they were let in once.
    pub fn of(ops: impl IntoIterator<Item = Op>) -> Self {
        let mut fold = Self::default();
        fold.rebuild(ops.into_iter().map(Entry::new).collect());
        fold
    }

    /// The same fold, from nothing: what it would be had all ops come at once.
    #[must_use]
    pub fn again(&self) -> Self {
        let mut fold = Self::with_waiting_max(self.waiting_max);
        fold.mesh = self.mesh.as_ref().map(|mesh| Box::new(Mesh::new(mesh.registers.root())));
        fold.rebuild(self.entries().cloned().collect());
        fold
    }

    /// Takes in one more op and brings the rows up to date.
    pub fn insert(&mut self, op: Op) -> Arrival {
        self.arrive(Entry::new(op))
    }

    /// The same for an op whose chain was verified: with the hash of the op before it, and its own.
    pub fn insert_linked(&mut self, op: Op, previous: Hash, hash: Hash) -> Arrival {
        self.arrive(Entry { op, hash, previous })
    }

    /// What would come of an op of this node's own that is newer than everything here. Nothing is taken in: that is how a local command
    /// is tried before anything is written.
    pub fn attempt(&mut self, op: &Op) -> Result<(), NoEffect> {
        if let Some(mesh) = &mut self.mesh {
            mesh.registers.prepare(op);
        }
        if self.is_dirty(op.header.scope) {
            // Whoever asks is told what comes of it, not what would have come of it before something that is here already.
            self.refold(op.header.scope);
        }
        let entry = Entry { op: op.clone(), hash: Hash::default(), previous: Hash::default() };
        let nothing = ScopeFold::default();
        let scope = self.scopes.get(&op.header.scope).unwrap_or(&nothing);
        let mesh = self.mesh.as_deref().map(|mesh| (&mesh.registers, &mesh.keys));
        let seals = mesh.map(|(registers, _)| registers.seals());
        scope.attempt(&entry, &Context { places: &self.places, causes: &self.causes, mesh, seals })
    }

    fn arrive(&mut self, entry: Entry) -> Arrival {
        if self.places.has(&entry) {
            return Arrival::Duplicate;
        }
        let header = &entry.op.header;
        let waits = self.causes.would_wait(header);
        if self.mesh.is_some() {
            // What is in a mesh's log is in its fold: whoever could fill the room would decide what others see.
            return self.arrive_in_mesh(entry, waits);
        }
        if waits && self.causes.waiting() >= self.waiting_max {
            return Arrival::DeferralFull;
        }
        let (scope, author) = (header.scope, entry.chain());
        let Placed { lied, newest, mut changed } = self.place(entry);
        if lied {
            changed.extend(self.scopes_of(author));
        }
        let again = !newest || changed.contains(&scope);
        if again {
            changed.insert(scope);
        } else {
            self.fold_one(scope, ScopeFold::apply_last);
        }
        changed.into_iter().for_each(|scope| self.fold_one(scope, ScopeFold::refold));
        arrival(lied, waits, newest)
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
        let sealed_out = || self.mesh.as_ref().and_then(|mesh| mesh.sealed_out_reason(scope, op));
        self.scopes.get(&scope).and_then(|scope| scope.outcomes.get(&op)).or_else(sealed_out)
    }

    /// How many ops wait for others. More than the room when two ops share an id: what was let in because it did not wait may have to later.
    pub fn waiting(&self) -> usize {
        self.causes.waiting()
    }

    /// How many ops are in the set.
    pub fn len(&self) -> usize {
        self.entries().count()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The authors that wrote two ops in one place of a chain, and in which place first (D24).
    pub fn forks(&self) -> impl Iterator<Item = (NodeId, u32, u64)> {
        self.places.forks()
    }

    /// The hash of all rows. Only what changed since [`sum_up`](Self::sum_up) is hashed.
    pub fn state_hash(&self) -> StateHash {
        let mut all = self.summed;
        for fold in self.unsummed.iter().filter_map(|scope| self.scopes.get(scope)) {
            all.change(RowSum(fold.summed.0), RowSum(fold.rows().map_or(0, |rows| state_hash(rows).0)));
        }
        all
    }

    /// Brings the hash of all rows up to date, so that the next one costs what changes until then.
    pub fn sum_up(&mut self) -> StateHash {
        for scope in std::mem::take(&mut self.unsummed) {
            let Some(fold) = self.scopes.get_mut(&scope) else { continue };
            let now = fold.rows().map(state_hash).unwrap_or_default();
            self.summed.change(RowSum(fold.summed.0), RowSum(now.0));
            fold.summed = now;
        }
        self.summed
    }

    /// The registers, in a mesh.
    pub fn registers(&self) -> Option<&Registers> {
        self.mesh.as_ref().map(|mesh| &mesh.registers)
    }

    fn entries(&self) -> impl Iterator<Item = &Entry> {
        let sealed_out = self.mesh.iter().flat_map(|mesh| mesh.sealed_out());
        self.scopes.values().flat_map(ScopeFold::ops).chain(sealed_out)
    }

    /// Puts the op in its scope's order, its author's chain and the web of citations, and touches no rows.
    fn place(&mut self, entry: Entry) -> Placed {
        let lied = self.places.add(&entry);
        let changed = self.causes.add(&entry.op.header, entry.spot());
        let newest = self.scopes.entry(entry.scope()).or_default().place(entry);
        Placed { lied, newest, changed }
    }

    fn scopes_of(&self, author: (NodeId, u32)) -> Vec<Scope> {
        let of_author = self.scopes.iter().filter(|(_, scope)| scope.has_ops_of(author));
        of_author.map(|(scope, _)| *scope).collect()
    }

    /// Brings the rows of one scope up to date.
    fn fold_one(&mut self, scope: Scope, how: fn(&mut ScopeFold, &Context<'_>)) {
        let mesh = self.mesh.as_deref().map(|mesh| (&mesh.registers, &mesh.keys));
        let seals = mesh.map(|(registers, _)| registers.seals());
        let context = Context { places: &self.places, causes: &self.causes, mesh, seals };
        if let Some(fold) = self.scopes.get_mut(&scope) {
            how(fold, &context);
            self.unsummed.insert(scope);
        }
    }
}

/// What the arrival of an op that is in the set now meant.
fn arrival(lied: bool, waits: bool, newest: bool) -> Arrival {
    match () {
        () if lied => Arrival::Equivocation,
        () if waits => Arrival::Deferred,
        () if newest => Arrival::Newest,
        () => Arrival::Late,
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
