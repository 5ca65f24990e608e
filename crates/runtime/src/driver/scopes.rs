//! Scopes other than tasks: their live rows, and ops about them.
//!
//! They are few and seldom touched compared with tasks, so nothing of them stays in memory once it is durable.

use super::{caller::Caller, command::Error, engine::Engine, event::Posted};
use crate::world::World;
use relaymesh_core::{
    hlc::Hlc,
    id::RepositoryId,
    kernel::{self, Effect, Refusal, Rows},
    lock::{self, RepositoryRows},
    message::{self, ThreadRows},
    name::Name,
    op::{HeldLock, Scope, Subject},
};
use relaymesh_store::{Reader, SavedScope};
use std::collections::{BTreeMap, BTreeSet, btree_map::Entry as Slot};

const PAGE: usize = 256;
/// When more is due than one page: the rest once this one is durable.
const MORE_IN_MS: u64 = 20;

/// Live rows by scope.
#[derive(Debug, Default)]
pub(super) struct Scopes {
    entries: BTreeMap<Scope, Entry>,
}

/// The rows of one scope, newer than the store's as long as a batch with them is on its way.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) rows: Option<Rows>,
    pub(super) saved: SavedScope,
    /// The newest batch that has rows of it.
    pub(super) batch: u64,
    /// Whether it has changed since its rows were last put.
    pub(super) dirty: bool,
}

impl Scopes {
    /// The rows of a scope, read from the store if they are not here yet.
    pub(super) fn load<R: Reader>(
        &mut self,
        scope: Scope,
        reader: &mut R,
    ) -> Result<&mut Entry, relaymesh_store::Error> {
        match self.entries.entry(scope) {
            Slot::Occupied(live) => Ok(live.into_mut()),
            Slot::Vacant(vacant) => {
                let rows = reader.scope(scope)?;
                let saved = rows.as_ref().map(SavedScope::of).unwrap_or_default();
                Ok(vacant.insert(Entry { rows, saved, batch: 0, dirty: false }))
            }
        }
    }

    pub(super) fn get_mut(&mut self, scope: Scope) -> Option<&mut Entry> {
        self.entries.get_mut(&scope)
    }

    /// Batches up to `number` are durable: lets go of what no later one has.
    pub(super) fn settle(&mut self, number: u64) {
        self.entries.retain(|_, entry| entry.dirty || entry.batch > number);
    }

    pub(super) fn clear(&mut self) {
        self.entries.clear();
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }
}

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
        self.scopes.load(scope, &mut self.reader).map_err(Error::Store)?;
        let op = self.stamp(subject, namespace, caller)?;
        let entry = self.scopes.load(scope, &mut self.reader).map_err(Error::Store)?;
        let mut effects = Vec::new();
        kernel::apply(&mut entry.rows, &op, &mut effects).map_err(refused)?;
        // On this node's own log a purged scope is as if it had never been, and its name may be used again. Its rows go
        // out of the store before those of another life with the same name come in.
        if entry.rows.take_if(|rows| matches!(rows, Rows::Purged(_))).is_some() {
            entry.saved.put(scope, None, &mut self.open.batch);
        }
        if !entry.dirty {
            entry.dirty = true;
            self.open.after.touched_scopes.push(scope);
        }
        // Also when nobody listens: somebody may by the time this is durable.
        self.open.after.audience.note_posted(posted(entry.rows.as_ref(), &effects));
        self.append(&op);
        Ok(effects)
    }

    /// The live rows of a repository.
    pub(super) fn repository(&mut self, scope: Scope) -> Result<Option<&RepositoryRows>, Error> {
        let entry = self.scopes.load(scope, &mut self.reader).map_err(Error::Store)?;
        Ok(entry.rows.as_ref().and_then(Rows::repository))
    }

    /// The live rows of a thread.
    pub(super) fn thread(&mut self, scope: Scope) -> Result<Option<&ThreadRows>, Error> {
        let entry = self.scopes.load(scope, &mut self.reader).map_err(Error::Store)?;
        Ok(entry.rows.as_ref().and_then(Rows::thread))
    }

    /// The newest op about the scope that this node has seen; its claims cite it (D19).
    pub(super) fn seen(&mut self, scope: Scope) -> Result<Hlc, Error> {
        let nothing = Hlc { wall_ms: 0, logical: 0, node: self.node };
        let entry = self.scopes.load(scope, &mut self.reader).map_err(Error::Store)?;
        Ok(entry.rows.as_ref().map_or(nothing, Rows::head))
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
        let caller = self.itself.clone();
        for held in over {
            if self.must_wait(now_ms) {
                break;
            }
            self.write_about(Subject::Repository(id, lock::Body::ExpireLock { held }), namespace.clone(), &caller)?;
        }
        Ok(())
    }
}

/// Who has something to look at in their inbox, or need not look any more.
fn posted<'a>(rows: Option<&'a Rows>, effects: &'a [Effect]) -> impl Iterator<Item = Posted> + 'a {
    use message::Effect::{Answered, End, Hand, Offer, Stop, Wake};
    let rows = rows.and_then(Rows::thread);
    let about = effects.iter().filter_map(move |effect| match effect {
        Effect::Thread(Offer { message } | Wake { message, .. } | End { message, .. }) => {
            rows.and_then(|rows| Some((rows, rows.messages.get(message)?)))
        }
        Effect::Thread(Hand { .. } | Stop { .. } | Answered { .. }) | Effect::Task(_) | Effect::Repository(_) => None,
    });
    about.map(|(rows, row)| Posted {
        namespace: rows.thread.namespace.clone(),
        to: row.draft.to.clone(),
        due_ms: row.due_ms,
    })
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
