//! Locks: who holds what.

use crate::error::Error;
use relaymesh_core::{
    kernel::Rows,
    lock::{Lock, Repository},
    name::Name,
    op::HeldLock,
};
use relaymesh_store::Reader;
use serde_json::{Value, json};

const PAGE: usize = 256;

/// Tells of every lock of a namespace.
pub fn each(
    reader: &mut (impl Reader + ?Sized),
    namespace: &Name,
    mut tell: impl FnMut(&Repository, &Lock),
) -> Result<(), Error> {
    let mut last = None;
    loop {
        let page = reader.scopes(last, PAGE)?;
        let Some(newest) = page.last() else { return Ok(()) };
        last = Some(*newest);
        for scope in page {
            let Some(Rows::Repository(rows)) = reader.scope(scope)? else { continue };
            if rows.repository.namespace == *namespace {
                rows.locks.values().for_each(|lock| tell(&rows.repository, lock));
            }
        }
    }
}

/// One lock.
pub fn to_json(repository: &Repository, lock: &Lock) -> Value {
    json!({
        "repository": repository.name, "key": lock.key, "mode": lock.mode, "case": lock.case, "holder": lock.holder,
        "owner": lock.owner, "fence": lock.fence, "acquired_ms": lock.acquired_ms, "deadline_ms": lock.deadline_ms,
        "purpose": lock.purpose,
    })
}

/// What whoever took a lock is given.
pub fn held_json(held: HeldLock, deadline_ms: u64) -> Value {
    let proof = format!("{}:{}", held.token, held.fence);
    json!({ "held": proof, "token": held.token, "fence": held.fence, "deadline_ms": deadline_ms })
}

/// The proof of a lock as text: `TOKEN:FENCE`.
pub fn held(text: &str) -> Result<HeldLock, String> {
    let shown: String = text.chars().filter(|c| !c.is_control()).take(100).collect();
    let wrong = || format!("`{shown}` is not TOKEN:FENCE, as `lock acquire` prints it");
    let (token, fence) = text.split_once(':').ok_or_else(wrong)?;
    Ok(HeldLock { token: token.parse().map_err(|_| wrong())?, fence: fence.parse().map_err(|_| wrong())? })
}
