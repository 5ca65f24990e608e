//! Locks: take, keep, give back.

use super::{
    command::{Answer, Caller, Error, LockCommand},
    engine::Engine,
};
use crate::world::World;
use relaymesh_core::{
    id::{LeaseToken, RepositoryId},
    lock::{Lock, Refusal},
    op::{Body, HeldLock, Scope},
};
use relaymesh_store::Reader;

impl<R: Reader, W: World> Engine<R, W> {
    pub(super) fn lock(&mut self, caller: &Caller, command: LockCommand) -> Result<Answer, Error> {
        match command {
            LockCommand::Acquire { namespace, repository, key, mode, case, holder, token, ttl_ms, purpose } => {
                let scope = Scope::Repository(RepositoryId::of(&namespace, repository.as_str()));
                let token = token.unwrap_or_else(|| LeaseToken::from_bytes(self.world.random().to_be_bytes()));
                let (owner, seen) = (self.node, self.seen(scope)?);
                let body =
                    Body::AcquireLock { repository, key, mode, case, holder, owner, token, ttl_ms, purpose, seen };
                self.write_about(scope, namespace, caller, body)?;
                self.locked(scope, token)
            }
            LockCommand::Renew { namespace, repository, held, ttl_ms } => {
                let scope = Scope::Repository(RepositoryId::of(&namespace, repository.as_str()));
                self.write_about(scope, namespace, caller, Body::RenewLock { held, ttl_ms })?;
                self.locked(scope, held.token)
            }
            LockCommand::Release { namespace, repository, held } => {
                let scope = Scope::Repository(RepositoryId::of(&namespace, repository.as_str()));
                self.write_about(scope, namespace, caller, Body::ReleaseLock { held })?;
                Ok(Answer::Released)
            }
        }
    }

    fn locked(&mut self, scope: Scope, token: LeaseToken) -> Result<Answer, Error> {
        let lock = self.repository(scope)?.and_then(|rows| rows.locks.get(&token));
        let lock: &Lock = lock.ok_or(Error::Lock(Refusal::NoRepository))?;
        let held = HeldLock { token, fence: lock.fence };
        Ok(Answer::Locked { held, deadline_ms: lock.deadline_ms })
    }
}
