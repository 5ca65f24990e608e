//! Locks: take, keep, give back.

use super::{
    caller::Caller,
    command::{Answer, LockCommand},
    engine::Engine,
    error::Error,
};
use crate::world::World;
use relaymesh_core::{
    id::{LeaseToken, RepositoryId},
    lock::{self, Lock, Refusal},
    op::{HeldLock, Scope, Subject},
};
use relaymesh_store::Reader;

impl<R: Reader, W: World> Engine<R, W> {
    pub(super) fn lock(&mut self, caller: &Caller, command: LockCommand) -> Result<Answer, Error> {
        match command {
            LockCommand::Acquire { namespace, repository, key, mode, case, holder, token, ttl_ms, purpose } => {
                self.check_namespace(&namespace)?;
                let id = RepositoryId::of(&namespace, repository.as_str());
                let token = token.unwrap_or_else(|| LeaseToken::from_bytes(self.world.random().to_be_bytes()));
                self.check_put_off(Scope::Repository(id), token, |lock| lock.conflicts(&key, mode, case))?;
                let (owner, seen) = (self.identity.node, self.seen(Scope::Repository(id))?);
                let body = lock::Body::AcquireLock {
                    repository,
                    key,
                    mode,
                    case,
                    holder,
                    owner,
                    token,
                    ttl_ms,
                    purpose,
                    seen,
                };
                self.write_about(Subject::Repository(id, body), namespace, caller)?;
                self.locked(Scope::Repository(id), token)
            }
            LockCommand::Renew { namespace, repository, held, ttl_ms } => {
                let id = RepositoryId::of(&namespace, repository.as_str());
                self.write_about(Subject::Repository(id, lock::Body::RenewLock { held, ttl_ms }), namespace, caller)?;
                self.locked(Scope::Repository(id), held.token)
            }
            LockCommand::Release { namespace, repository, held } => {
                let id = RepositoryId::of(&namespace, repository.as_str());
                let word = Subject::Repository(id, lock::Body::ReleaseLock { held });
                if let Some(answer) = self.said_before(&word)? {
                    return Ok(answer);
                }
                self.write_about(word.clone(), namespace, caller)?;
                self.note_said(word, &Answer::Released);
                Ok(Answer::Released)
            }
        }
    }

    /// After a jump of the wall clock what is in the way stays there for one round, whatever its deadline says (R10).
    fn check_put_off(
        &mut self,
        scope: Scope,
        token: LeaseToken,
        conflicts: impl Fn(&Lock) -> bool,
    ) -> Result<(), Error> {
        if !self.timers.is_put_off(self.world.now()) {
            return Ok(());
        }
        let Some(rows) = self.repository(scope)? else { return Ok(()) };
        let in_the_way = || rows.locks.values().filter(|lock| lock.token != token && conflicts(lock));
        let Some(first) = in_the_way().min_by_key(|lock| lock.fence) else { return Ok(()) };
        Err(Error::Lock(Refusal::Conflict {
            key: first.key.clone(),
            mode: first.mode,
            holder: first.holder.clone(),
            owner: first.owner,
            fence: first.fence,
            deadline_ms: first.deadline_ms,
            others: in_the_way().count() - 1,
        }))
    }

    fn locked(&mut self, scope: Scope, token: LeaseToken) -> Result<Answer, Error> {
        let lock = self.repository(scope)?.and_then(|rows| rows.locks.get(&token));
        let lock: &Lock = lock.ok_or(Error::Lock(Refusal::NoRepository))?;
        let held = HeldLock { token, fence: lock.fence };
        Ok(Answer::Locked { held, deadline_ms: lock.deadline_ms })
    }
}
