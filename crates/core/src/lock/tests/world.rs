//! A repository, a clock and somebody who says things about it.

use crate::{
    hlc::{Hlc, HlcClock},
    id::{LeaseToken, NodeId, OpId, RepositoryId},
    lock::{Body, Case, Effect, Lock, Mode, Refusal, RepositoryRows, apply, validate},
    name::Name,
    op::{About, Header, HeldLock, Scope, WriteClass},
};

pub(super) const TTL_MS: u64 = 30_000;
pub(super) const REPOSITORY: &str = "github.com/acme/app";

pub(super) fn here() -> NodeId {
    NodeId::new(0, 1)
}

pub(super) fn name(text: &str) -> Name {
    text.parse().unwrap()
}

#[derive(Clone)]
pub(super) struct World {
    pub(super) rows: Option<RepositoryRows>,
    /// What the last op that took effect asked to be done.
    pub(super) effects: Vec<Effect>,
    pub(super) now_ms: u64,
    /// Whether every rule is checked after every op. Thousands of locks take too long for that.
    pub(super) checked: bool,
    clock: HlcClock,
    seq: u64,
}

/// A lock that somebody asks for.
#[derive(Clone, Copy)]
pub(super) struct Ask<'a> {
    pub(super) key: &'a str,
    pub(super) mode: Mode,
    pub(super) case: Case,
    pub(super) holder: &'a str,
    pub(super) token: u128,
    pub(super) ttl_ms: u64,
}

/// An exclusive lock on `key` for the holder with this number.
pub(super) fn alone(key: &str, token: u128) -> Ask<'_> {
    let holder = ["nobody", "ann", "bob", "cat", "dan"][usize::try_from(token % 5).unwrap()];
    Ask { key, mode: Mode::Exclusive, case: Case::Sensitive, holder, token, ttl_ms: TTL_MS }
}

pub(super) fn shared(key: &str, token: u128) -> Ask<'_> {
    Ask { mode: Mode::Shared, ..alone(key, token) }
}

pub(super) fn folded(ask: Ask<'_>) -> Ask<'_> {
    Ask { case: Case::Folded, ..ask }
}

impl World {
    pub(super) fn new() -> Self {
        Self { rows: None, effects: Vec::new(), now_ms: 1_000_000, checked: true, clock: HlcClock::new(here()), seq: 0 }
    }

    /// Says something a millisecond later.
    pub(super) fn say(&mut self, body: Body) -> Result<(), Refusal> {
        self.say_as(|_| {}, body)
    }

    pub(super) fn say_as(&mut self, change: impl Fn(&mut Header), body: Body) -> Result<(), Refusal> {
        self.now_ms += 1;
        self.seq += 1;
        let mut header = Header {
            op_id: OpId::new(self.now_ms, u128::from(self.seq)),
            origin: here(),
            origin_epoch: 1,
            seq: self.seq,
            hlc: self.clock.tick(self.now_ms).unwrap(),
            author: name("alice"),
            source: name("test"),
            namespace: name("default"),
            scope: Scope::Repository(RepositoryId::of(&name("default"), REPOSITORY)),
            write_class: WriteClass::Strong,
            causal_deps: Vec::new(),
            via: None,
        };
        change(&mut header);
        let Scope::Repository(id) = header.scope else { panic!("{} is something else", header.scope) };
        let op = About { pos: self.seq, header: &header, id, body: &body };
        let before = self.rows.clone();
        let mut effects = Vec::new();
        let outcome = apply(&mut self.rows, &op, &mut effects);
        match &outcome {
            Ok(()) => {
                if self.checked {
                    check(before.as_ref(), self.rows.as_ref().unwrap(), &effects, &op);
                }
                self.effects = effects;
            }
            Err(refusal) => {
                assert_eq!(self.rows, before, "refused ({refusal}) and changed all the same");
                assert_eq!(effects, [], "refused ({refusal}) and had effects all the same");
            }
        }
        outcome
    }

    pub(super) fn body(&self, ask: Ask<'_>) -> Body {
        let nothing = Hlc { wall_ms: 0, logical: 0, node: here() };
        Body::AcquireLock {
            repository: REPOSITORY.parse().unwrap(),
            key: ask.key.parse().unwrap(),
            mode: ask.mode,
            case: ask.case,
            holder: name(ask.holder),
            owner: here(),
            token: token(ask.token),
            ttl_ms: ask.ttl_ms,
            purpose: "edit".to_owned(),
            seen: self.rows.as_ref().map_or(nothing, |rows| rows.repository.head),
        }
    }

    pub(super) fn acquire(&mut self, ask: Ask<'_>) -> Result<HeldLock, Refusal> {
        self.say(self.body(ask))?;
        let token = token(ask.token);
        Ok(HeldLock { token, fence: self.rows.as_ref().unwrap().locks[&token].fence })
    }

    pub(super) fn renew(&mut self, held: HeldLock) -> Result<(), Refusal> {
        self.say(Body::RenewLock { held, ttl_ms: TTL_MS })
    }

    pub(super) fn release(&mut self, held: HeldLock) -> Result<(), Refusal> {
        self.say(Body::ReleaseLock { held })
    }

    pub(super) fn expire(&mut self, held: HeldLock) -> Result<(), Refusal> {
        self.say(Body::ExpireLock { held })
    }

    pub(super) fn wait(&mut self, ms: u64) {
        self.now_ms += ms;
    }

    pub(super) fn lock(&self, number: u128) -> Option<&Lock> {
        self.rows.as_ref()?.locks.get(&token(number))
    }

    pub(super) fn count(&self) -> usize {
        self.rows.as_ref().map_or(0, |rows| rows.locks.len())
    }
}

pub(super) fn token(number: u128) -> LeaseToken {
    LeaseToken::new(0, number)
}

/// What holds between the rows before an op, the rows after it, and its effects.
fn check(
    before: Option<&RepositoryRows>,
    after: &RepositoryRows,
    effects: &[Effect],
    op: &About<'_, RepositoryId, Body>,
) {
    validate(after).unwrap_or_else(|invalid| panic!("{invalid} after {:?}\n{after:#?}", op.body.kind()));
    let (old_rev, old_fence) = before.map_or((0, 0), |rows| (rows.repository.rev, rows.repository.fence));
    assert_eq!(after.repository.rev, old_rev + 1, "the revision counts the ops");
    assert_eq!(after.repository.head, op.header.hlc, "the head is the newest op that took effect");
    let fence = after.repository.fence;
    assert!(fence == old_fence || fence == old_fence + 1, "one op, one fence: from {old_fence} to {fence}");
    for lock in after.locks.values() {
        let old = before.and_then(|rows| rows.locks.get(&lock.token));
        assert_eq!(old.is_none_or(|old| old != lock), old.is_none_or(|old| old.rev != lock.rev), "revisions");
        assert!(old.is_some_and(|old| old.fence == lock.fence) || lock.fence > old_fence, "a fence was given twice");
        let moved = old.is_none_or(|old| old.deadline_ms != lock.deadline_ms);
        let wake = Effect::Wake { token: lock.token, at_ms: lock.deadline_ms };
        assert!(!moved || effects.contains(&wake), "nobody looks when the deadline passes");
    }
    let less_in_the_way = |old: &&Lock| {
        after.locks.get(&old.token).is_none_or(|new| (old.mode, new.mode) == (Mode::Exclusive, Mode::Shared))
    };
    let old_locks = before.into_iter().flat_map(|rows| rows.locks.values());
    let mut expected: Vec<LeaseToken> = old_locks.filter(less_in_the_way).map(|old| old.token).collect();
    let freed = |effect: &Effect| if let Effect::Freed { token, .. } = effect { Some(*token) } else { None };
    let mut told: Vec<LeaseToken> = effects.iter().filter_map(freed).collect();
    expected.sort();
    told.sort();
    assert_eq!(told, expected, "whoever waits is told of what is free");
}
