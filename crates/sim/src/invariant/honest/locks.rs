//! Answers about locks.

use super::{
    super::{Verdict, ensure},
    said, wrote,
};
use crate::{
    call::{Call, repository_of},
    keys::overlap,
    ledger::Ledger,
};
use relaymesh_core::{
    lock::{Case, Key, Mode, Refusal, TTL_MS_MAX, TTL_MS_MIN},
    op::{HeldLock, Kind, Scope},
};
use relaymesh_runtime::driver::{Answer, Error, LockCommand};

pub(super) fn done(call: &Call, command: &LockCommand, answer: &Answer, ledger: &Ledger) -> Verdict {
    let repository = repository_of(command);
    match (command, answer) {
        (LockCommand::Acquire { key, mode, holder, token, .. }, Answer::Locked { held, deadline_ms }) => {
            wrote(call, &[Kind::AcquireLock], ledger)?;
            let past = ledger.past.lock(repository, held.fence);
            let same = past.is_some_and(|past| {
                (&past.lock.key, &past.lock.holder, past.lock.token) == (key, holder, held.token)
                    && past.modes.contains(mode)
                    && past.deadlines.contains(deadline_ms)
                    && token.is_none_or(|token| token == held.token)
            });
            ensure(same, || format!("but the durable lock is {past:?}"))
        }
        (LockCommand::Renew { held: shown, .. }, Answer::Locked { held, deadline_ms }) => {
            wrote(call, &[Kind::RenewLock], ledger)?;
            let past = ledger.past.lock(repository, held.fence);
            let lasts = past.is_some_and(|past| past.deadlines.contains(deadline_ms));
            ensure(lasts && held == shown, || format!("but the durable lock is {past:?}"))
        }
        (LockCommand::Release { held, .. }, Answer::Released) => {
            said(call, &[Kind::ReleaseLock], ledger)?;
            ensure(!is_held(command, held, ledger), || "but it is still held".to_owned())
        }
        _ => Err("which is no answer to this command".to_owned()),
    }
}

pub(super) fn refused(call: &Call, command: &LockCommand, refusal: &Refusal, ledger: &Ledger) -> Verdict {
    let repository = repository_of(command);
    let agrees = match (refusal, command) {
        (Refusal::NoRepository, LockCommand::Renew { .. } | LockCommand::Release { .. }) => {
            !ledger.past.was_there(Scope::Repository(repository), call.sent)
        }
        (Refusal::Ttl { found }, LockCommand::Acquire { ttl_ms, .. } | LockCommand::Renew { ttl_ms, .. }) => {
            found == ttl_ms && !(TTL_MS_MIN..=TTL_MS_MAX).contains(found)
        }
        (
            Refusal::Conflict { key, mode, holder, fence, deadline_ms, .. },
            LockCommand::Acquire { key: asked, mode: wanted, case, .. },
        ) => ledger.past.lock(repository, *fence).is_some_and(|past| {
            let other = (&past.lock.key, past.lock.case);
            (&past.lock.key, &past.lock.holder) == (key, holder)
                && past.modes.contains(mode)
                && past.deadlines.contains(deadline_ms)
                && is_in_the_way(other, *mode, (asked, *case), *wanted)
        }),
        (
            Refusal::Fenced { given, newest, .. },
            LockCommand::Renew { held, .. } | LockCommand::Release { held, .. },
        ) => {
            let counter = ledger.repositories.get(&repository).map_or(0, |rows| rows.repository.fence);
            *given == held.fence && !is_held(command, held, ledger) && *newest <= counter
        }
        // The rest is not for lockers that make a token for each lock on a single node.
        _ => false,
    };
    ensure(agrees, || format!("but the rows say {:?}", ledger.repositories.get(&repository)))
}

/// What has run out is in nobody's way, whether it was swept or not (D22).
pub(super) fn still_runs(call: &Call, error: &Error) -> Verdict {
    let Error::Lock(Refusal::Conflict { deadline_ms, .. }) = error else { return Ok(()) };
    ensure(*deadline_ms > call.wall_ms, || format!("but it was {} already when that was asked", call.wall_ms))
}

fn is_held(command: &LockCommand, held: &HeldLock, ledger: &Ledger) -> bool {
    let rows = ledger.repositories.get(&repository_of(command));
    rows.and_then(|rows| rows.locks.get(&held.token)).is_some_and(|lock| lock.fence == held.fence)
}

fn is_in_the_way(held: (&Key, Case), mode: Mode, asked: (&Key, Case), wanted: Mode) -> bool {
    let folded = held.1 == Case::Folded || asked.1 == Case::Folded;
    (mode, wanted) != (Mode::Shared, Mode::Shared) && overlap(held.0, asked.0, folded)
}
