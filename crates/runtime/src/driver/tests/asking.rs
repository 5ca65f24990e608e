//! Steps that are asked by a message: asked once, whatever crashes, and completed by the answer.

use super::{Rig, flow, name, worker};
use crate::driver::{Answer, Command, Delivery, Error, MessageCommand, Posted};
use relaymesh_core::{
    content::Media,
    id::TaskId,
    message::{Refusal, State},
    op::Scope,
    task::Status,
};
use relaymesh_store::{Content, Reader as _};
use std::sync::{Arc, Mutex};

fn take(rig: &mut Rig) -> Option<Delivery> {
    let (namespace, agent) = (name("default"), name("oracle"));
    let take = MessageCommand::Take { namespace, agent, worker: worker(1), lease_ms: 60_000, only: None };
    match rig.call(Command::Message(take)) {
        Ok(Answer::Taken(delivery)) => delivery.map(|delivery| *delivery),
        other => panic!("not taken: {other:?}"),
    }
}

fn reply(rig: &mut Rig, delivery: &Delivery, text: &str) -> Result<Answer, Error> {
    let (content, media) = (Content::Inline(text.as_bytes().to_vec()), Media::Json);
    let (thread, held) = (delivery.thread, delivery.held);
    rig.call(Command::Message(MessageCommand::Reply { thread, held, media, content }))
}

fn asked(rig: &mut Rig) -> TaskId {
    let steps = serde_json::json!([
        {"id": "ask", "agent": "oracle", "input": {"q": 1}},
        {"id": "after", "agent": "echo", "depends_on": ["ask"]},
    ]);
    rig.submit(&flow(serde_json::json!({"name": "n", "steps": steps})))
}

#[test]
fn r38_a_step_of_an_agent_with_an_inbox_waits_for_its_answer_and_the_flow_goes_on() {
    let mut rig = Rig::new();
    let heard: Arc<Mutex<Vec<Posted>>> = Arc::default();
    let hears = Arc::clone(&heard);
    rig.engine.listen(move |posted| {
        hears.lock().unwrap().push(posted.clone());
        true
    });
    let task = asked(&mut rig);
    assert_eq!(rig.step_status(task, 0), Status::Running);
    assert_eq!(
        heard.lock().unwrap()[..],
        [Posted { namespace: name("default"), to: name("oracle"), due_ms: 1_000_000 }]
    );
    let delivery = take(&mut rig).unwrap();
    assert_eq!(rig.disk.reader().bytes(delivery.content).unwrap().unwrap(), br#"{"q":1}"#);
    assert_eq!((delivery.draft.from.as_str(), delivery.thread.to_bytes()), ("ask", task.to_bytes()));
    let answered = reply(&mut rig, &delivery, "42").unwrap();
    assert!(matches!(answered, Answer::Replied { completed: Some((_, true)), .. }), "{answered:?}");
    assert_eq!(rig.status(task), Status::Success);
    let again = reply(&mut rig, &delivery, "43");
    assert!(matches!(again, Err(Error::Message(Refusal::Fenced { .. }))), "{again:?}");
}

#[test]
fn r38_a_step_that_waits_for_an_answer_goes_on_waiting_over_a_crash_and_is_asked_once() {
    let mut rig = Rig::new();
    let task = asked(&mut rig);
    let mut rig = rig.crash();
    rig.settle();
    while rig.engine.start_some(usize::MAX) {}
    rig.settle();
    let rows = rig.rows(task);
    assert_eq!((rows.steps[0].status, rows.steps[0].epoch), (Status::Running, 1), "the lease outlives the process");
    let delivery = take(&mut rig).unwrap();
    assert_eq!(take(&mut rig), None, "asked once");
    let mut rig = rig.crash();
    reply(&mut rig, &delivery, "42").unwrap();
    assert_eq!(rig.status(task), Status::Success);
}

/// The claim is durable and the question is not: whoever starts next asks it.
#[test]
fn r38_a_crash_between_the_claim_and_the_question_loses_neither() {
    let mut rig = Rig::new();
    let asked = flow(serde_json::json!({"name": "n", "steps": [{"id": "ask", "agent": "oracle", "input": 1}]}));
    let submit = rig.submit_command(&asked, crate::driver::Until::Accepted);
    let answered = rig.send(submit);
    let batch = rig.engine.poll_batch().unwrap();
    relaymesh_store::Store::commit(rig.store.as_mut().unwrap(), &batch).unwrap();
    rig.engine.handle_committed(Ok(()));
    rig.engine.tell();
    let Ok(Ok(Answer::Accepted { task, .. })) = answered.try_recv() else { panic!("not accepted") };
    let mut rig = rig.crash();
    let thread = Scope::Thread(relaymesh_core::id::ThreadId::from_bytes(task.to_bytes()));
    assert_eq!(rig.disk.reader().scope(thread).unwrap(), None, "not asked yet");
    while rig.engine.start_some(usize::MAX) {}
    rig.settle();
    let delivery = take(&mut rig).unwrap();
    reply(&mut rig, &delivery, "42").unwrap();
    assert_eq!(rig.status(task), Status::Success);
    let rows = rig.disk.reader().scope(thread).unwrap().unwrap();
    assert!(rows.thread().unwrap().messages.values().all(|message| message.state == State::Done));
}

#[test]
fn one_message_can_be_taken_by_name() {
    let mut rig = Rig::new();
    asked(&mut rig);
    let second = asked(&mut rig);
    let rows = rig.disk.reader().scope(Scope::Thread(relaymesh_core::id::ThreadId::from_bytes(second.to_bytes())));
    let rows = rows.unwrap().unwrap();
    let (thread, message) = (rows.thread().unwrap().thread.id, *rows.thread().unwrap().messages.keys().next().unwrap());
    let take = |namespace: &str| {
        let (namespace, agent, only) = (name(namespace), name("oracle"), Some((thread, message)));
        Command::Message(MessageCommand::Take { namespace, agent, worker: worker(1), lease_ms: 60_000, only })
    };
    let elsewhere = rig.call(take("other"));
    assert!(matches!(elsewhere, Err(Error::Message(Refusal::NoThread))), "{elsewhere:?}");
    let Ok(Answer::Taken(Some(delivery))) = rig.call(take("default")) else { panic!("not taken") };
    assert_eq!(delivery.held.message, message);
    let again = rig.call(take("default"));
    assert!(matches!(again, Err(Error::Message(Refusal::Held { .. }))), "{again:?}");
}
