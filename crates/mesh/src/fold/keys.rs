//! Idempotency over several nodes: of two tasks with one key the earlier stays (D30).
//!
//! Two nodes that cannot hear each other take the same request. When they meet there are two tasks, and which one is meant must not
//! depend on who heard of which first. The one with the smaller HLC stays; the other one is superseded, points to it, and nothing
//! that was done about it counts. A task holds its key from its own time on, until it is purged.

use relaymesh_core::{
    hash::Hash,
    hlc::Hlc,
    name::Name,
    op::{Body, Op, Scope},
    task::{self, spec::IdempotencyKey},
};
use std::collections::{BTreeMap, BTreeSet};

/// A key within its namespace.
pub(super) type Key = (Name, IdempotencyKey);

/// That a task holds its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hold {
    pub(super) key: Key,
    /// Whose.
    pub(super) scope: Scope,
    /// From when.
    pub(super) since: Hlc,
    /// Until when: the task was purged.
    pub(super) until: Option<Hlc>,
    /// Of which request.
    pub(super) fingerprint: Hash,
}

/// Who has which key, and who wants it.
#[derive(Debug, Clone, Default)]
pub(super) struct Keys {
    wanted: BTreeMap<Key, BTreeSet<(Hlc, Scope)>>,
    held: BTreeMap<Key, BTreeMap<(Hlc, Scope), Hold>>,
}

impl Keys {
    /// A submit is in the set.
    pub(super) fn want(&mut self, op: &Op) {
        if let Some(key) = key(op) {
            self.wanted.entry(key).or_default().insert((op.header.hlc, op.header.scope));
        }
    }

    /// Who has the key of a submit at its time, if somebody else has it.
    pub(super) fn holder(&self, op: &Op) -> Option<&Hold> {
        let at = op.header.hlc;
        let before = self.held.get(&key(op)?)?.values().take_while(|hold| hold.since < at);
        let mut others = before.filter(|hold| hold.scope != op.header.scope);
        others.find(|hold| hold.until.is_none_or(|until| until > at))
    }

    /// A task holds another key than it did, or no longer, or until another time. Gives the scopes that this may concern.
    pub(super) fn change(&mut self, before: Option<&Hold>, now: Option<&Hold>) -> BTreeSet<Scope> {
        let mut concerned = BTreeSet::new();
        if before == now {
            return concerned;
        }
        if let Some(before) = before
            && let Some(held) = self.held.get_mut(&before.key)
        {
            held.remove(&(before.since, before.scope));
        }
        if let Some(now) = now {
            self.held.entry(now.key.clone()).or_default().insert((now.since, now.scope), now.clone());
        }
        for hold in before.into_iter().chain(now) {
            let later = self.wanted.get(&hold.key).into_iter().flatten().filter(|(at, _)| *at > hold.since);
            concerned.extend(later.map(|(_, scope)| *scope).filter(|scope| *scope != hold.scope));
        }
        concerned
    }
}

/// The key that a submit wants.
fn key(op: &Op) -> Option<Key> {
    let Body::Task(task::Body::ScheduleJob { schedule }) = &op.body else { return None };
    Some((op.header.namespace.clone(), schedule.key.clone()))
}
