//! The fold of a mesh: registers first, seals before everything else, and whatever a late word concerns marked and folded again.
//!
//! **Registers** are folded together, in one order over all of them: who may say something depends on who was let in and who was
//! taken back, and those are words of registers themselves. Time decides: a word is judged by the words before it.
//!
//! **Seals** reach back: a seal takes away the effect of ops that are older than itself, words of registers among them. So that this
//! has one answer, seals are decided in the order of their times, each with only the seals before it in force, and a decision
//! stands. When a seal takes something away, everything is folded from nothing, with it decided; that is rare, because a
//! coordinator seals what everybody has. What is sealed out is as if it had never been written: nobody waits for it, nobody is
//! held up by it. The owner's own words in registers are never sealed out, so that a coordinator cannot lock the owner out.

use super::{
    Arrival, Fold, NoEffect, Placed, arrival,
    causal::Causes,
    entry::Entry,
    keys::Keys,
    scope::{Context, ScopeFold},
    standing::News,
};
use crate::{
    feed::Linked,
    mandate::Registers,
    register::{Register, Seals},
};
use relaymesh_bus::sign::PublicKey;
use relaymesh_core::{
    hash::Hash,
    hlc::Hlc,
    id::{NodeId, OpId},
    op::{Body, Scope},
    register,
    row::StateHash,
    task,
};
use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    ops::Bound,
};

/// How much news is kept for whoever asks; the oldest goes first.
const NEWS_MAX: usize = 1_024;

/// What is sealed out of a scope, in order.
type Out = BTreeMap<(Hlc, Hash), (Entry, NoEffect)>;

/// What the fold of a mesh has besides.
#[derive(Debug, Clone)]
pub(super) struct Mesh {
    pub(super) registers: Registers,
    pub(super) keys: Keys,
    /// Scopes that have to be folded again.
    pub(super) dirty: BTreeSet<Scope>,
    /// Every scope by its newest op.
    newest: BTreeSet<(Hlc, Scope)>,
    /// The newest op of every node.
    heard: BTreeMap<NodeId, Hlc>,
    /// The newest word of any register.
    newest_word: Option<Hlc>,
    /// Every op by its time.
    times: BTreeMap<(Hlc, Hash), Scope>,
    /// Ops that a seal does not cover, by scope, with why.
    sealed_out: BTreeMap<Scope, Out>,
    pub(super) news: VecDeque<News>,
    /// Up to when nobody who belongs to the mesh will say anything more; none: nobody keeps count.
    pub(super) passed: Option<Hlc>,
    rebuild: Rebuild,
}

/// When everything is folded from nothing, if something asks for it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Rebuild {
    /// At once.
    #[default]
    Now,
    /// When all that come together are in.
    Later,
    /// The same, and something has asked for it.
    Due,
}

impl Mesh {
    pub(super) fn new(root: PublicKey) -> Self {
        Self {
            registers: Registers::new(root),
            keys: Keys::default(),
            dirty: BTreeSet::new(),
            newest: BTreeSet::new(),
            heard: BTreeMap::new(),
            newest_word: None,
            times: BTreeMap::new(),
            sealed_out: BTreeMap::new(),
            news: VecDeque::new(),
            passed: None,
            rebuild: Rebuild::Now,
        }
    }

    pub(super) fn sealed_out(&self) -> impl Iterator<Item = &Entry> {
        self.sealed_out.values().flat_map(BTreeMap::values).map(|(entry, _)| entry)
    }

    pub(super) fn sealed_out_reason(&self, scope: Scope, op: OpId) -> Option<&NoEffect> {
        // An id is its author's word: of several the newest answers, whichever came first.
        let found = self.sealed_out.get(&scope)?.values().rfind(|(entry, _)| entry.op.header.op_id == op);
        found.map(|(_, reason)| reason)
    }

    fn is_out(&self, scope: Scope, hash: Hash) -> bool {
        self.sealed_out.get(&scope).is_some_and(|out| out.keys().any(|(_, other)| *other == hash))
    }

    fn put_out(&mut self, entry: Entry, upto: Option<Hlc>) {
        let upto = upto.unwrap_or(entry.hlc());
        let out = self.sealed_out.entry(entry.scope()).or_default();
        out.insert(entry.order(), (entry, NoEffect::SealedOut { upto }));
    }

    fn mark_newer_than(&mut self, at: Hlc) {
        let newer = self.newest.range((Bound::Excluded((at, Scope::Log)), Bound::Unbounded));
        let scopes = newer.filter(|(hlc, _)| *hlc > at).map(|(_, scope)| *scope);
        self.dirty.extend(scopes.filter(|scope| !is_register(*scope)));
    }

    pub(super) fn tell(&mut self, news: News) {
        if self.news.len() == NEWS_MAX {
            self.news.pop_front();
        }
        self.news.push_back(news);
    }
}

impl Fold {
    /// Folds up to `limit` of the scopes that a late word concerned, and says how many are left.
    pub fn settle(&mut self, limit: usize) -> usize {
        for _ in 0..limit {
            let Some(scope) = self.mesh.as_mut().and_then(|mesh| mesh.dirty.pop_first()) else { break };
            self.refold(scope);
        }
        self.lag()
    }

    /// How many scopes have to be folded again: `fold_lag`.
    pub fn lag(&self) -> usize {
        self.mesh.as_ref().map_or(0, |mesh| mesh.dirty.len())
    }

    /// For how long the coordinator has written nothing, by the time that this is asked for. What it promised meanwhile is known to whoever
    /// has its feed: [`Peer::coordinator_quiet_ms`](crate::peer::Peer::coordinator_quiet_ms) counts that, too.
    pub fn coordinator_quiet_ms(&self, now: Hlc) -> Option<u64> {
        let mesh = self.mesh.as_ref()?;
        let node = mesh.registers.coordinator(now);
        let heard = mesh.heard.get(&node).map(|hlc| hlc.wall_ms);
        let since = heard.max(mesh.registers.coordinator_since(now).map(|hlc| hlc.wall_ms));
        Some(now.wall_ms.saturating_sub(since?))
    }

    /// Whether anything but a seal is dated after one time and up to another.
    pub fn has_news(&self, after: Option<Hlc>, upto: Hlc) -> bool {
        let Some(mesh) = self.mesh.as_ref() else { return false };
        let from = after.map_or(Bound::Unbounded, |after| Bound::Excluded((after, Hash([255; 32]))));
        let mut dated = mesh.times.range((from, Bound::Included((upto, Hash([255; 32])))));
        dated.any(|(_, scope)| *scope != Scope::Register(Register::Seals))
    }

    /// Takes in ops that come together, as one by one; but if one of them asks for everything to be folded from nothing, that is done once, and
    /// scopes that late ones among them concern are left to [`settle`](Self::settle).
    pub fn insert_all(&mut self, ops: impl IntoIterator<Item = Linked>) {
        self.when_to_rebuild(Rebuild::Later);
        for Linked { op, previous, hash, .. } in ops {
            self.insert_linked(op, previous, hash);
        }
        if self.when_to_rebuild(Rebuild::Now) == Some(Rebuild::Due) {
            self.rebuild_all();
        }
    }

    fn when_to_rebuild(&mut self, rebuild: Rebuild) -> Option<Rebuild> {
        self.mesh.as_mut().map(|mesh| std::mem::replace(&mut mesh.rebuild, rebuild))
    }

    /// Takes in an op of a mesh.
    pub(super) fn arrive_in_mesh(&mut self, entry: Entry, waits: bool) -> Arrival {
        let (scope, hlc, author) = (entry.scope(), entry.hlc(), entry.chain());
        let Some(mesh) = self.mesh.as_mut() else { return Arrival::Duplicate };
        if mesh.rebuild == Rebuild::Due {
            // Where it belongs is found out together with all the others.
            let lied = self.places.add(&entry);
            mesh.put_out(entry, None);
            return arrival(lied, waits, false);
        }
        mesh.registers.prepare(&entry.op);
        let seals = mesh.registers.seals();
        let sealed = seals.last().is_some();
        if sealed && self.places.tells_the_branch(&entry, seals) {
            return self.arrive_on_a_branch(entry);
        }
        if sealed && !is_owners(&mesh.registers, &entry) && self.places.is_sealed_out(&entry, seals) {
            return self.arrive_sealed_out(entry);
        }
        let first_word = is_register(scope) && mesh.newest_word < Some(hlc);
        mesh.keys.want(&entry.op);
        let Placed { lied, newest, changed } = self.enter(entry);
        if lied && sealed {
            // Which branch was sealed decides; nothing simpler than all of it is right.
            self.rebuild_all();
            return Arrival::Equivocation;
        }
        let concerned = if lied { self.scopes_of(author) } else { Vec::new() };
        let words = changed.iter().chain(&concerned).any(|scope| is_register(*scope));
        let again: BTreeSet<Scope> = changed.into_iter().chain(concerned).collect();
        if words || (is_register(scope) && !first_word) {
            self.words_changed(if words { None } else { Some(hlc) });
        } else if is_register(scope) {
            self.say(scope);
        } else if newest && !again.contains(&scope) && !self.is_dirty(scope) {
            self.fold_newest(scope);
        } else if self.mesh.as_ref().is_some_and(|mesh| mesh.rebuild == Rebuild::Later) {
            // A thousand late ops of one scope come together: it is folded again once.
            self.mark(scope);
        } else {
            self.refold(scope);
        }
        let rest = again.into_iter().filter(|other| !is_register(*other) && *other != scope);
        if let Some(mesh) = self.mesh.as_mut() {
            mesh.dirty.extend(rest);
        }
        arrival(lied, waits, newest)
    }

    /// An op that may tell which branch of a liar's chain was sealed: everything is folded from nothing.
    fn arrive_on_a_branch(&mut self, entry: Entry) -> Arrival {
        let (scope, hash) = (entry.scope(), entry.hash);
        let lied = self.places.add(&entry);
        if let Some(mesh) = self.mesh.as_mut() {
            mesh.put_out(entry, None);
        }
        self.rebuild_all();
        self.arrival_of(scope, hash, lied)
    }

    fn arrival_of(&self, scope: Scope, hash: Hash, lied: bool) -> Arrival {
        let out = self.mesh.as_ref().is_some_and(|mesh| mesh.is_out(scope, hash));
        match () {
            () if lied => Arrival::Equivocation,
            () if out => Arrival::SealedOut,
            () => Arrival::Late,
        }
    }

    /// An op that nobody knew who agreed on its time. It can still show that its author lied; and a word of a register may be what the
    /// seal itself is judged by. Nothing else is: words wait for nothing.
    fn arrive_sealed_out(&mut self, entry: Entry) -> Arrival {
        let counts = is_register(entry.scope());
        let (scope, hash) = (entry.scope(), entry.hash);
        let lied = self.places.add(&entry);
        if let Some(mesh) = self.mesh.as_mut() {
            let upto = mesh.registers.seals().over(entry.hlc()).map(|seal| seal.upto);
            mesh.put_out(entry, upto);
        }
        if lied || counts {
            self.rebuild_all();
        }
        self.arrival_of(scope, hash, lied)
    }

    /// Puts an op in all its places, and touches no rows.
    fn enter(&mut self, entry: Entry) -> Placed {
        let (scope, hlc, hash, origin) = (entry.scope(), entry.hlc(), entry.hash, entry.op.header.origin);
        let before = self.scopes.get(&scope).and_then(ScopeFold::newest);
        let placed = self.place(entry);
        if let Some(mesh) = self.mesh.as_mut() {
            mesh.times.insert((hlc, hash), scope);
            let heard = mesh.heard.entry(origin).or_insert(hlc);
            *heard = hlc.max(*heard);
            mesh.newest_word = mesh.newest_word.max(is_register(scope).then_some(hlc));
            if before.is_none_or(|before| before < hlc) {
                if let Some(before) = before {
                    mesh.newest.remove(&(before, scope));
                }
                mesh.newest.insert((hlc, scope));
            }
        }
        placed
    }

    fn mark(&mut self, scope: Scope) {
        if let Some(mesh) = self.mesh.as_mut() {
            mesh.dirty.insert(scope);
        }
    }

    pub(super) fn is_dirty(&self, scope: Scope) -> bool {
        self.mesh.as_ref().is_some_and(|mesh| mesh.dirty.contains(&scope))
    }

    /// Applies the newest op of a scope.
    fn fold_newest(&mut self, scope: Scope) {
        let newest = self.scopes.get(&scope).and_then(|scope| scope.ops().last()).map(|entry| &entry.op.body);
        if newest.is_some_and(|body| matches!(body, Body::Task(task::Body::ScheduleJob { .. }) | Body::PurgeScope {})) {
            self.watch(scope, |fold| fold.fold_one(scope, ScopeFold::apply_last));
        } else {
            self.fold_one(scope, ScopeFold::apply_last);
        }
    }

    /// Folds a scope from its first op on.
    pub(super) fn refold(&mut self, scope: Scope) {
        if let Some(mesh) = self.mesh.as_mut() {
            mesh.dirty.remove(&scope);
        }
        self.watch(scope, |fold| fold.fold_one(scope, ScopeFold::refold));
    }

    /// Folds a scope, tells what that changed, and marks whom it concerns because of a key.
    fn watch(&mut self, scope: Scope, fold: impl FnOnce(&mut Self)) {
        let notes = |fold: &Self| fold.scopes.get(&scope).map(|scope| scope.notes.clone()).unwrap_or_default();
        let Scope::Task(task) = scope else { return fold(self) };
        let before = notes(self);
        fold(self);
        let now = notes(self);
        let Some(mesh) = self.mesh.as_mut() else { return };
        for (step, op) in &before.results {
            if now.results.get(step) != Some(op) {
                mesh.tell(News::Displaced { task, step: *step, op: *op, by: now.results.get(step).copied() });
            }
        }
        let concerned = mesh.keys.change(before.hold.as_ref(), now.hold.as_ref());
        mesh.dirty.extend(concerned);
    }

    /// The newest word of all registers: it is judged by all the others.
    fn say(&mut self, scope: Scope) {
        let Some(index) = self.scopes.get(&scope).and_then(|scope| scope.ops().len().checked_sub(1)) else { return };
        let hlc = self.scopes[&scope].ops()[index].hlc();
        if !self.say_at(scope, index, &Seals::default()) {
            return;
        }
        if matches!(self.scopes[&scope].ops()[index].op.body, Body::Register(register::Body::Seal { .. }))
            && self.seal_takes_away()
        {
            return self.rebuild_all();
        }
        if let Some(mesh) = self.mesh.as_mut() {
            mesh.mark_newer_than(hlc);
        }
    }

    /// Applies one word, and says whether it took effect.
    fn say_at(&mut self, scope: Scope, index: usize, decided: &Seals) -> bool {
        let Some(mesh) = self.mesh.as_mut() else { return false };
        let so_far = mesh.registers.seals();
        let seals = if decided.all().len() > so_far.all().len() { decided } else { so_far };
        let context = Context {
            places: &self.places,
            causes: &self.causes,
            mesh: Some((&mesh.registers, &mesh.keys)),
            seals: Some(seals),
        };
        let Some(fold) = self.scopes.get_mut(&scope) else { return false };
        let took_effect = fold.apply_at(index, &context);
        self.unsummed.insert(scope);
        if took_effect {
            mesh.registers.take(&fold.ops()[index].op);
        }
        took_effect
    }

    /// Whether the newest seal takes effect from an op that is in the set, or gives it back to one on a branch that it protects. Both
    /// can happen only to what is dated since the seal before it.
    fn seal_takes_away(&self) -> bool {
        let Some(mesh) = self.mesh.as_ref() else { return false };
        let seals = mesh.registers.seals();
        let Some(newest) = seals.last() else { return false };
        let before = seals.all().iter().rev().nth(1).map(|seal| seal.upto);
        let from = before.map_or(Bound::Unbounded, |upto| Bound::Excluded((upto, Hash([255; 32]))));
        let to = Bound::Included((newest.upto, Hash([255; 32])));
        let mut covered = mesh.times.range((from, to)).map(|((hlc, hash), scope)| (*hlc, *hash, *scope));
        covered.any(|(hlc, hash, scope)| {
            let ops = self.scopes.get(&scope).map(ScopeFold::ops).unwrap_or_default();
            let found = ops.binary_search_by_key(&(hlc, hash), Entry::order).ok().map(|index| &ops[index]);
            found.is_some_and(|entry| {
                let is_out = !is_owners(&mesh.registers, entry) && self.places.is_sealed_out(entry, seals);
                is_out || self.places.is_behind_a_fork(entry)
            })
        })
    }

    /// A word came late, or words wait no longer: the registers are folded again, and what is newer than `since` is marked.
    fn words_changed(&mut self, since: Option<Hlc>) {
        let Some(mesh) = self.mesh.as_mut() else { return };
        let before = mesh.registers.seals().clone();
        // What a seal has taken away may have a say in whether it counts.
        let simple = mesh.sealed_out.is_empty() && !self.places.seals_a_fork(&before);
        let done = simple && self.fold_registers(&Decided::default()).is_none();
        let Some(mesh) = self.mesh.as_mut() else { return };
        if !done || *mesh.registers.seals() != before {
            return self.rebuild_all();
        }
        match since {
            Some(since) => mesh.mark_newer_than(since),
            None => mesh.dirty.extend(self.scopes.keys().copied().filter(|scope| !is_register(*scope))),
        }
    }

    /// Folds all registers from nothing, in one order. Stops at the first seal, not decided before, that takes something away: then
    /// it and all before it are decided.
    fn fold_registers(&mut self, decided: &Decided) -> Option<Decided> {
        let mesh = self.mesh.as_mut()?;
        let root = mesh.registers.root();
        mesh.registers = std::mem::replace(&mut mesh.registers, Registers::new(root)).emptied();
        let mut order: Vec<(Hlc, Hash, Scope, usize)> = Vec::new();
        for (scope, fold) in self.scopes.iter_mut().filter(|(scope, _)| is_register(**scope)) {
            fold.clear();
            self.unsummed.insert(*scope);
            order.extend(fold.ops().iter().enumerate().map(|(index, entry)| (entry.hlc(), entry.hash, *scope, index)));
        }
        order.sort_unstable();
        let mut now = decided.clone();
        for (hlc, hash, scope, index) in order {
            let is_seal = scope == Scope::Register(Register::Seals);
            if let Some(outcome) = decided.outcomes.get(&(hlc, hash)).filter(|_| is_seal) {
                self.say_decided(scope, index, outcome.as_ref());
                continue;
            }
            let took_effect = self.say_at(scope, index, &decided.seals);
            if is_seal {
                let op = self.scopes[&scope].ops()[index].op.header.op_id;
                now.outcomes.insert((hlc, hash), self.scopes[&scope].outcomes.get(&op).cloned());
            }
            if took_effect && is_seal && self.seal_takes_away() {
                now.seals = self.mesh.as_ref()?.registers.seals().clone();
                return Some(now);
            }
        }
        None
    }

    /// A seal that was decided about.
    fn say_decided(&mut self, scope: Scope, index: usize, outcome: Option<&NoEffect>) {
        let (Some(mesh), Some(fold)) = (self.mesh.as_mut(), self.scopes.get_mut(&scope)) else { return };
        let id = fold.ops()[index].op.header.op_id;
        match outcome {
            None if fold.run(index).is_ok() => {
                mesh.registers.take(&fold.ops()[index].op);
                self.unsummed.insert(scope);
            }
            Some(reason) => drop(fold.outcomes.insert(id, reason.clone())),
            None => {}
        }
    }

    fn rebuild_all(&mut self) {
        if let Some(mesh) = self.mesh.as_mut().filter(|mesh| mesh.rebuild != Rebuild::Now) {
            mesh.rebuild = Rebuild::Due;
            return;
        }
        let before = self.results();
        let sealed_out = self.mesh.as_mut().map(|mesh| std::mem::take(&mut mesh.sealed_out)).unwrap_or_default();
        let mut all: Vec<Entry> =
            sealed_out.into_values().flat_map(BTreeMap::into_values).map(|(entry, _)| entry).collect();
        for fold in self.scopes.values_mut() {
            all.extend(fold.take_ops());
        }
        self.rebuild(all);
        self.tell_displaced(&before);
    }

    /// Folds these ops from nothing.
    pub(super) fn rebuild(&mut self, all: Vec<Entry>) {
        self.places = super::Places::default();
        let mut distinct: Vec<Entry> = Vec::with_capacity(all.len());
        for entry in all {
            if !self.places.has(&entry) {
                self.places.add(&entry);
                if let Some(mesh) = self.mesh.as_mut() {
                    mesh.registers.prepare(&entry.op);
                }
                distinct.push(entry);
            }
        }
        let mut decided = Decided::default();
        self.enter_all(&distinct, &decided);
        while let Some(more) = self.fold_registers(&decided) {
            decided = more;
            self.enter_all(&distinct, &decided);
        }
        let folded = |scope: &&Scope| self.mesh.is_some() && is_register(**scope);
        let scopes: Vec<Scope> = self.scopes.keys().filter(|scope| !folded(scope)).copied().collect();
        scopes.into_iter().for_each(|scope| self.refold(scope));
        // Who has a key may depend on who was folded before; each round settles the earliest that is left.
        while self.settle(usize::MAX) > 0 {}
    }

    /// Puts all ops in their places, but for those that decided seals do not cover.
    fn enter_all(&mut self, all: &[Entry], decided: &Decided) {
        let (places, waiting_max) = (std::mem::take(&mut self.places), self.waiting_max);
        let seals = &decided.seals;
        (self.scopes, self.causes, self.waiting_max) = (BTreeMap::new(), Causes::default(), waiting_max);
        (self.summed, self.unsummed) = (StateHash::default(), BTreeSet::new());
        if let Some(mesh) = self.mesh.as_mut() {
            let root = mesh.registers.root();
            let registers = std::mem::replace(&mut mesh.registers, Registers::new(root));
            let (news, passed) = (std::mem::take(&mut mesh.news), mesh.passed);
            **mesh = Mesh { registers: registers.emptied(), news, passed, ..Mesh::new(root) };
        }
        for entry in all {
            let kept = decided.outcomes.contains_key(&entry.order())
                || self.mesh.as_ref().is_none_or(|mesh| is_owners(&mesh.registers, entry));
            if !kept && places.is_sealed_out(entry, seals) {
                if let Some(mesh) = self.mesh.as_mut() {
                    mesh.put_out(entry.clone(), seals.over(entry.hlc()).map(|seal| seal.upto));
                }
                continue;
            }
            if let Some(mesh) = self.mesh.as_mut() {
                mesh.keys.want(&entry.op);
            }
            self.enter(entry.clone());
        }
        self.places = places;
    }
}

/// Seals that were decided about, in the order of their times.
#[derive(Debug, Clone, Default)]
struct Decided {
    /// Each that was looked at, and why it has no effect if it has none.
    outcomes: BTreeMap<(Hlc, Hash), Option<NoEffect>>,
    /// Those that count.
    seals: Seals,
}

fn is_register(scope: Scope) -> bool {
    matches!(scope, Scope::Register(_))
}

/// Whether it is a word of the owner's own key in a register.
fn is_owners(registers: &Registers, entry: &Entry) -> bool {
    is_register(entry.scope()) && entry.op.header.origin == registers.root().node()
}
