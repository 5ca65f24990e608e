//! The specification is a table of locks with a fence: an acquire takes what nothing in the table is in the way of, with a
//! fence beyond all before it; a word counts only for the token and the fence in force; an expiry is a step of the node's
//! own. Keys that can overlap are judged together, others apart: the counter is theirs in common, so of its numbers only
//! the order is known.

use super::{Judged, judge};
use relaymesh_core::{
    id::LeaseToken,
    lock::{Case, Key, Mode},
    op::HeldLock,
};
use relaymesh_sim::{
    history::{LockHistory, LockOp, LockRet, Moment, Thread},
    overlap, run,
};
use stateright::semantics::SequentialSpec;
use std::collections::BTreeMap;

/// Locks on keys of which some overlap.
#[derive(Debug, Clone, Default)]
struct Table {
    /// The greatest fence so far.
    fence: u64,
    locks: BTreeMap<LeaseToken, Lock>,
}

#[derive(Debug, Clone)]
struct Lock {
    fence: u64,
    key: Key,
    mode: Mode,
    case: Case,
}

impl Lock {
    fn conflicts(&self, other: &Self) -> bool {
        let folded = self.case == Case::Folded || other.case == Case::Folded;
        (self.mode == Mode::Exclusive || other.mode == Mode::Exclusive) && overlap(&self.key, &other.key, folded)
    }
}

impl Table {
    fn is_held(&self, held: &HeldLock) -> bool {
        self.locks.get(&held.token).is_some_and(|lock| lock.fence == held.fence)
    }

    /// Whether the acquire may get this.
    fn acquire(&mut self, mut wanted: Lock, own: Option<LeaseToken>, held: &HeldLock) -> bool {
        if own.is_some_and(|own| own != held.token) || self.is_blocked(&wanted, held.token) {
            return false;
        }
        let keeps = |own: &Lock| own.mode == wanted.mode || wanted.mode == Mode::Shared;
        let right = match self.locks.get(&held.token).filter(|own| keeps(own)) {
            Some(own) => held.fence == own.fence,
            None => held.fence > self.fence,
        };
        self.fence = self.fence.max(held.fence);
        wanted.fence = held.fence;
        self.locks.insert(held.token, wanted);
        right
    }

    fn is_blocked(&self, wanted: &Lock, token: LeaseToken) -> bool {
        self.locks.iter().any(|(other, lock)| *other != token && lock.conflicts(wanted))
    }
}

impl SequentialSpec for Table {
    type Op = LockOp;
    type Ret = LockRet;

    /// Every operation has its answer here, so nobody asks what the answer might have been.
    fn invoke(&mut self, op: &LockOp) -> LockRet {
        unreachable!("{op:?} has no answer")
    }

    fn is_valid_step(&mut self, op: &LockOp, ret: &LockRet) -> bool {
        match (op, ret) {
            (LockOp::Acquire { token, key, mode, case }, LockRet::Locked(held)) => {
                let wanted = Lock { fence: 0, key: key.clone(), mode: *mode, case: *case };
                self.acquire(wanted, *token, held)
            }
            (LockOp::Acquire { token, key, mode, case }, LockRet::Conflict) => {
                let wanted = Lock { fence: 0, key: key.clone(), mode: *mode, case: *case };
                self.is_blocked(&wanted, token.unwrap_or(LeaseToken::from_bytes([0; 16])))
            }
            (LockOp::Renew(shown), LockRet::Locked(held)) => shown == held && self.is_held(held),
            (LockOp::Renew(held) | LockOp::Release(held), LockRet::Fenced) => !self.is_held(held),
            (LockOp::Release(held) | LockOp::Expire(held), LockRet::Freed) => {
                let was = self.is_held(held);
                self.locks.remove(&held.token);
                was
            }
            (LockOp::Acquire { .. } | LockOp::Renew(_) | LockOp::Release(_) | LockOp::Expire(_), _) => false,
        }
    }
}

/// What was refused changes nothing and is tried first; the rest in the order of the log, which is the likeliest.
fn judged(history: &LockHistory) -> Judged {
    let mut ranks = BTreeMap::new();
    for (place, (thread, _)) in (0..).zip(&history.moments) {
        let rank = history.places.get(thread).map_or((0, place), |pos| (*pos, place));
        ranks.entry(*thread).or_insert(rank);
    }
    judge(Table::default(), &history.moments, &ranks)
}

#[test]
fn locks_are_linearizable() {
    let (mut count, mut concurrent, mut expired) = (0, 0, 0);
    for seed in 0..30 {
        let report = run(seed);
        for (repository, group, history) in report.history.locks() {
            assert_eq!(judged(history), Judged::Linearizable, "seed {seed}, {group} of {repository}: {history:#?}");
            count += 1;
            type Moments = [(Thread, Moment<LockOp, LockRet>)];
            let overlaps =
                |pair: &Moments| matches!((&pair[0].1, &pair[1].1), (Moment::Invoked(_), Moment::Invoked(_)));
            concurrent += history.moments.windows(2).filter(|pair| overlaps(pair)).count();
            let is_expiry = |moment: &Moment<LockOp, LockRet>| matches!(moment, Moment::Invoked(LockOp::Expire(_)));
            expired += history.moments.iter().filter(|(_, moment)| is_expiry(moment)).count();
        }
    }
    let enough = count > 120 && concurrent > 300 && expired > 300;
    assert!(enough, "{count} histories, {concurrent} overlaps, {expired} expiries: too few to mean anything");
}

fn token(n: u8) -> LeaseToken {
    LeaseToken::from_bytes([n; 16])
}

fn acquire(n: u8, key: &str, mode: Mode) -> LockOp {
    LockOp::Acquire { token: Some(token(n)), key: key.parse().expect("a key"), mode, case: Case::Sensitive }
}

fn held(n: u8, fence: u64) -> HeldLock {
    HeldLock { token: token(n), fence }
}

/// One after the other.
fn judged_in_turn(ops: &[(LockOp, LockRet)]) -> Judged {
    let mut history = LockHistory::default();
    for (thread, (op, ret)) in (0..).zip(ops) {
        history.moments.push((thread, Moment::Invoked(op.clone())));
        history.moments.push((thread, Moment::Returned(*ret)));
    }
    judged(&history)
}

#[test]
fn what_is_wrong_with_locks_is_found() {
    use LockRet::{Conflict, Fenced, Freed, Locked};
    use Mode::{Exclusive, Shared};
    let first = (acquire(1, "src/**", Exclusive), Locked(held(1, 1)));
    let other = |ret| (acquire(2, "src/lib.rs", Exclusive), ret);
    let fine = [
        first.clone(),
        other(Conflict),
        (LockOp::Expire(held(1, 1)), Freed),
        other(Locked(held(2, 2))),
        (LockOp::Release(held(1, 1)), Fenced),
        (LockOp::Renew(held(2, 2)), Locked(held(2, 2))),
    ];
    assert_eq!(judged_in_turn(&fine), Judged::Linearizable);
    assert_eq!(judged_in_turn(&[first.clone(), other(Locked(held(2, 2)))]), Judged::Not, "two hold what overlaps");
    assert_eq!(judged_in_turn(&[other(Conflict)]), Judged::Not, "refused, and nothing is in the way");
    let freed = (LockOp::Release(held(1, 1)), Freed);
    let again = (acquire(3, "src/lib.rs", Shared), Locked(held(3, 1)));
    assert_eq!(judged_in_turn(&[first.clone(), freed.clone(), again]), Judged::Not, "a fence given out twice");
    assert_eq!(judged_in_turn(&[first.clone(), freed.clone(), freed.clone()]), Judged::Not, "given back twice");
    let renewed = (LockOp::Renew(held(1, 1)), Locked(held(1, 1)));
    assert_eq!(judged_in_turn(&[first.clone(), freed, renewed]), Judged::Not, "a stale word that counts");
    let up = (acquire(1, "src/**", Exclusive), Locked(held(1, 1)));
    let shared = (acquire(1, "src/**", Shared), Locked(held(1, 1)));
    assert_eq!(judged_in_turn(&[shared, up]), Judged::Not, "whoever goes up gets a new fence");
}

#[test]
fn locks_whose_questions_overlap_may_have_come_in_either_order() {
    let (one, two) = (acquire(1, "build", Mode::Exclusive), acquire(2, "build", Mode::Exclusive));
    let moments = vec![
        (1, Moment::Invoked(one)),
        (2, Moment::Invoked(two)),
        (1, Moment::Returned(LockRet::Conflict)),
        (2, Moment::Returned(LockRet::Locked(held(2, 1)))),
    ];
    let mut history = LockHistory { moments, ..LockHistory::default() };
    assert_eq!(judged(&history), Judged::Linearizable);
    history.moments.swap(1, 2);
    assert_eq!(judged(&history), Judged::Not, "refused before the other one asked");
}
