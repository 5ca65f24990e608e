//! A holder that did not hear the answer to its last word says it again, and hears the same; another word is fenced.

use super::{Rig, done, failed, name, worker};
use crate::{
    driver::{Answer, Command, Error, Letter, LockCommand, MessageCommand},
    world::Hold,
};
use relaymesh_core::{
    content::Media,
    id::{LeaseToken, StepId, ThreadId},
    lanes::Priority,
    lock::{Case, EDIT_TTL_MS, Mode},
    op::{HeldLock, HeldMessage, Scope},
    task::{Outcome, Status},
};
use relaymesh_store::{Content, Error as StoreError, Reader as _};

const OTHER: LeaseToken = LeaseToken::from_bytes([7; 16]);

fn json(text: &str) -> Content {
    Content::Inline(text.as_bytes().to_vec())
}

/// A rig whose clock has gone on since its start.
fn rig() -> Rig {
    let mut rig = Rig::new();
    rig.pass(1);
    rig
}

fn claimed(rig: &mut Rig) -> Hold {
    let task = rig.single("outside");
    claim(rig, StepId { task, index: 0 })
}

fn claim(rig: &mut Rig, step: StepId) -> Hold {
    match rig.call(Command::Claim { step, worker: worker(1), lease_ms: 10_000 }) {
        Ok(Answer::Claimed(hold)) => hold,
        other => panic!("not claimed: {other:?}"),
    }
}

fn taken(rig: &mut Rig) -> (ThreadId, HeldMessage) {
    let letter = Letter {
        namespace: name("default"),
        thread: None,
        message: None,
        from: name("asker"),
        to: name("reviewer"),
        priority: Priority::Normal,
        reply_to: None,
        asks: None,
        media: Media::Json,
        content: json("1"),
        trace_id: 7,
        ttl_ms: None,
        max_deliveries: 2,
    };
    rig.call(Command::Message(MessageCommand::Send(Box::new(letter)))).unwrap();
    let (namespace, agent) = (name("default"), name("reviewer"));
    let take = MessageCommand::Take { namespace, agent, worker: worker(1), lease_ms: 10_000, only: None };
    match rig.call(Command::Message(take)) {
        Ok(Answer::Taken(Some(delivery))) => (delivery.thread, delivery.held),
        other => panic!("not taken: {other:?}"),
    }
}

fn acknowledge((thread, held): (ThreadId, HeldMessage)) -> Command {
    Command::Message(MessageCommand::Acknowledge { thread, held })
}

fn reply((thread, held): (ThreadId, HeldMessage), text: &str) -> Command {
    Command::Message(MessageCommand::Reply { thread, held, media: Media::Json, content: json(text) })
}

fn fail((thread, held): (ThreadId, HeldMessage), error: &str, retryable: bool) -> Command {
    Command::Message(MessageCommand::Fail { thread, held, retryable, error: error.to_owned() })
}

fn is_fenced(answer: &Result<Answer, Error>) -> bool {
    answer.as_ref().is_err_and(|error| error.to_string().contains("rejected_fenced"))
}

/// `word` is answered alike twice and once more after a crash, and adds nothing to the log; none of `others` is.
fn check(mut rig: Rig, word: &Command, others: &[Command]) -> Rig {
    let first = rig.call(word.clone());
    assert!(first.is_ok(), "{first:?}");
    let pos = rig.disk.reader().head().unwrap().pos;
    rig.pass(1);
    assert_eq!(rig.call(word.clone()), first);
    for other in others {
        let answer = rig.call(other.clone());
        assert!(is_fenced(&answer), "{other:?}: {answer:?}");
    }
    rig.pass(1);
    let mut rig = rig.crash();
    assert_eq!(rig.call(word.clone()), first, "after a crash");
    assert_eq!(rig.disk.reader().head().unwrap().pos, pos, "it is one word");
    rig
}

#[test]
fn the_end_of_an_attempt_can_be_said_again() {
    let mut rig = rig();
    let hold = claimed(&mut rig);
    let word = Command::Finish { hold, outcome: done("1") };
    let others = [
        Command::Finish { hold, outcome: done("2") },
        Command::Finish { hold, outcome: failed("no") },
        Command::Finish { hold: Hold { token: OTHER, ..hold }, outcome: done("1") },
        Command::Finish { hold: Hold { epoch: 7, ..hold }, outcome: done("1") },
    ];
    let rig = check(rig, &word, &others);
    assert_eq!(rig.status(hold.step.task), Status::Success);
    assert_eq!(rig.disk.reader().conflicts(10).unwrap().len(), others.len(), "a repeated word is no conflict");

    let mut rig = self::rig();
    let hold = claimed(&mut rig);
    let others = [Command::Finish { hold, outcome: failed("again") }, Command::Finish { hold, outcome: done("1") }];
    let mut rig = check(rig, &Command::Finish { hold, outcome: failed("no") }, &others);
    assert_eq!(rig.rows(hold.step.task).steps[0].history[0].outcome, Outcome::Failed);
    rig.pass(10_000);
    let next = claim(&mut rig, hold.step);
    assert_eq!(next.epoch, hold.epoch + 1);
    assert!(rig.call(Command::Finish { hold, outcome: failed("no") }).is_ok(), "also while the next attempt runs");
    assert_eq!(rig.step_status(hold.step.task, 0), Status::Running, "and it changes nothing of that");
}

#[test]
fn the_end_of_a_delivery_can_be_said_again() {
    let with_token = |(thread, held): (ThreadId, HeldMessage)| (thread, HeldMessage { token: OTHER, ..held });
    let mut rig = rig();
    let held = taken(&mut rig);
    let others = [acknowledge(with_token(held)), reply(held, "1"), fail(held, "no", true)];
    check(rig, &acknowledge(held), &others);

    let mut rig = self::rig();
    let held = taken(&mut rig);
    let others = [reply(held, "43"), reply(with_token(held), "42"), acknowledge(held)];
    let rig = check(rig, &reply(held, "42"), &others);
    let rows = rig.disk.reader().scope(Scope::Thread(held.0)).unwrap().unwrap();
    assert_eq!(rows.thread().unwrap().messages.len(), 2, "one question and one answer");

    let mut rig = self::rig();
    let held = taken(&mut rig);
    check(rig, &fail(held, "no", false), &[fail(held, "no", true), fail(held, "other", false), acknowledge(held)]);
}

#[test]
fn a_lock_can_be_given_back_again_and_one_that_was_lost_cannot() {
    let mut rig = rig();
    let acquire = |holder: &str| {
        Command::Lock(LockCommand::Acquire {
            namespace: name("default"),
            repository: "app".parse().unwrap(),
            key: "src/**".parse().unwrap(),
            mode: Mode::Exclusive,
            case: Case::Sensitive,
            holder: name(holder),
            token: None,
            ttl_ms: EDIT_TTL_MS,
            purpose: String::new(),
        })
    };
    let release = |held| {
        Command::Lock(LockCommand::Release { namespace: name("default"), repository: "app".parse().unwrap(), held })
    };
    let take = |rig: &mut Rig, holder: &str| match rig.call(acquire(holder)) {
        Ok(Answer::Locked { held, .. }) => held,
        other => panic!("not locked: {other:?}"),
    };
    let first = take(&mut rig, "ann");
    assert_eq!(rig.call(release(first)), Ok(Answer::Released));
    let second = take(&mut rig, "ben");
    assert_eq!(rig.call(release(first)), Ok(Answer::Released), "her answer was lost; nothing of his is");
    assert!(is_fenced(&rig.call(release(HeldLock { token: OTHER, ..first }))));
    rig.pass(EDIT_TTL_MS + 1);
    take(&mut rig, "ann");
    assert!(is_fenced(&rig.call(release(second))), "he must hear that he lost it");
    let mut rig = rig.crash();
    assert!(is_fenced(&rig.call(release(first))), "after a restart nobody knows how it ended");
}

#[test]
fn a_word_that_was_rolled_back_was_not_said_and_one_that_is_on_its_way_is_said_once() {
    let mut rig = rig();
    let hold = claimed(&mut rig);
    let word = Command::Finish { hold, outcome: done("1") };
    let first = rig.send(word.clone());
    let batch = rig.engine.poll_batch().unwrap();
    let again = rig.send(word.clone());
    rig.disk.fail_next_commit(StoreError::Full { detail: "no space left".to_owned() }, false);
    let result = relaymesh_store::Store::commit(rig.store.as_mut().unwrap(), &batch);
    rig.engine.handle_committed(result);
    rig.settle();
    for answered in [first, again] {
        assert!(matches!(answered.recv().unwrap(), Err(Error::DiskFull(_))), "it stands on what was lost");
    }
    let (first, again) = (rig.send(word.clone()), rig.send(word));
    rig.settle();
    let answers = [first, again].map(|answered| answered.recv().unwrap());
    assert_eq!(answers[0], Ok(Answer::Done { status: Status::Success }));
    assert_eq!(answers[0], answers[1]);
}
