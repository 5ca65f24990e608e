//! What was done with locks.
//!
//! Per repository and group of keys there are acquires, renewals, releases and expiries. An expired lock that somebody
//! else takes over expires at that moment. A command that was never answered stands until the end of the run, with what
//! the log says of it; if the log has no word of it, it never happened.

use super::{Moment, Thread, thread};
use crate::{
    call::{Call, CallId, call_of, repository_of},
    keys,
    ledger::OpSeen,
};
use relaymesh_core::{
    id::{LeaseToken, RepositoryId},
    kernel::Rows,
    lock::{self, Case, Key, Mode, Refusal, RepositoryRows},
    op::{Body, HeldLock},
};
use relaymesh_runtime::driver::{Answer, Command, Error, LockCommand};
use std::collections::BTreeMap;

/// What is done with a lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LockOp {
    /// Take it, or take it again.
    Acquire {
        /// The caller's token, if it has one.
        token: Option<LeaseToken>,
        /// What.
        key: Key,
        /// Alone, or with others.
        mode: Mode,
        /// Whether upper and lower case are one.
        case: Case,
    },
    /// Keep it.
    Renew(HeldLock),
    /// Give it back.
    Release(HeldLock),
    /// Its time is over.
    Expire(HeldLock),
}

/// What came of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockRet {
    /// It is the caller's.
    Locked(HeldLock),
    /// It is nobody's.
    Freed,
    /// Somebody holds what overlaps.
    Conflict,
    /// The proof is not the one in force.
    Fenced,
}

/// The operations on the locks of one group of keys.
#[derive(Debug, Default)]
pub struct LockHistory {
    /// In the order in which their ends were seen.
    pub moments: Vec<(Thread, Moment<LockOp, LockRet>)>,
    /// Where the log has those that took effect. A hint for whoever searches, and no more.
    pub places: BTreeMap<Thread, u64>,
}

type Group = (RepositoryId, String);

#[derive(Debug, Default)]
pub(super) struct Locks {
    groups: BTreeMap<Group, LockHistory>,
    /// Where each lock belongs, from the moment its token is known.
    tokens: BTreeMap<LeaseToken, Group>,
    /// Calls without an answer, and what the log says of them.
    open: BTreeMap<Thread, (Group, Option<LockRet>)>,
    own: u64,
}

impl Locks {
    pub(super) fn groups(&self) -> impl Iterator<Item = (RepositoryId, &str, &LockHistory)> {
        self.groups.iter().map(|((repository, group), history)| (*repository, group.as_str(), history))
    }

    pub(super) fn sent(&mut self, call: &Call) {
        let Command::Lock(command) = &call.command else { return };
        let (group, op) = match command {
            LockCommand::Acquire { repository, key, mode, case, token, .. } => {
                let group = (repository_of(command), keys::group(repository, key));
                token.iter().for_each(|token| drop(self.tokens.insert(*token, group.clone())));
                (group, LockOp::Acquire { token: *token, key: key.clone(), mode: *mode, case: *case })
            }
            LockCommand::Renew { held, .. } => {
                let Some(group) = self.tokens.get(&held.token) else { return };
                (group.clone(), LockOp::Renew(*held))
            }
            LockCommand::Release { held, .. } => {
                let Some(group) = self.tokens.get(&held.token) else { return };
                (group.clone(), LockOp::Release(*held))
            }
        };
        self.open.insert(thread(call.id), (group.clone(), None));
        self.note(&group, thread(call.id), Moment::Invoked(op));
    }

    pub(super) fn answered(&mut self, call: &Call, result: &Result<Answer, Error>) {
        // A lock that is given back a second time was given back the first time: this call did nothing.
        let did_nothing = matches!(self.open.get(&thread(call.id)), Some((_, None)));
        let ret = match result {
            Ok(Answer::Released) if did_nothing => return self.withdrawn(call.id),
            Ok(Answer::Locked { held, .. }) => LockRet::Locked(*held),
            Ok(Answer::Released) => LockRet::Freed,
            Err(Error::Lock(Refusal::Conflict { .. })) => LockRet::Conflict,
            Err(Error::Lock(Refusal::Fenced { .. })) => LockRet::Fenced,
            Err(Error::Indeterminate(_)) => return,
            Ok(_) | Err(_) => return self.withdrawn(call.id),
        };
        if let Some((group, _)) = self.open.remove(&thread(call.id)) {
            self.note(&group, thread(call.id), Moment::Returned(ret));
        }
    }

    pub(super) fn withdrawn(&mut self, call: CallId) {
        if let Some((group, _)) = self.open.remove(&thread(call)) {
            self.note(&group, thread(call), Moment::Withdrawn);
        }
    }

    pub(super) fn durable(&mut self, seen: &OpSeen<'_>) {
        let (Some(after), before) = (seen.repository(), seen.before.and_then(Rows::repository)) else { return };
        let id = after.repository.id;
        let asked = if let Body::Lock(body) = &seen.op.body { self.asked(id, body) } else { None };
        for held in gone(before, after).into_iter().filter(|held| Some(held.token) != asked) {
            self.own += 1;
            let own = self.own * 2 + 1;
            let Some(group) = self.tokens.get(&held.token).cloned() else { continue };
            self.note(&group, own, Moment::Invoked(LockOp::Expire(held)));
            self.note(&group, own, Moment::Returned(LockRet::Freed));
            self.groups.entry(group).or_default().places.insert(own, seen.op.pos);
        }
        let (Some(token), Some(call)) = (asked, call_of(seen.op)) else { return };
        let ret = after.locks.get(&token).map(|lock| LockRet::Locked(HeldLock { token, fence: lock.fence }));
        let Some((group, open)) = self.open.get_mut(&thread(call)) else { return };
        *open = Some(ret.unwrap_or(LockRet::Freed));
        self.groups.entry(group.clone()).or_default().places.insert(thread(call), seen.op.pos);
    }

    /// The lock that somebody asked for, or gave back.
    fn asked(&mut self, id: RepositoryId, body: &lock::Body) -> Option<LeaseToken> {
        match body {
            lock::Body::AcquireLock { token, key, repository, .. } => {
                self.tokens.insert(*token, (id, keys::group(repository, key)));
                Some(*token)
            }
            lock::Body::RenewLock { held, .. } | lock::Body::ReleaseLock { held } => Some(held.token),
            lock::Body::ExpireLock { .. } => None,
        }
    }

    pub(super) fn settle(&mut self) {
        for (thread, (group, written)) in std::mem::take(&mut self.open) {
            let moment = written.map_or(Moment::Withdrawn, Moment::Returned);
            self.note(&group, thread, moment);
        }
    }

    fn note(&mut self, group: &Group, thread: Thread, moment: Moment<LockOp, LockRet>) {
        self.groups.entry(group.clone()).or_default().moments.push((thread, moment));
    }
}

/// The locks that were there before and are not any more.
fn gone(before: Option<&RepositoryRows>, after: &RepositoryRows) -> Vec<HeldLock> {
    let locks = before.into_iter().flat_map(|rows| rows.locks.values());
    let gone = locks.filter(|lock| !after.locks.contains_key(&lock.token));
    gone.map(|lock| HeldLock { token: lock.token, fence: lock.fence }).collect()
}
