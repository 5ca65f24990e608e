//! What authors say about locks, and what holds of locks whatever they say.

use crate::{
    author::{Author, START_MS, name, repository},
    history::Move,
    reference::{arrive, permutations},
};
use relaymesh_core::{
    id::LeaseToken,
    kernel::{Refusal, Rows},
    lock::{self, Case, Mode, RepositoryRows},
    op::{Body, HeldLock, Op},
};
use relaymesh_mesh::fold::{Fold, NoEffect};
use relaymesh_mesh::rows;

pub(crate) const TTL_MS: u64 = lock::TTL_MS_MIN;

const KEYS: [&str; 6] = ["src/lib.rs", "src/*", "SRC/**", "docs/?", "**/lib.rs", "docs/a"];

/// What fits the rows as the author sees them, or nonsense when nothing fits.
pub(crate) fn body(author: &Author, now_ms: u64, one: Move) -> Body {
    let rows = author.view.rows(repository()).and_then(rows::Rows::node).and_then(Rows::repository);
    let locks: Vec<HeldLock> = rows
        .into_iter()
        .flat_map(|rows| rows.locks.values())
        .map(|lock| HeldLock { token: lock.token, fence: lock.fence })
        .collect();
    let over = |held: &&HeldLock| rows.is_some_and(|rows| rows.locks[&held.token].is_expired(now_ms));
    let nobody = HeldLock { token: LeaseToken::new(0, 0), fence: 1 };
    let held = locks.get(one.pick % locks.len().max(1)).copied().unwrap_or(nobody);
    match one.what {
        25..=60 => acquire(author, KEYS[one.pick % KEYS.len()], one),
        61..=68 => Body::Lock(lock::Body::RenewLock { held, ttl_ms: TTL_MS }),
        69..=77 => Body::Lock(lock::Body::ReleaseLock { held }),
        78..=85 => Body::Lock(lock::Body::ExpireLock { held: locks.iter().find(over).copied().unwrap_or(held) }),
        86..=88 => {
            Body::Lock(lock::Body::ReleaseLock { held: HeldLock { fence: held.fence.saturating_sub(1), ..held } })
        }
        98 => Body::PurgeScope {},
        _ => acquire(author, KEYS[one.pick % 2], one),
    }
}

/// One of three tokens of the author's own, so that it comes back to some of its locks.
fn acquire(author: &Author, key: &str, one: Move) -> Body {
    let mode = if one.pick.is_multiple_of(3) { Mode::Shared } else { Mode::Exclusive };
    let case = if one.pick.is_multiple_of(4) { Case::Folded } else { Case::Sensitive };
    let token = LeaseToken::new((one.pick % 3) as u64, u128::from_be_bytes(author.node.to_bytes()));
    acquire_with(author, key, mode, case, token)
}

fn acquire_with(author: &Author, key: &str, mode: Mode, case: Case, token: LeaseToken) -> Body {
    Body::Lock(lock::Body::AcquireLock {
        repository: "app".parse().expect("a repository"),
        key: key.parse().expect("a key"),
        mode,
        case,
        holder: name("agent"),
        owner: author.node,
        token,
        ttl_ms: TTL_MS,
        purpose: String::new(),
        seen: author.head(repository()),
    })
}

fn alone(author: &mut Author, key: &str, at_ms: u64, token: u128) -> Op {
    let body = acquire_with(author, key, Mode::Exclusive, Case::Sensitive, LeaseToken::new(1, token));
    author.say(repository(), at_ms, body)
}

fn rows(fold: &Fold) -> &RepositoryRows {
    fold.rows(repository()).and_then(rows::Rows::node).and_then(Rows::repository).expect("something was locked")
}

#[test]
fn of_two_concurrent_acquires_the_earlier_wins_and_the_other_ones_word_is_fenced() {
    let (mut one, mut other) = (Author::new(1), Author::new(2));
    let early = alone(&mut one, "src/**", START_MS + 5, 1);
    let late = alone(&mut other, "src/lib.rs", START_MS + 6, 2);
    // Its author had not heard of the earlier one: on its own, it has fence 1.
    let held = HeldLock { token: LeaseToken::new(1, 2), fence: 1 };
    let renewal = other.say(repository(), START_MS + 9, lock::Body::RenewLock { held, ttl_ms: TTL_MS });
    assert_eq!(other.view.no_effect(repository(), renewal.header.op_id), None, "as far as its author knows it counts");
    for order in permutations(&[early, late.clone(), renewal.clone()]) {
        let fold = arrive(order);
        let holders: Vec<LeaseToken> = rows(&fold).locks.keys().copied().collect();
        assert_eq!(holders, [LeaseToken::new(1, 1)]);
        let why = |op: &Op| fold.no_effect(repository(), op.header.op_id).cloned();
        let conflict = why(&late);
        assert!(matches!(
            conflict,
            Some(NoEffect::Refused(rows::Refusal::Node(Refusal::Repository(lock::Refusal::Conflict { fence: 1, .. }))))
        ));
        let fenced = lock::Refusal::Fenced { given: 1, found: None, newest: 1 };
        assert_eq!(why(&renewal), Some(NoEffect::Refused(rows::Refusal::Node(Refusal::Repository(fenced)))));
    }
}

#[test]
fn a_back_dated_acquire_cannot_take_a_lock_that_its_author_had_seen_given() {
    let (mut one, mut liar) = (Author::new(1), Author::new(2));
    let honest = alone(&mut one, "a", START_MS + 50, 1);
    liar.hear(&honest, START_MS + 51);
    let body = acquire_with(&liar, "a", Mode::Exclusive, Case::Sensitive, LeaseToken::new(1, 2));
    let theft = liar.say_at(repository(), liar.oldest_time(), body);
    for order in permutations(&[honest, theft]) {
        let fold = arrive(order);
        assert!(rows(&fold).locks.contains_key(&LeaseToken::new(1, 1)));
    }
}
