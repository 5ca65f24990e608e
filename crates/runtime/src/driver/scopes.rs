//! Scopes other than tasks: ops about them, and what falls due in them.

use super::{caller::Caller, engine::Engine, error::Error, pipeline::Open};
use crate::world::World;
use relaymesh_core::{
    hlc::Hlc,
    id::RepositoryId,
    kernel::{Effect, Refusal, Rows},
    lock::{self, RepositoryRows},
    message::ThreadRows,
    name::Name,
    op::{HeldLock, Scope, Subject},
};
use relaymesh_store::Reader;
use std::collections::BTreeSet;

const PAGE: usize = 256;
/// When more is due than one page: the rest once this one is durable.
const MORE_IN_MS: u64 = 20;

impl<R: Reader, W: World> Engine<R, W> {
    /// An op about a scope other than a task. On success the rows have changed, and what is to be done about it is given
    /// back; on refusal nothing has changed.
    pub(super) fn write_about(
        &mut self,
        subject: Subject,
        namespace: Name,
        caller: &Caller,
    ) -> Result<Vec<Effect>, Error> {
        let scope = subject.scope();
        // Read first: a time that is stamped is used up.
        self.live.scope(scope, &mut self.reader).map_err(Error::Store)?;
        let op = self.stamp(subject, namespace, caller)?;
        let mut effects = Vec::new();
        let Open { batch, after } = self.pipeline.open();
        self.live.apply_to_scope(&op, &mut effects, &mut after.live, batch).map_err(refused)?;
        self.pipeline.append(&op);
        Ok(effects)
    }

    /// The live rows of a repository.
    pub(super) fn repository(&mut self, scope: Scope) -> Result<Option<&RepositoryRows>, Error> {
        Ok(self.live.scope(scope, &mut self.reader).map_err(Error::Store)?.and_then(Rows::repository))
    }

    /// The live rows of a thread.
    pub(super) fn thread(&mut self, scope: Scope) -> Result<Option<&ThreadRows>, Error> {
        Ok(self.live.scope(scope, &mut self.reader).map_err(Error::Store)?.and_then(Rows::thread))
    }

    /// The newest op about the scope that this node has seen; its claims cite it (D19).
    pub(super) fn seen(&mut self, scope: Scope) -> Result<Hlc, Error> {
        let nothing = Hlc { wall_ms: 0, logical: 0, node: self.identity.node };
        Ok(self.live.scope(scope, &mut self.reader).map_err(Error::Store)?.map_or(nothing, Rows::head))
    }

    /// Locks and deliveries whose time is over, and messages that are too old. A jump of the wall clock puts all of it off
    /// by one round (R10): says whether there was none.
    pub(super) fn expire_scopes(&mut self, now_ms: u64) -> Result<bool, relaymesh_store::Error> {
        let page = self.reader.due_scopes(now_ms, PAGE)?;
        if page.is_empty() {
            return Ok(true);
        }
        if self.is_put_off() {
            return Ok(false);
        }
        if page.len() == PAGE {
            self.look_at_scopes(now_ms.saturating_add(MORE_IN_MS));
        }
        let scopes: BTreeSet<Scope> = page.into_iter().map(|(_, scope)| scope).collect();
        for scope in scopes {
            if self.must_wait(now_ms) {
                break;
            }
            match self.expire_in(scope, now_ms) {
                Ok(()) => {}
                Err(Error::Store(error)) => return Err(error),
                // Whatever the reason, nothing is left behind: it is looked at again.
                Err(_) => self.look_at_scopes(now_ms.saturating_add(self.config.reclaim_scan_interval_ms)),
            }
        }
        Ok(true)
    }

    /// Scopes are to be looked at again at this time.
    pub(super) fn look_at_scopes(&mut self, at_ms: u64) {
        self.timers.scopes_at(at_ms);
    }

    /// Whether the batch has no room for what is due: then it is looked at again as soon as there is another one.
    pub(super) fn must_wait(&mut self, now_ms: u64) -> bool {
        let must_wait = !self.has_room();
        if must_wait {
            self.look_at_scopes(now_ms);
        }
        must_wait
    }

    fn expire_in(&mut self, scope: Scope, now_ms: u64) -> Result<(), Error> {
        match scope {
            Scope::Task(_) | Scope::Namespace(_) | Scope::Plan(_) | Scope::Register(_) | Scope::Log => Ok(()),
            Scope::Repository(id) => self.expire_locks(id, now_ms),
            Scope::Thread(id) => self.expire_messages(id, now_ms),
        }
    }

    fn expire_locks(&mut self, id: RepositoryId, now_ms: u64) -> Result<(), Error> {
        let Some(rows) = self.repository(Scope::Repository(id))? else { return Ok(()) };
        let namespace = rows.repository.namespace.clone();
        let over = rows.locks.values().filter(|lock| lock.is_expired(now_ms));
        let over: Vec<HeldLock> = over.map(|lock| HeldLock { token: lock.token, fence: lock.fence }).collect();
        let caller = self.identity.driver.clone();
        for held in over {
            if self.must_wait(now_ms) {
                break;
            }
            self.write_about(Subject::Repository(id, lock::Body::ExpireLock { held }), namespace.clone(), &caller)?;
        }
        Ok(())
    }
}

/// The kernel's refusal in the words of the machine that made it.
pub(super) fn refused(refusal: Refusal) -> Error {
    match refusal {
        Refusal::Task(refusal) => Error::Refused(refusal),
        Refusal::Repository(refusal) => Error::Lock(refusal),
        Refusal::Thread(refusal) => Error::Message(refusal),
        Refusal::Namespace(refusal) => Error::Namespace(refusal),
        // The driver says nothing about a scope of another sort or about a plan or a register, and makes no checkpoint that cannot be.
        other @ (Refusal::WrongScope { .. }
        | Refusal::Purged { .. }
        | Refusal::Log(_)
        | Refusal::Plan(_)
        | Refusal::NoMesh { .. }) => Error::Indeterminate(format!("a bug: {other}")),
    }
}
