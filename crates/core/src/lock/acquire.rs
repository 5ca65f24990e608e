//! Acquire: somebody takes a lock, renews it, or changes its mode.
//!
//! All in one op: what overlaps and still runs refuses it; what overlaps and has run out goes. The holder that acquires
//! again with the same token renews. It may come down from exclusive to shared at any time; it may go up to exclusive
//! when nobody else is in the way, and then gets a new fence, because others may have got theirs since its first one.

use super::{
    LOCKS_MAX,
    apply::{At, Effect, Refusal, check_ttl},
    key::{Key, RepositoryName},
    state::{Case, Lock, Mode, Repository, RepositoryRows},
};
use crate::{
    hlc::Hlc,
    id::{LeaseToken, NodeId, RepositoryId},
    name::Name,
    op::{Header, Scope},
    task::fail::shortened,
};
use std::collections::BTreeMap;

/// What an acquire asks for.
#[derive(Clone, Copy)]
pub(super) struct Asked<'a> {
    pub(super) repository: &'a RepositoryName,
    pub(super) key: &'a Key,
    pub(super) mode: Mode,
    pub(super) case: Case,
    pub(super) holder: &'a Name,
    pub(super) owner: NodeId,
    pub(super) token: LeaseToken,
    pub(super) ttl_ms: u64,
    pub(super) purpose: &'a str,
    pub(super) seen: Hlc,
}

pub(super) fn acquire(
    rows: &mut Option<RepositoryRows>,
    (scope, header): (RepositoryId, &Header),
    asked: Asked<'_>,
    at: At,
    effects: &mut Vec<Effect>,
) -> Result<(), Refusal> {
    let Asked { repository, key, mode, case, holder, owner, token, ttl_ms, purpose, seen } = asked;
    if seen >= at.hlc {
        return Err(Refusal::BackDated { dated: at.hlc, seen });
    }
    check_ttl(ttl_ms)?;
    let id = named(scope, header, repository)?;
    let gone = match rows {
        Some(rows) => room(rows, asked, at)?,
        None => Vec::new(),
    };
    let rows = rows.get_or_insert_with(|| fresh(id, header, repository));
    for token in gone {
        rows.locks.remove(&token).into_iter().for_each(|lock| effects.push(freed(&lock)));
    }
    let deadline_ms = at.now_ms.saturating_add(ttl_ms);
    effects.push(Effect::Wake { token, at_ms: deadline_ms });
    match rows.locks.get_mut(&token) {
        Some(own) => {
            match (own.mode, mode) {
                (Mode::Shared, Mode::Exclusive) => {
                    rows.repository.fence += 1;
                    own.fence = rows.repository.fence;
                }
                (Mode::Exclusive, Mode::Shared) => effects.push(freed(own)),
                (Mode::Shared, Mode::Shared) | (Mode::Exclusive, Mode::Exclusive) => {}
            }
            own.mode = mode;
            own.owner = owner;
            own.deadline_ms = deadline_ms;
            own.purpose = shortened(purpose);
            own.rev += 1;
        }
        None => {
            rows.repository.fence += 1;
            let lock = Lock {
                rev: 1,
                key: key.clone(),
                mode,
                case,
                holder: holder.clone(),
                owner,
                token,
                fence: rows.repository.fence,
                acquired_ms: at.now_ms,
                deadline_ms,
                purpose: shortened(purpose),
            };
            rows.locks.insert(token, lock);
        }
    }
    Ok(())
}

/// The locks that have to go so that this one can be given; all of them have run out.
fn room(rows: &RepositoryRows, asked: Asked<'_>, at: At) -> Result<Vec<LeaseToken>, Refusal> {
    let own = rows.locks.get(&asked.token);
    let another = |own: &&Lock| (&own.holder, &own.key, own.case) != (asked.holder, asked.key, asked.case);
    if let Some(own) = own.filter(another) {
        return Err(Refusal::TokenInUse { key: own.key.clone(), holder: own.holder.clone() });
    }
    let others = || rows.locks.values().filter(|lock| lock.token != asked.token);
    let in_the_way = |lock: &&Lock| lock.conflicts(asked.key, asked.mode, asked.case);
    let (over, running): (Vec<&Lock>, Vec<&Lock>) =
        others().filter(in_the_way).partition(|lock| lock.is_expired(at.now_ms));
    if let Some(first) = running.iter().min_by_key(|lock| lock.fence) {
        return Err(Refusal::Conflict {
            key: first.key.clone(),
            mode: first.mode,
            holder: first.holder.clone(),
            owner: first.owner,
            fence: first.fence,
            deadline_ms: first.deadline_ms,
            others: running.len() - 1,
        });
    }
    let tokens = |locks: Vec<&Lock>| locks.into_iter().map(|lock| lock.token).collect();
    if own.is_some() || rows.locks.len() - over.len() < LOCKS_MAX {
        return Ok(tokens(over));
    }
    // Full. What has run out anywhere makes room, so that the dead do not keep out the living.
    let over: Vec<&Lock> = others().filter(|lock| lock.is_expired(at.now_ms)).collect();
    let count = rows.locks.len() - over.len();
    if count < LOCKS_MAX { Ok(tokens(over)) } else { Err(Refusal::TooMany { count }) }
}

/// The repository that the op names, if it is the one that the op is about.
fn named(scope: RepositoryId, header: &Header, repository: &RepositoryName) -> Result<RepositoryId, Refusal> {
    let named = RepositoryId::of(&header.namespace, repository.as_str());
    if named == scope { Ok(named) } else { Err(Refusal::OtherRepository { scope: Scope::Repository(scope), named }) }
}

fn fresh(id: RepositoryId, header: &Header, name: &RepositoryName) -> RepositoryRows {
    let repository = Repository {
        rev: 0,
        id,
        namespace: header.namespace.clone(),
        name: name.clone(),
        fence: 0,
        head: header.hlc,
        updated_ms: header.hlc.wall_ms,
    };
    RepositoryRows { repository, locks: BTreeMap::new() }
}

pub(super) fn freed(lock: &Lock) -> Effect {
    Effect::Freed { key: lock.key.clone(), token: lock.token, fence: lock.fence }
}
