//! Locks: who holds what.

use crate::error::Error;
use relaymesh_core::{
    id::{LeaseToken, NodeId, ThreadId},
    kernel::Rows,
    lock::{Case, Key, Lock, Mode, Repository, RepositoryName},
    name::Name,
    op::{HeldLock, Scope},
};
use relaymesh_store::Reader;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

const PAGE: usize = 256;

/// A lock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Lock)]
pub struct Shown {
    /// Repository.
    #[schema(value_type = String)]
    pub repository: RepositoryName,
    /// Key or path glob.
    #[schema(value_type = String)]
    pub key: Key,
    /// Mode: shared or exclusive.
    #[schema(value_type = String)]
    pub mode: Mode,
    /// Whether it matches case-sensitively.
    #[schema(value_type = String)]
    pub case: Case,
    /// Holder.
    #[schema(value_type = String)]
    pub holder: Name,
    /// Node of the holder.
    #[schema(value_type = String)]
    pub owner: NodeId,
    /// Fence of the lock.
    pub fence: u64,
    /// Time of the acquire, in milliseconds since 1970.
    pub acquired_ms: u64,
    /// Expiry, in milliseconds since 1970.
    pub deadline_ms: u64,
    /// Purpose.
    pub purpose: String,
}

/// The locks of a namespace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = LockList)]
pub struct All {
    /// The locks; at most 5000.
    pub locks: Vec<Shown>,
    /// Total number.
    #[serde(default)]
    pub total: usize,
}

/// Answer to an acquire.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = AcquiredLock)]
pub struct Held {
    /// `TOKEN:FENCE`: send it back to renew or release the lock.
    pub held: String,
    /// The token.
    #[schema(value_type = String)]
    pub token: LeaseToken,
    /// The fence.
    pub fence: u64,
    /// Expiry, in milliseconds since 1970.
    pub deadline_ms: u64,
}

/// Answer to a release.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = ReleasedLock)]
pub struct Released {
    /// Always `true`.
    pub released: bool,
}

/// Tells of every lock of a namespace.
pub fn each(
    reader: &mut (impl Reader + ?Sized),
    namespace: &Name,
    mut tell: impl FnMut(&Repository, &Lock),
) -> Result<(), Error> {
    // Repositories come right after all threads, of which there may be many.
    let mut last = Some(Scope::Thread(ThreadId::from_bytes([0xff; 16])));
    loop {
        let page = reader.scopes(last, PAGE)?;
        let Some(newest) = page.last() else { return Ok(()) };
        last = Some(*newest);
        for scope in page {
            if !matches!(scope, Scope::Repository(_)) {
                return Ok(());
            }
            let Some(Rows::Repository(rows)) = reader.scope(scope)? else { continue };
            if rows.repository.namespace == *namespace {
                rows.locks.values().for_each(|lock| tell(&rows.repository, lock));
            }
        }
    }
}

/// One lock.
pub fn shown(repository: &Repository, lock: &Lock) -> Shown {
    Shown {
        repository: repository.name.clone(),
        key: lock.key.clone(),
        mode: lock.mode,
        case: lock.case,
        holder: lock.holder.clone(),
        owner: lock.owner,
        fence: lock.fence,
        acquired_ms: lock.acquired_ms,
        deadline_ms: lock.deadline_ms,
        purpose: lock.purpose.clone(),
    }
}

impl Held {
    /// What proves this lock, until then.
    pub fn new(held: HeldLock, deadline_ms: u64) -> Self {
        let HeldLock { token, fence } = held;
        Self { held: format!("{token}:{fence}"), token, fence, deadline_ms }
    }
}

/// The proof of a lock as text: `TOKEN:FENCE`.
pub fn held(text: &str) -> Result<HeldLock, String> {
    let shown: String = text.chars().filter(|c| !c.is_control()).take(100).collect();
    let wrong = || format!("`{shown}` is not a TOKEN:FENCE as `lock acquire` prints it");
    let (token, fence) = text.split_once(':').ok_or_else(wrong)?;
    Ok(HeldLock { token: token.parse().map_err(|_| wrong())?, fence: fence.parse().map_err(|_| wrong())? })
}
