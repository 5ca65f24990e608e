//! Locks: of two that are held and overlap both are shared, fences come from one counter that only grows, and only what
//! has run out is taken from its holder.

use super::{
    super::{Verdict, ensure},
    clock::Clock,
};
use crate::{
    call::{Call, repository_of},
    keys::overlap,
    ledger::OpSeen,
    time::Ns,
};
use relaymesh_core::{
    id::{LeaseToken, RepositoryId},
    lock::{self, Case, Key, Mode},
    op::{Body, HeldLock},
};
use relaymesh_runtime::driver::{Answer, Command, Error};
use std::collections::BTreeMap;

#[derive(Debug, Default)]
pub(super) struct Locks {
    repositories: BTreeMap<RepositoryId, Model>,
    /// Whose each fence is that somebody was told.
    told: BTreeMap<(RepositoryId, u64), LeaseToken>,
}

/// What the ops say of a repository.
#[derive(Debug, Default)]
struct Model {
    /// The newest fence; it outlives every lock.
    fence: u64,
    held: BTreeMap<LeaseToken, Grip>,
}

#[derive(Debug, Clone)]
struct Grip {
    fence: u64,
    key: Key,
    mode: Mode,
    case: Case,
    /// When it was taken or last renewed, and for how long.
    heard: (Ns, Ns),
    ttl_ms: u64,
}

impl Grip {
    fn conflicts(&self, other: &Self) -> bool {
        let folded = self.case == Case::Folded || other.case == Case::Folded;
        (self.mode == Mode::Exclusive || other.mode == Mode::Exclusive) && overlap(&self.key, &other.key, folded)
    }
}

impl Locks {
    pub(super) fn op(&mut self, repository: RepositoryId, seen: &OpSeen<'_>, clock: &Clock) -> Verdict {
        let model = self.repositories.entry(repository).or_default();
        let Body::Lock(body) = &seen.op.body else { return model.agrees(seen) };
        match body {
            lock::Body::AcquireLock { key, mode, case, token, ttl_ms, .. } => {
                let (heard, ttl_ms) = (seen.decided, *ttl_ms);
                let grip = Grip { fence: 0, key: key.clone(), mode: *mode, case: *case, heard, ttl_ms };
                model.acquire(*token, grip, seen, clock)?;
            }
            lock::Body::RenewLock { held, ttl_ms } => {
                let grip = model.shown(held, seen)?;
                (grip.heard, grip.ttl_ms) = (seen.decided, *ttl_ms);
            }
            lock::Body::ReleaseLock { held } => {
                model.shown(held, seen)?;
                model.held.remove(&held.token);
            }
            lock::Body::ExpireLock { held } => {
                let grip = model.shown(held, seen)?.clone();
                let what = format!("the lock on {}", grip.key);
                clock.noticed(seen.decided.0, &what)?;
                clock.in_time(grip.heard, seen.decided, grip.ttl_ms, &what)?;
                model.held.remove(&held.token);
            }
        }
        model.agrees(seen)
    }

    pub(super) fn answer(&mut self, call: &Call, result: &Result<Answer, Error>) -> Verdict {
        let (Command::Lock(command), Ok(Answer::Locked { held, .. })) = (&call.command, result) else { return Ok(()) };
        let told = *self.told.entry((repository_of(command), held.fence)).or_insert(held.token);
        ensure(told == held.token, || format!("fence {} was given to two", held.fence))
    }
}

impl Model {
    fn acquire(&mut self, token: LeaseToken, mut grip: Grip, seen: &OpSeen<'_>, clock: &Clock) -> Verdict {
        let own = self.held.remove(&token);
        let in_the_way = self.held.iter().filter(|(_, other)| other.conflicts(&grip));
        let displaced: Vec<LeaseToken> = in_the_way.map(|(token, _)| *token).collect();
        for token in displaced {
            let Some(other) = self.held.remove(&token) else { continue };
            clock.in_time(other.heard, seen.decided, other.ttl_ms, &format!("the lock on {}", other.key))?;
        }
        let goes_up = |own: &Grip| own.mode == Mode::Shared && grip.mode == Mode::Exclusive;
        grip.fence = match own {
            Some(own) if !goes_up(&own) => own.fence,
            Some(_) | None => {
                self.fence += 1;
                self.fence
            }
        };
        self.held.insert(token, grip);
        Ok(())
    }

    /// The lock that a word shows.
    fn shown(&mut self, held: &HeldLock, seen: &OpSeen<'_>) -> Result<&mut Grip, String> {
        let found = self.held.get_mut(&held.token).filter(|grip| grip.fence == held.fence);
        found.ok_or_else(|| format!("op {} shows fence {}, which nobody holds", seen.op.pos, held.fence))
    }

    /// The rows say the same.
    fn agrees(&self, seen: &OpSeen<'_>) -> Verdict {
        let Some(rows) = seen.repository() else { return Ok(()) };
        let pos = seen.op.pos;
        let (found, fence) = (rows.repository.fence, self.fence);
        ensure(found == fence, || format!("after op {pos} the counter is at {found}, and {fence} were given out"))?;
        let rows: Vec<_> = rows.locks.values().map(|lock| (lock.token, lock.fence, lock.mode)).collect();
        let held: Vec<_> = self.held.iter().map(|(token, grip)| (*token, grip.fence, grip.mode)).collect();
        ensure(rows == held, || format!("after op {pos} the locks are {rows:?}, not {held:?}"))
    }
}
