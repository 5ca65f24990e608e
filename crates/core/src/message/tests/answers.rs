//! R38: an answer ends its question and completes the step that asked.

use super::world::{World, asking, content, draft, id, mortal, name};
use crate::{
    content::{ContentRef, Media},
    lanes::Priority,
    message::{Draft, Effect, Refusal, State},
    op::Hold,
};

#[test]
fn an_answer_completes_the_step_that_asked_and_can_be_read_from_the_rows_again() {
    let mut world = World::new(asking(1));
    let held = world.take(1);
    world.reply(held, 2).unwrap();
    let asks = asking(1).asks.unwrap();
    let answered = Effect::Answered { asks, question: id(1), message: id(2), content: content("answer") };
    assert!(world.effects.contains(&answered));
    assert_eq!(asks.in_task(), Hold { step: 3, epoch: 2, token: asks.token }, "what the completion shows");
    let again: Vec<_> = world.rows.as_ref().unwrap().answered().collect();
    assert_eq!(again, [(asks, id(2), content("answer"))]);
    assert_eq!((world.state(1), world.message(1).answered_by), (State::Done, Some(id(2))));
    assert_eq!(world.state(2), State::Done, "the step was its recipient: nobody else has to take it");
}

#[test]
fn every_other_answer_is_queued_for_whoever_asked() {
    let question = Draft { priority: Priority::High, trace_id: 99, ..mortal(1) };
    let mut world = World::new(question.clone());
    let held = world.take(1);
    world.reply(held, 2).unwrap();
    let answer = world.message(2);
    let expected = Draft {
        id: id(2),
        from: name("bob"),
        to: name("ann"),
        reply_to: Some(id(1)),
        content: content("answer"),
        ttl_ms: None,
        ..question
    };
    assert_eq!((answer.state, &answer.draft), (State::Queued, &expected), "lane and trace are the question's");
    assert!(answer.is_deliverable(world.now_ms) && world.effects.contains(&Effect::Offer { message: id(2) }));
    assert_eq!(world.rows.as_ref().unwrap().answered().count(), 0);
    let held = world.take(2);
    world.acknowledge(held).unwrap();
}

#[test]
fn an_answer_can_be_answered() {
    let mut world = World::new(draft(1));
    for (question, answer) in [(1, 2), (2, 3), (3, 4)] {
        let held = world.take(question);
        world.reply(held, answer).unwrap();
    }
    assert_eq!(world.message(4).draft.to, name("ann"));
    assert_eq!(world.message(4).draft.reply_to, Some(id(3)));
}

#[test]
fn a_question_is_answered_once() {
    let mut world = World::new(asking(1));
    let held = world.take(1);
    world.reply(held, 2).unwrap();
    assert!(matches!(world.reply(held, 3), Err(Refusal::Fenced { found: State::Done, .. })));
    assert!(matches!(world.acknowledge(held), Err(Refusal::Fenced { .. })));
    assert_eq!(world.message(1).answered_by, Some(id(2)));
}

#[test]
fn an_answer_needs_a_name_of_its_own() {
    let mut world = World::new(draft(1));
    let held = world.take(1);
    let expected = Refusal::MessageExists { message: id(1), found: State::Processing };
    assert_eq!(world.reply(held, 1), Err(expected));
    world.reply(held, 2).unwrap();
}

#[test]
fn a_message_that_is_about_another_one_answers_nothing_by_itself() {
    let mut world = World::new(asking(1));
    world.send(Draft { reply_to: Some(id(1)), ..draft(2) }).unwrap();
    assert_eq!((world.state(1), world.message(1).answered_by), (State::Queued, None), "only the holder answers");
    let nowhere = Draft { reply_to: Some(id(77)), ..draft(3) };
    assert_eq!(world.send(nowhere.clone()), Err(Refusal::NoMessage { message: id(77) }));
    assert_eq!(World::empty().send(nowhere), Err(Refusal::NoMessage { message: id(77) }));
}

#[test]
fn acknowledging_a_question_does_not_answer_it() {
    let mut world = World::new(asking(1));
    let held = world.take(1);
    world.acknowledge(held).unwrap();
    assert_eq!(world.rows.as_ref().unwrap().answered().count(), 0);
    assert_eq!(content("hello"), ContentRef::of(Media::Text, b"hello"));
}

#[test]
fn the_attempt_that_waits_is_flat_in_json_and_the_same_bytes_as_a_hold() {
    let draft = asking(1);
    let hold = draft.asks.unwrap();
    let json = serde_json::to_value(&draft).unwrap();
    let expected = serde_json::json!({
        "task": hold.step.task, "step": hold.step.index, "epoch": hold.epoch, "token": hold.token,
    });
    assert_eq!(json["asks"], expected);
    assert_eq!(serde_json::from_value::<Draft>(json).unwrap(), draft);
    let flat = (hold.step.task, hold.step.index, hold.epoch, hold.token);
    assert_eq!(postcard::to_allocvec(&hold).unwrap(), postcard::to_allocvec(&flat).unwrap());
    let bytes = postcard::to_allocvec(&draft).unwrap();
    assert_eq!(postcard::from_bytes::<Draft>(&bytes).unwrap(), draft);
}
