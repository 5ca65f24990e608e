//! Messages through the engine: at least once, fenced, and an answer that completes the step that asked.

use super::{Rig, name, worker};
use crate::{
    clock::Jump,
    driver::{Answer, Command, Delivery, Error, Letter, MessageCommand},
    world::Hold,
};
use relaymesh_core::{
    content::Media,
    hash::Hash,
    id::{MessageId, StepId, ThreadId},
    lanes::Priority,
    message::{Refusal, State},
    op::Scope,
    task::Status,
};
use relaymesh_store::{Blob, Content, Error as StoreError, Reader as _, verify};
use std::collections::BTreeSet;

const LEASE_MS: u64 = 10_000;

fn letter(to: &str, text: &str) -> Letter {
    Letter {
        namespace: name("default"),
        thread: None,
        message: None,
        from: name("asker"),
        to: name(to),
        priority: Priority::Normal,
        reply_to: None,
        asks: None,
        media: Media::Json,
        content: json(text),
        trace_id: 7,
        ttl_ms: None,
        max_deliveries: 2,
    }
}

fn json(text: &str) -> Content {
    Content::Inline(text.as_bytes().to_vec())
}

fn send(rig: &mut Rig, letter: Letter) -> (ThreadId, MessageId) {
    match rig.call(Command::Message(MessageCommand::Send(Box::new(letter)))) {
        Ok(Answer::Message { thread, message, .. }) => (thread, message),
        other => panic!("not sent: {other:?}"),
    }
}

fn take(rig: &mut Rig, agent: &str) -> Option<Delivery> {
    let (namespace, agent) = (name("default"), name(agent));
    let command = MessageCommand::Take { namespace, agent, worker: worker(1), lease_ms: LEASE_MS, only: None };
    match rig.call(Command::Message(command)) {
        Ok(Answer::Taken(delivery)) => delivery.map(|delivery| *delivery),
        other => panic!("not taken: {other:?}"),
    }
}

fn say(rig: &mut Rig, command: MessageCommand) -> Result<Answer, Error> {
    rig.call(Command::Message(command))
}

fn state(rig: &Rig, thread: ThreadId, message: MessageId) -> State {
    let rows = rig.disk.reader().scope(Scope::Thread(thread)).unwrap().unwrap();
    rows.thread().unwrap().messages[&message].state
}

#[test]
fn r8_a_message_is_taken_by_its_recipient_alone_and_once_until_it_is_done() {
    let mut rig = Rig::new();
    let (thread, message) = send(&mut rig, letter("reviewer", "\"look\""));
    assert_eq!(take(&mut rig, "writer"), None);
    let delivery = take(&mut rig, "reviewer").unwrap();
    assert_eq!((delivery.thread, delivery.held.message), (thread, message));
    assert_eq!(rig.disk.reader().bytes(delivery.content).unwrap().unwrap(), b"\"look\"");
    assert_eq!(take(&mut rig, "reviewer"), None);
    let held = delivery.held;
    let done = say(&mut rig, MessageCommand::Acknowledge { thread, held });
    assert_eq!(done, Ok(Answer::Message { thread, message, state: State::Done }));
    let late = MessageCommand::Fail { thread, held, retryable: true, error: "after all".to_owned() };
    assert!(matches!(say(&mut rig, late), Err(Error::Message(Refusal::Fenced { .. }))));
    assert_eq!(rig.engine.sizes().scopes, 0);
}

#[test]
fn two_takers_in_one_batch_get_two_messages() {
    let mut rig = Rig::new();
    let sent = [send(&mut rig, letter("reviewer", "1")), send(&mut rig, letter("reviewer", "2"))];
    let take = || {
        let (namespace, agent) = (name("default"), name("reviewer"));
        Command::Message(MessageCommand::Take { namespace, agent, worker: worker(1), lease_ms: LEASE_MS, only: None })
    };
    let answers = [rig.send(take()), rig.send(take()), rig.send(take())];
    rig.settle();
    let got = answers.map(|answer| match answer.try_recv().unwrap() {
        Ok(Answer::Taken(delivery)) => delivery.map(|delivery| (delivery.thread, delivery.held.message)),
        other => panic!("{other:?}"),
    });
    assert_eq!(got[2], None);
    let got: BTreeSet<_> = got.into_iter().flatten().collect();
    assert_eq!(got, sent.into_iter().collect());
}

#[test]
fn a_send_that_is_repeated_is_the_same_message() {
    let mut rig = Rig::new();
    let (thread, message) = (Some(ThreadId::new(1, 1)), Some(MessageId::new(1, 2)));
    let first = Letter { thread, message, ..letter("reviewer", "1") };
    assert_eq!(send(&mut rig, first.clone()), send(&mut rig, first.clone()));
    let other = Letter { content: json("2"), ..first };
    let refused = say(&mut rig, MessageCommand::Send(Box::new(other)));
    assert!(matches!(refused, Err(Error::Message(Refusal::MessageExists { .. }))), "{refused:?}");
    assert!(take(&mut rig, "reviewer").is_some() && take(&mut rig, "reviewer").is_none());
}

#[test]
fn r38_an_answer_completes_the_step_that_asked_in_the_same_commit() {
    let mut rig = Rig::new();
    let task = rig.single("outside");
    let step = StepId { task, index: 0 };
    let claim = Command::Claim { step, worker: worker(1), lease_ms: 60_000 };
    let Ok(Answer::Claimed(hold)) = rig.call(claim) else { panic!("not claimed") };
    let (thread, message) = send(&mut rig, Letter { asks: Some(hold), ..letter("reviewer", "1") });
    let held = take(&mut rig, "reviewer").unwrap().held;
    let reply = MessageCommand::Reply { thread, held, media: Media::Json, content: json("42") };
    let answered = rig.send(Command::Message(reply));
    let batch = rig.engine.poll_batch().unwrap();
    assert_eq!(batch.ops.len(), 2, "ReplyMessage and CompleteJob");
    relaymesh_store::Store::commit(rig.store.as_mut().unwrap(), &batch).unwrap();
    rig.engine.handle_committed(Ok(()));
    rig.settle();
    let Ok(Ok(Answer::Replied { completed, .. })) = answered.try_recv() else { panic!("not answered") };
    assert_eq!(completed, Some((step, true)));
    assert_eq!((rig.status(task), state(&rig, thread, message)), (Status::Success, State::Done));
    verify::rows(&mut rig.disk.reader(), &mut |_| {}).unwrap();
}

/// The limit of the contract holds for messages as for inputs (R9), and what is long must be a blob.
#[test]
fn content_that_is_too_long_is_refused_before_it_is_queued() {
    let mut rig = Rig::new();
    let long = Letter { content: json(&"x".repeat(8 * 1024 + 1)), ..letter("reviewer", "1") };
    let refused = say(&mut rig, MessageCommand::Send(Box::new(long)));
    assert!(matches!(refused, Err(Error::TooLong { found: 8193, max: 8192 })), "{refused:?}");
    let blob = Content::Blob(Blob::new(Hash::default(), 10 * 1024 * 1024 + 1, None));
    let refused = say(&mut rig, MessageCommand::Send(Box::new(Letter { content: blob, ..letter("reviewer", "1") })));
    assert!(matches!(refused, Err(Error::TooLong { .. })), "{refused:?}");
    assert_eq!(rig.disk.reader().head().unwrap().pos, 0);
}

#[test]
fn d7_an_answer_to_a_step_that_was_given_away_stands_and_completes_nothing() {
    let mut rig = Rig::new();
    let task = rig.single("outside");
    let step = StepId { task, index: 0 };
    let claim = |n: u128| Command::Claim { step, worker: worker(n), lease_ms: 1_000 };
    let Ok(Answer::Claimed(hold)) = rig.call(claim(1)) else { panic!("not claimed") };
    let (thread, message) = send(&mut rig, Letter { asks: Some(hold), ..letter("reviewer", "1") });
    let held = take(&mut rig, "reviewer").unwrap().held;
    rig.pass(1_001);
    let answer = say(&mut rig, MessageCommand::Reply { thread, held, media: Media::Json, content: json("42") });
    assert!(matches!(answer, Ok(Answer::Replied { completed: Some((_, false)), .. })), "{answer:?}");
    assert_eq!(state(&rig, thread, message), State::Done);
    assert_ne!(rig.step_status(task, 0), Status::Success);
    assert_eq!(rig.disk.reader().conflicts(9).unwrap().len(), 1);
    let stale = Letter { asks: Some(Hold { epoch: hold.epoch, ..hold }), ..letter("reviewer", "1") };
    assert!(matches!(say(&mut rig, MessageCommand::Send(Box::new(stale))), Err(Error::Refused(_))));
}

#[test]
fn a_silent_recipient_loses_the_message_and_after_enough_of_them_it_is_dead() {
    let mut rig = Rig::new();
    let (thread, message) = send(&mut rig, letter("reviewer", "1"));
    let first = take(&mut rig, "reviewer").unwrap().held;
    rig.pass(LEASE_MS);
    assert_eq!(state(&rig, thread, message), State::Processing, "the deadline itself is not past it");
    rig.pass(1);
    assert_eq!(state(&rig, thread, message), State::Queued);
    let late = say(&mut rig, MessageCommand::Acknowledge { thread, held: first });
    assert!(matches!(late, Err(Error::Message(Refusal::Fenced { .. }))), "{late:?}");
    rig.pass(60_000);
    assert!(take(&mut rig, "reviewer").unwrap().held.epoch > first.epoch);
    rig.pass(LEASE_MS + 1);
    assert_eq!(state(&rig, thread, message), State::Dead);
    say(&mut rig, MessageCommand::Redrive { thread, message, reason: String::new() }).unwrap();
    assert!(take(&mut rig, "reviewer").is_some());
}

#[test]
fn a_message_that_is_too_old_is_dead() {
    let mut rig = Rig::new();
    let (thread, message) = send(&mut rig, Letter { ttl_ms: Some(5_000), ..letter("reviewer", "1") });
    rig.pass(5_000);
    assert_eq!(state(&rig, thread, message), State::Dead);
    assert_eq!(take(&mut rig, "reviewer"), None);
}

/// Its recipient may well be alive: only this process died.
#[test]
fn d6_a_delivery_gets_one_fresh_term_after_a_restart() {
    let mut rig = Rig::new();
    let (thread, message) = send(&mut rig, letter("reviewer", "1"));
    let held = take(&mut rig, "reviewer").unwrap().held;
    {
        let mut levers = rig.levers.lock().unwrap();
        levers.wall_ms += 10 * LEASE_MS;
        levers.mono_ms += 10 * LEASE_MS;
    }
    let mut rig = rig.crash();
    rig.pass(LEASE_MS - 1);
    assert_eq!(state(&rig, thread, message), State::Processing);
    let done = say(&mut rig, MessageCommand::Acknowledge { thread, held });
    assert_eq!(done, Ok(Answer::Message { thread, message, state: State::Done }));
}

/// Whoever did not hear the answer asks again, perhaps after the answer has completed the step.
#[test]
fn a_question_that_is_repeated_is_the_same_message_also_when_the_step_is_done() {
    let mut rig = Rig::new();
    let task = rig.single("outside");
    let claim = Command::Claim { step: StepId { task, index: 0 }, worker: worker(1), lease_ms: 60_000 };
    let Ok(Answer::Claimed(hold)) = rig.call(claim) else { panic!("not claimed") };
    let (thread, message) = (Some(ThreadId::new(1, 1)), Some(MessageId::new(1, 2)));
    let question = Letter { thread, message, asks: Some(hold), ..letter("reviewer", "1") };
    let (thread, message) = send(&mut rig, question.clone());
    let held = take(&mut rig, "reviewer").unwrap().held;
    say(&mut rig, MessageCommand::Reply { thread, held, media: Media::Json, content: json("42") }).unwrap();
    assert_eq!(rig.status(task), Status::Success);
    let again = say(&mut rig, MessageCommand::Send(Box::new(question.clone())));
    assert_eq!(again, Ok(Answer::Message { thread, message, state: State::Done }));
    let other = Letter { message: None, ..question };
    let refused = say(&mut rig, MessageCommand::Send(Box::new(other)));
    assert!(matches!(refused, Err(Error::Refused(_))), "a new one must show a step that is held: {refused:?}");
}

/// Messages that are too old stand in the inbox until they are swept, and after a jump of the clock that takes a while.
#[test]
fn what_is_too_old_hides_nothing_that_waits_behind_it() {
    let mut rig = Rig::new();
    for _ in 0..5 {
        send(&mut rig, Letter { ttl_ms: Some(5_000), ..letter("reviewer", "1") });
    }
    let (_, message) = send(&mut rig, letter("reviewer", "2"));
    rig.levers.lock().unwrap().jump = Some(Jump { by_ms: 3_600_000 });
    rig.pass(5_000);
    assert_eq!(take(&mut rig, "reviewer").map(|delivery| delivery.held.message), Some(message));
}

/// A roll-back lets go of the step's rows. An answer that cannot read them again must not stand without its effect.
#[test]
fn r38_an_answer_is_rejected_when_the_step_that_it_completes_cannot_be_read() {
    let mut rig = Rig::new();
    let task = rig.single("outside");
    let step = StepId { task, index: 0 };
    let claim = Command::Claim { step, worker: worker(1), lease_ms: 60_000 };
    let Ok(Answer::Claimed(hold)) = rig.call(claim) else { panic!("not claimed") };
    let (thread, message) = send(&mut rig, Letter { asks: Some(hold), ..letter("reviewer", "1") });
    let held = take(&mut rig, "reviewer").unwrap().held;
    rig.disk.fail_next_commit(StoreError::Full { detail: "no room".to_owned() }, false);
    assert!(matches!(rig.call(Command::Heartbeat { worker: worker(9), within: None }), Err(Error::DiskFull(_))));
    // Something else in the thread brings its rows, and only those, back into memory.
    let other = Letter { thread: Some(thread), ..letter("writer", "2") };
    rig.send(Command::Message(MessageCommand::Send(Box::new(other))));
    rig.disk.fail_reads(1);
    let reply = MessageCommand::Reply { thread, held, media: Media::Json, content: json("42") };
    let refused = say(&mut rig, reply.clone());
    assert!(matches!(refused, Err(Error::Store(_))), "{refused:?}");
    assert_eq!(state(&rig, thread, message), State::Processing);
    let answered = say(&mut rig, reply);
    assert!(matches!(answered, Ok(Answer::Replied { completed: Some((_, true)), .. })), "{answered:?}");
    assert_eq!(rig.status(task), Status::Success);
}

/// Whoever repeats a send may be another process, which has drawn another trace.
#[test]
fn a_send_that_is_repeated_under_another_trace_is_the_same_message() {
    let mut rig = Rig::new();
    let named = |trace_id| Letter {
        thread: Some(ThreadId::new(1, 1)),
        message: Some(MessageId::new(1, 2)),
        trace_id,
        ..letter("reviewer", "1")
    };
    let first = send(&mut rig, named(7));
    assert_eq!(send(&mut rig, named(8)), first);
    let other = Letter { priority: Priority::High, ..named(7) };
    let refused = say(&mut rig, MessageCommand::Send(Box::new(other)));
    assert!(matches!(refused, Err(Error::Message(_))), "{refused:?}");
}

/// The rows of two lives of a thread have the same revisions and are not the same rows.
#[test]
fn a_thread_that_was_purged_may_begin_again_in_the_same_batch() {
    let mut rig = Rig::new();
    let thread = ThreadId::new(1, 1);
    let named = |number| Letter {
        thread: Some(thread),
        message: Some(MessageId::new(1, number)),
        ttl_ms: Some(5),
        ..letter("reviewer", "1")
    };
    send(&mut rig, named(1));
    rig.pass(10);
    let purge = Command::Life(crate::driver::LifeCommand::Purge { scope: Scope::Thread(thread) });
    let again = Command::Message(MessageCommand::Send(Box::new(Letter { ttl_ms: None, ..named(1) })));
    let answers = [rig.send(purge), rig.send(again)];
    let taken = {
        let (namespace, agent) = (name("default"), name("reviewer"));
        rig.settle();
        let command = MessageCommand::Take { namespace, agent, worker: worker(1), lease_ms: LEASE_MS, only: None };
        rig.call(Command::Message(command))
    };
    answers.into_iter().for_each(|answer| drop(answer.try_recv().unwrap().unwrap()));
    assert!(matches!(taken, Ok(Answer::Taken(Some(_)))), "{taken:?}");
    let mut reader = rig.disk.reader();
    verify::rows(&mut reader, &mut |_| {}).unwrap();
    let mut rebuilt = relaymesh_store::memory::MemoryStore::new(relaymesh_core::id::NodeId::new(1, 7));
    assert_eq!(verify::rebuild(&mut reader, &mut rebuilt, &mut |_| {}).unwrap().differences, []);
}
