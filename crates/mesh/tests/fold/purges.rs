//! D33: purge is an op; what was purged has no rows and stays purged; checkpoints are about the log and have no rows.

use crate::{
    author::{Author, START_MS, name, repository, result, scope, step, submit, thread},
    reference::{answers, arrive, permutations},
};
use relaymesh_core::{
    backoff::Backoff,
    checkpoint,
    hash::Hash,
    id::{LeaseToken, MessageId, RepositoryId, WorkerId},
    kernel::Refusal,
    lanes::Priority,
    lock::{self, Case, Mode},
    message::{self, Draft, State},
    op::{Body, CancelMode, ChainHead, HeldMessage, Op, Scope, log},
    row::StateHash,
    task::{self, Status},
};
use relaymesh_mesh::fold::{Fold, NoEffect};
use relaymesh_mesh::rows;

const CANCEL: fn() -> Body = || Body::Task(task::Body::CancelTask { mode: CancelMode::Hard, reason: String::new() });
const REDRIVE: fn() -> Body = || Body::Task(task::Body::RedriveTask { reason: String::new() });
const PURGE: fn() -> Body = || Body::PurgeScope {};

fn one_step() -> Body {
    submit(vec![step("a", &[], None, false)]).into()
}

fn refused(fold: &Fold, op: &Op) -> Option<Refusal> {
    match fold.no_effect(op.header.scope, op.header.op_id) {
        Some(NoEffect::Refused(rows::Refusal::Node(refusal))) => Some(refusal.clone()),
        None => None,
        Some(
            other @ (NoEffect::Refused(rows::Refusal::Register(_))
            | NoEffect::SameTime(_)
            | NoEffect::Frozen { .. }
            | NoEffect::Waiting { .. }
            | NoEffect::CausalCycle { .. }
            | NoEffect::TooManyDependencies { .. }
            | NoEffect::Unauthorised(_)
            | NoEffect::WrongClass(_)
            | NoEffect::SealedOut { .. }
            | NoEffect::Superseded { .. }
            | NoEffect::KeyTaken { .. }),
        ) => panic!("{other}"),
    }
}

#[test]
fn a_task_that_ended_is_forgotten_and_stays_forgotten() {
    let mut author = Author::new(1);
    let mut at = START_MS;
    let mut say = |body: Body| {
        at += 1;
        author.say(scope(0), at, body)
    };
    let before = [one_step(), CANCEL(), PURGE()].map(&mut say);
    let after = [one_step(), CANCEL(), REDRIVE(), PURGE()].map(&mut say);
    let purged_at = before[2].header.hlc;
    let ops = [before.as_slice(), after.as_slice()].concat();
    let fold = arrive(ops.clone());
    assert_eq!((fold.rows(scope(0)), fold.purged(scope(0))), (None, Some(purged_at)));
    assert_eq!((fold.all_rows().count(), fold.state_hash()), (0, StateHash::default()), "nothing is left");
    for op in &after {
        assert_eq!(refused(&fold, op), Some(Refusal::Purged { at: purged_at }), "{:?}", op.body.kind());
    }
    let few = ops[..5].to_vec();
    for order in permutations(&few) {
        assert_eq!(answers(&arrive(order), &few), answers(&Fold::of(few.clone()), &few));
    }
}

#[test]
fn a_task_that_goes_on_is_not_purged() {
    let mut author = Author::new(1);
    let begun = author.say(scope(0), START_MS, one_step());
    let early = author.say(scope(0), START_MS + 1, PURGE());
    let nobody = author.say(scope(7), START_MS + 2, PURGE());
    let fold = arrive([begun, early.clone(), nobody.clone()]);
    let expected = task::Refusal::NotEnded { found: Status::Pending };
    assert_eq!(refused(&fold, &early), Some(Refusal::Task(expected)));
    assert_eq!(refused(&fold, &nobody), Some(Refusal::Task(task::Refusal::NoTask)));
    assert!(fold.rows(scope(0)).is_some() && fold.purged(scope(0)).is_none());
}

#[test]
fn a_redrive_that_arrives_late_brings_back_what_was_purged_too_early() {
    let (mut one, mut other) = (Author::new(1), Author::new(2));
    let begun = one.say(scope(0), START_MS, one_step());
    let ended = one.say(scope(0), START_MS + 1, CANCEL());
    other.hear(&begun, START_MS + 2);
    other.hear(&ended, START_MS + 2);
    let again = other.say(scope(0), START_MS + 3, REDRIVE());
    let purge = one.say(scope(0), START_MS + 9, PURGE());
    let mut fold = arrive([begun.clone(), ended.clone(), purge.clone()]);
    assert!(fold.purged(scope(0)).is_some());
    fold.insert(again.clone());
    assert!(fold.purged(scope(0)).is_none());
    assert!(matches!(refused(&fold, &purge), Some(Refusal::Task(task::Refusal::NotEnded { .. }))));
    let ops = [begun, ended, again, purge];
    for order in permutations(&ops) {
        assert_eq!(answers(&arrive(order), &ops), answers(&fold, &ops));
    }
}

#[test]
fn a_thread_is_purged_when_nothing_waits_in_it() {
    let mut author = Author::new(1);
    let id = MessageId::new(0, 1);
    let draft = Draft {
        id,
        from: name("ann"),
        to: name("bob"),
        priority: Priority::Normal,
        reply_to: None,
        asks: None,
        content: result("hello"),
        trace_id: 1,
        ttl_ms: None,
        max_deliveries: 1,
        backoff: Backoff::default(),
    };
    let (worker, token) = (WorkerId::new(0, 1), LeaseToken::new(0, 1));
    let send = Body::Message(message::Body::SendMessage { draft });
    let mut say = |at: u64, body: Body| author.say(thread(), START_MS + at, body);
    let sent = say(0, send.clone());
    let queued = say(1, PURGE());
    let seen = sent.header.hlc;
    let (recipient, owner) = (name("bob"), sent.header.origin);
    let taken = say(
        2,
        message::Body::DeliverMessage { message: id, recipient, owner, worker, token, lease_ms: 100, seen }.into(),
    );
    let processing = say(3, PURGE());
    let done = say(4, message::Body::AcknowledgeMessage { held: HeldMessage { message: id, epoch: 1, token } }.into());
    let purge = say(5, PURGE());
    let after = say(6, send);
    let fold = arrive([sent, queued.clone(), taken, processing.clone(), done, purge.clone(), after.clone()]);
    for (op, found) in [(&queued, State::Queued), (&processing, State::Processing)] {
        let expected = message::Refusal::NotAtRest { message: id, found };
        assert_eq!(refused(&fold, op), Some(Refusal::Thread(expected)));
    }
    assert_eq!((fold.rows(thread()), fold.purged(thread())), (None, Some(purge.header.hlc)));
    assert_eq!(refused(&fold, &after), Some(Refusal::Purged { at: purge.header.hlc }));
}

#[test]
fn a_repository_is_never_purged() {
    let mut author = Author::new(1);
    let acquire = Body::Lock(lock::Body::AcquireLock {
        repository: "app".parse().expect("a name"),
        key: "a".parse().expect("a key"),
        mode: Mode::Exclusive,
        case: Case::Sensitive,
        holder: name("ann"),
        owner: author.node,
        token: LeaseToken::new(0, 1),
        ttl_ms: 1_000,
        purpose: String::new(),
        seen: author.head(repository()),
    });
    let first = author.say(repository(), START_MS, acquire);
    let held = relaymesh_core::op::HeldLock { token: LeaseToken::new(0, 1), fence: 1 };
    let released = author.say(repository(), START_MS + 1, lock::Body::ReleaseLock { held });
    let purge = author.say(repository(), START_MS + 2, PURGE());
    let other = Scope::Repository(RepositoryId::of(&name("default"), "other"));
    let nothing = author.say(other, START_MS + 3, PURGE());
    let fold = arrive([first, released, purge.clone(), nothing.clone()]);
    let never = lock::Refusal::NeverPurged { fence: 1 };
    assert_eq!(refused(&fold, &purge), Some(Refusal::Repository(never)));
    assert_eq!(refused(&fold, &nothing), Some(Refusal::Repository(lock::Refusal::NoRepository)));
    assert!(fold.rows(repository()).is_some(), "the counter is still there");
}

#[test]
fn a_checkpoint_takes_effect_and_leaves_no_rows() {
    let mut author = Author::new(1);
    let heads = vec![ChainHead { origin: author.node, origin_epoch: 1, seq: 1, hash: Hash::default() }];
    let good = author.say(Scope::Log, START_MS, log::Body::Checkpoint { pos: 1, heads, state: StateHash(7) });
    let bad =
        author.say(Scope::Log, START_MS + 1, log::Body::Checkpoint { pos: 1, heads: vec![], state: StateHash(7) });
    let purge = author.say(Scope::Log, START_MS + 2, PURGE());
    let fold = arrive([good.clone(), bad.clone(), purge.clone()]);
    assert_eq!((refused(&fold, &good), fold.rows(Scope::Log)), (None, None));
    assert_eq!(refused(&fold, &bad), Some(Refusal::Log(checkpoint::Refusal::Nothing { pos: 1, heads: 0 })));
    assert!(matches!(refused(&fold, &purge), Some(Refusal::WrongScope { .. })));
    assert_eq!(fold.state_hash(), StateHash::default());
}
