//! One op on the rows of its repository.

use super::{
    LOCKS_MAX, TTL_MS_MAX, TTL_MS_MIN, acquire,
    body::Body,
    expire,
    key::Key,
    release, renew,
    state::{Mode, RepositoryRows},
};
use crate::{
    hlc::Hlc,
    id::{LeaseToken, NodeId, RepositoryId},
    name::Name,
    op::{About, Header, HeldLock, Scope},
    utc::Utc,
};

/// What is to be done because an op took effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Look at the lock again at this time: its deadline passes.
    Wake {
        /// The lock.
        token: LeaseToken,
        /// When.
        at_ms: u64,
    },
    /// Tell whoever waits for something that overlaps: this is free, or less in the way than before. Nobody waits over
    /// a restart, so there is nothing to derive again.
    Freed {
        /// What was locked.
        key: Key,
        /// The holder's token.
        token: LeaseToken,
        /// The holder's fence.
        fence: u64,
    },
}

/// Why an op has no effect. It changed nothing; each says what was found.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Nothing was ever locked there.
    #[error("this repository has never had a lock")]
    NoRepository,
    /// The repository's name is not the one that the scope is derived from.
    #[error("the op is for {scope}, but the repository that it names is {named}")]
    OtherRepository {
        /// What the op is about.
        scope: Scope,
        /// What its names say.
        named: RepositoryId,
    },
    /// The acquire cites an op that is not older than itself (D19).
    #[error("the acquire has the time {}, but its author had already seen an op of {}", Utc(.dated.wall_ms), Utc(.seen.wall_ms))]
    BackDated {
        /// The acquire's time.
        dated: Hlc,
        /// What it cites.
        seen: Hlc,
    },
    /// Too short or too long.
    #[error("a lock can last from {TTL_MS_MIN} to {TTL_MS_MAX} ms, not {found} ms")]
    Ttl {
        /// What was asked for.
        found: u64,
    },
    /// Somebody holds a lock that overlaps.
    #[error(
        "`{key}` is held ({mode}) by {holder} on {owner} with fence {fence} until {}{}",
        Utc(*.deadline_ms),
        more(*.others)
    )]
    Conflict {
        /// What is held: not necessarily what was asked for.
        key: Key,
        /// How.
        mode: Mode,
        /// By whom.
        holder: Name,
        /// The node that answers for the holder.
        owner: NodeId,
        /// Its fence.
        fence: u64,
        /// When it ends without a renewal.
        deadline_ms: u64,
        /// How many more locks are in the way.
        others: usize,
    },
    /// The token is the one of another lock.
    #[error("the token is in use: {holder} holds `{key}` with it; use a new token for each lock")]
    TokenInUse {
        /// What is held with it.
        key: Key,
        /// By whom.
        holder: Name,
    },
    /// The repository has as many locks as it may.
    #[error("the repository has {count} held locks; the maximum is {LOCKS_MAX}")]
    TooMany {
        /// How many are held.
        count: usize,
    },
    /// The author does not hold the lock any more, or never did.
    #[error("rejected_fenced: the call has fence {given}; {}", found_fence(*.found, *.newest))]
    Fenced {
        /// The fence that was shown.
        given: u64,
        /// The fence of the lock with that token, if there is one.
        found: Option<u64>,
        /// The newest fence of the repository.
        newest: u64,
    },
    /// The lock's time has not run out.
    #[error("the lock on `{key}` runs until {} (now {})", Utc(*.deadline_ms), Utc(*.now_ms))]
    Runs {
        /// What is locked.
        key: Key,
        /// When it ends.
        deadline_ms: u64,
        /// The op's time.
        now_ms: u64,
    },
    /// A repository is never purged: its counter must outlive everything (D22).
    #[error("a repository cannot be purged: its fences would start again (the newest is {fence})")]
    NeverPurged {
        /// The newest fence.
        fence: u64,
    },
    /// The op belongs to another namespace than the repository.
    #[error("the repository belongs to the namespace `{found}`")]
    OtherNamespace {
        /// The repository's.
        found: Name,
    },
}

fn more(others: usize) -> String {
    if others == 0 { String::new() } else { format!(", and {others} more locks conflict") }
}

fn found_fence(found: Option<u64>, newest: u64) -> String {
    match found {
        Some(found) => format!("the lock has fence {found}"),
        None => format!("the lock no longer exists, and the repository is at fence {newest}"),
    }
}

/// What a verb may know of the op that it applies.
#[derive(Debug, Clone, Copy)]
pub(super) struct At {
    pub(super) now_ms: u64,
    pub(super) hlc: Hlc,
}

/// Applies `op` to the rows of its repository. An effect is pushed for whatever has to be done about it; a refusal has
/// changed neither rows nor effects.
pub fn apply(
    rows: &mut Option<RepositoryRows>,
    op: &About<'_, RepositoryId, Body>,
    effects: &mut Vec<Effect>,
) -> Result<(), Refusal> {
    let header = op.header;
    let at = At { now_ms: header.hlc.wall_ms, hlc: header.hlc };
    check_namespace(rows.as_ref(), header)?;
    match op.body {
        Body::AcquireLock { repository, key, mode, case, holder, owner, token, ttl_ms, purpose, seen } => {
            let (mode, case, owner, token, ttl_ms, seen) = (*mode, *case, *owner, *token, *ttl_ms, *seen);
            let asked = acquire::Asked { repository, key, mode, case, holder, owner, token, ttl_ms, purpose, seen };
            acquire::acquire(rows, (op.id, header), asked, at, effects)?;
        }
        Body::RenewLock { held, ttl_ms } => renew::renew(there(rows)?, held, *ttl_ms, at, effects)?,
        Body::ReleaseLock { held } => release::release(there(rows)?, held, effects)?,
        Body::ExpireLock { held } => expire::expire(there(rows)?, held, at, effects)?,
    }
    let repository = &mut there(rows)?.repository;
    repository.head = at.hlc;
    repository.rev += 1;
    repository.updated_ms = at.now_ms;
    Ok(())
}

/// Never forgets a repository, and says why.
pub fn purge(rows: &mut Option<RepositoryRows>, header: &Header) -> Result<(), Refusal> {
    check_namespace(rows.as_ref(), header)?;
    Err(Refusal::NeverPurged { fence: there(rows)?.repository.fence })
}

fn check_namespace(rows: Option<&RepositoryRows>, header: &Header) -> Result<(), Refusal> {
    match rows.map(|rows| &rows.repository.namespace).filter(|found| **found != header.namespace) {
        Some(found) => Err(Refusal::OtherNamespace { found: found.clone() }),
        None => Ok(()),
    }
}

fn there(rows: &mut Option<RepositoryRows>) -> Result<&mut RepositoryRows, Refusal> {
    rows.as_mut().ok_or(Refusal::NoRepository)
}

/// The refusal of a word that shows `held`, in a repository where that does not count.
pub(super) fn fenced(rows: &RepositoryRows, held: &HeldLock) -> Refusal {
    let found = rows.locks.get(&held.token).map(|lock| lock.fence);
    Refusal::Fenced { given: held.fence, found, newest: rows.repository.fence }
}

/// Whether a lock may last that long.
pub(super) fn check_ttl(found: u64) -> Result<(), Refusal> {
    if (TTL_MS_MIN..=TTL_MS_MAX).contains(&found) { Ok(()) } else { Err(Refusal::Ttl { found }) }
}
