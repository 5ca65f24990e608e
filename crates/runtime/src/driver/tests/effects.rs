//! Effects follow from what a batch changed. They are compared with what the kernel decided, op by op: with every batch that a test
//! commits, and with random histories.

use super::{Answered, Rig, TestWorld, done, failed, name, worker};
use crate::{
    driver::{
        Answer, Command, Config, Delivery, Engine, Letter, MessageCommand, Posted, Until, effects::Effects,
        effects::posted,
    },
    world::{Finished, Hold},
};
use proptest::prelude::*;
use relaymesh_core::{
    content::Media,
    id::{MessageId, StepId, TaskId, ThreadId},
    kernel::{self, Effect, Rows},
    lanes::Priority,
    message::{self, Message, State},
    op::{Body, CancelMode, Op, Scope},
    task::{self, Status, TaskRows},
};
use relaymesh_store::{Batch, Content, Error as StoreError, Reader as _, memory::MemoryReader};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};

type Epochs = BTreeSet<(StepId, u32)>;
type Seen = BTreeSet<(String, String, u64)>;

/// What the kernel decided in a batch.
#[derive(Default)]
struct Decided {
    starts: Epochs,
    stops: Epochs,
    posted: Seen,
    /// The same without what coalesces: attempts and messages that no longer stand at the end of the batch as they were decided.
    last_starts: Epochs,
    last_stops: Epochs,
    last_posted: Seen,
}

/// Compares the effects of a batch, which is about to be committed, with what the kernel decided.
pub(super) fn check(engine: &Engine<MemoryReader, TestWorld>, batch: &Batch, reader: &mut MemoryReader) {
    let mut effects = engine.pipeline.effects_in_flight().clone();
    effects.take_in_journal(batch);
    let Effects { starts, stops } = &effects;
    let derived_starts: Epochs = starts.iter().map(|start| (start.hold.step, start.hold.epoch)).collect();
    let derived_stops: Epochs = stops.iter().copied().collect();
    let derived_posted: Seen = posted(batch).map(|news| seen(&news)).collect();
    let decided = decide(batch, reader);
    assert_eq!(derived_starts.len(), starts.len(), "nothing is started twice");
    let within = |of: &str, last: &dyn std::fmt::Debug, derived: &dyn std::fmt::Debug, is_so: bool| {
        assert!(is_so, "{of}: decided {last:?}, derived {derived:?}");
    };
    let Decided { last_starts, last_stops, last_posted, .. } = &decided;
    within("starts", last_starts, &derived_starts, last_starts.is_subset(&derived_starts));
    within("stops", last_stops, &derived_stops, last_stops.is_subset(&derived_stops));
    within("inboxes", last_posted, &derived_posted, last_posted.is_subset(&derived_posted));
    within("more starts", &decided.starts, &derived_starts, derived_starts.is_subset(&decided.starts));
    within("more stops", &decided.stops, &derived_stops, derived_stops.is_subset(&decided.stops));
    within("more inboxes", &decided.posted, &derived_posted, derived_posted.is_subset(&decided.posted));
}

fn decide(batch: &Batch, reader: &mut MemoryReader) -> Decided {
    let mut decided = Decided::default();
    let mut scopes: BTreeMap<Scope, (Option<Rows>, Option<Rows>)> = BTreeMap::new();
    for stored in &batch.ops {
        let op = Op::decode(stored.pos, &stored.bytes).unwrap();
        let scope = op.header.scope;
        let (before, rows) = scopes.entry(scope).or_insert_with(|| {
            let before = match scope {
                Scope::Task(task) => reader.task(task).unwrap().map(Rows::Task),
                Scope::Log => None,
                Scope::Thread(_) | Scope::Repository(_) | Scope::Namespace(_) | Scope::Plan(_) | Scope::Register(_) => {
                    reader.scope(scope).unwrap()
                }
            };
            (before.clone(), before)
        });
        let mut effects = Vec::new();
        kernel::apply(rows, &op, &mut effects).unwrap();
        if rows.take_if(|rows| matches!(rows, Rows::Purged(_))).is_some() {
            *before = None; // what comes under this name is another one
        }
        for effect in effects {
            decided.take_in(scope, rows.as_ref(), &effect);
        }
        if let (Scope::Task(task), Body::Task(task::Body::YieldWork { held, reason })) = (scope, &op.body)
            && reason == "the node stopped"
        {
            decided.stops.insert((StepId { task, index: held.step }, held.epoch));
        }
    }
    for (scope, (before, after)) in &scopes {
        decided.coalesce(*scope, before.as_ref(), after.as_ref());
    }
    let stale: Vec<_> = batch.conflicts.iter().map(|conflict| (conflict.step, conflict.given)).collect();
    decided.stops.extend(stale.iter().copied());
    decided.last_stops.extend(stale);
    decided
}

impl Decided {
    fn take_in(&mut self, scope: Scope, rows: Option<&Rows>, effect: &Effect) {
        match (scope, effect) {
            (Scope::Task(task), Effect::Task(task::Effect::Start { step, epoch })) => {
                self.starts.insert((StepId { task, index: *step }, *epoch));
            }
            (Scope::Task(task), Effect::Task(task::Effect::Stop { step, epoch })) => {
                self.stops.insert((StepId { task, index: *step }, *epoch));
            }
            (
                Scope::Thread(_),
                Effect::Thread(
                    message::Effect::Offer { message }
                    | message::Effect::Wake { message, .. }
                    | message::Effect::End { message, .. },
                ),
            ) => {
                let rows = rows.and_then(Rows::thread).unwrap();
                self.posted.insert(news(rows, &rows.messages[message]));
            }
            _ => {}
        }
    }

    fn coalesce(&mut self, scope: Scope, before: Option<&Rows>, after: Option<&Rows>) {
        if let Scope::Task(task) = scope {
            let (before, after) = (running(task, before), running(task, after));
            self.last_starts.extend(self.starts.intersection(&after).copied());
            self.last_stops.extend(self.stops.intersection(&before).copied());
        }
        let (before, after) = (before.and_then(Rows::thread), after.and_then(Rows::thread));
        for row in after.iter().flat_map(|rows| rows.messages.values()) {
            let was = before.and_then(|rows| rows.messages.get(&row.draft.id));
            let is_over = row.state.is_terminal() && was.is_some();
            if was.is_none_or(|was| was.rev != row.rev) && (row.state == State::Queued || is_over) {
                self.last_posted.insert(news(after.unwrap(), row));
            }
        }
    }
}

fn running(task: TaskId, rows: Option<&Rows>) -> Epochs {
    let Some(Rows::Task(TaskRows { steps, .. })) = rows else { return Epochs::new() };
    let running = (0u16..).zip(steps).filter(|(_, step)| step.status == Status::Running);
    running.map(|(index, step)| (StepId { task, index }, step.epoch)).collect()
}

fn news(rows: &message::ThreadRows, row: &Message) -> (String, String, u64) {
    (rows.thread.namespace.to_string(), row.draft.to.to_string(), row.due_ms)
}

fn seen(posted: &Posted) -> (String, String, u64) {
    (posted.namespace.to_string(), posted.to.to_string(), posted.due_ms)
}

#[derive(Debug, Clone)]
enum Move {
    Submit(u8),
    OfTask(OfTask),
    OfMessage(OfMessage),
    Finish(bool),
    PutRows,
    Commit,
    Pass(u16),
    Full,
    Close,
}

/// A command about a task.
#[derive(Debug, Clone)]
enum OfTask {
    Claim(usize, u16),
    Word(usize, u8),
    Cancel(usize, bool),
    Redrive(usize),
    Answer(usize, bool),
}

/// A command about a message.
#[derive(Debug, Clone)]
enum OfMessage {
    Send(u8, Option<u16>),
    Take(u8, u16),
    Deal(usize, u8),
    Again(usize),
}

fn moves() -> impl Strategy<Value = Move> {
    let of_task = prop_oneof![
        3 => (any::<usize>(), 1u16..2_000).prop_map(|(n, ms)| OfTask::Claim(n, ms)),
        3 => (any::<usize>(), 0u8..3).prop_map(|(n, word)| OfTask::Word(n, word)),
        2 => (any::<usize>(), any::<bool>()).prop_map(|(n, soft)| OfTask::Cancel(n, soft)),
        2 => any::<usize>().prop_map(OfTask::Redrive),
        1 => (any::<usize>(), any::<bool>()).prop_map(|(n, yes)| OfTask::Answer(n, yes)),
    ];
    let of_message = prop_oneof![
        3 => (0u8..3, proptest::option::of(1u16..2_000)).prop_map(|(to, ms)| OfMessage::Send(to, ms)),
        3 => (0u8..3, 1u16..2_000).prop_map(|(to, ms)| OfMessage::Take(to, ms)),
        4 => (any::<usize>(), 0u8..5).prop_map(|(n, how)| OfMessage::Deal(n, how)),
        1 => any::<usize>().prop_map(OfMessage::Again),
    ];
    prop_oneof![
        4 => (0u8..7).prop_map(Move::Submit),
        11 => of_task.prop_map(Move::OfTask),
        11 => of_message.prop_map(Move::OfMessage),
        4 => any::<bool>().prop_map(Move::Finish),
        2 => Just(Move::PutRows),
        6 => Just(Move::Commit),
        2 => (0u16..2_500).prop_map(Move::Pass),
        1 => Just(Move::Full),
        1 => Just(Move::Close),
    ]
}

const INBOXES: [&str; 3] = ["oracle", "a", "b"];

fn graph(shape: u8) -> relaymesh_core::task::request::Request {
    let retry = json!({ "max_attempts": 2, "base_backoff_ms": 100, "max_backoff_ms": 200 });
    super::flow(match shape {
        0 => json!({ "name": "one", "steps": [{ "id": "a", "agent": "hold", "timeout_ms": 900, "retry": retry }] }),
        1 => json!({ "name": "out", "steps": [{ "id": "a", "agent": "outside", "retry": retry }] }),
        2 => json!({ "name": "chain", "steps": [
            { "id": "a", "agent": "hold" }, { "id": "b", "agent": "echo", "depends_on": ["a"] }] }),
        3 => json!({ "name": "saga", "steps": [
            { "id": "a", "agent": "echo", "compensate": "u" },
            { "id": "b", "agent": "fail", "depends_on": ["a"], "retry": retry },
            { "id": "u", "agent": "hold", "retry": retry }] }),
        4 => json!({ "name": "list", "steps": [
            { "id": "find", "agent": "echo", "input": [1, 2] },
            { "id": "each", "agent": "hold", "foreach": "${{ steps.find.result }}", "when": "true" }] }),
        5 => json!({ "name": "asked", "steps": [{ "id": "a", "agent": "oracle" }] }),
        _ => json!({ "name": "may", "steps": [
            { "id": "a", "agent": "echo", "approve": { "text": "may it?", "deadline_ms": 2_000 } }] }),
    })
}

struct Client {
    rig: Rig,
    sent: Vec<Answered>,
    tasks: Vec<TaskId>,
    holds: Vec<Hold>,
    deliveries: Vec<Delivery>,
    messages: Vec<(ThreadId, MessageId)>,
}

/// One of these, if there are any.
fn pick<T: Clone>(all: &[T], n: usize) -> Option<T> {
    (!all.is_empty()).then(|| all[n % all.len()].clone())
}

impl Client {
    fn new(config: Config) -> Self {
        let (tasks, holds, deliveries, messages) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self { rig: Rig::with(config), sent: Vec::new(), tasks, holds, deliveries, messages }
    }

    fn send(&mut self, command: Command) {
        let answered = self.rig.send(command);
        self.sent.push(answered);
    }

    fn play(&mut self, step: Move) {
        match step {
            Move::Submit(shape) => {
                let command = self.rig.submit_command(&graph(shape), Until::Accepted);
                self.send(command);
            }
            Move::Finish(well) => {
                let next = self.rig.levers.lock().unwrap().begun.pop_front();
                if let Some(work) = next {
                    let outcome = if well { done("1") } else { failed("no") };
                    self.rig.engine.handle_finished(Finished::new(work.hold, outcome));
                }
            }
            Move::PutRows => self.rig.engine.put_rows(),
            Move::Commit => drop(self.rig.commit_one()),
            Move::Pass(ms) => self.rig.pass(ms.into()),
            Move::Full => {
                self.rig.disk.fail_next_commit(StoreError::Full { detail: "full".to_owned() }, false);
            }
            Move::Close => self.rig.engine.handle_close(),
            Move::OfTask(step) => {
                if let Some(command) = self.about_task(step) {
                    self.send(command);
                }
            }
            Move::OfMessage(step) => {
                if let Some(command) = self.about_message(step) {
                    self.send(Command::Message(command));
                }
            }
        }
        self.observe();
    }

    fn about_task(&self, step: OfTask) -> Option<Command> {
        let reason = "test".to_owned();
        Some(match step {
            OfTask::Claim(n, lease_ms) => {
                let step = StepId { task: pick(&self.tasks, n)?, index: 0 };
                Command::Claim { step, worker: worker(1), lease_ms: lease_ms.into() }
            }
            OfTask::Word(n, word) => {
                let hold = pick(&self.holds, n)?;
                match word {
                    0 => Command::Finish { hold, outcome: done("1") },
                    1 => Command::Finish { hold, outcome: failed("no") },
                    _ => Command::Yield { hold, reason },
                }
            }
            OfTask::Cancel(n, soft) => {
                let mode = if soft { CancelMode::Soft } else { CancelMode::Hard };
                Command::Cancel { task: pick(&self.tasks, n)?, mode, reason }
            }
            OfTask::Redrive(n) => Command::Redrive { task: pick(&self.tasks, n)?, reason },
            OfTask::Answer(n, yes) => {
                let task = pick(&self.tasks, n)?;
                let ask = self.rig.rows(task).steps[0].spec.approve.as_ref()?.hash();
                let step = StepId { task, index: 0 };
                if yes { Command::Approve { step, ask } } else { Command::Deny { step, ask, reason } }
            }
        })
    }

    fn about_message(&self, step: OfMessage) -> Option<MessageCommand> {
        Some(match step {
            OfMessage::Send(to, ttl_ms) => MessageCommand::Send(Box::new(Letter {
                namespace: name("default"),
                thread: None,
                message: None,
                from: name("asker"),
                to: name(INBOXES[usize::from(to)]),
                priority: Priority::Normal,
                reply_to: None,
                asks: None,
                media: Media::Json,
                content: Content::Inline(b"1".to_vec()),
                trace_id: 7,
                ttl_ms: ttl_ms.map(u64::from),
                max_deliveries: 2,
            })),
            OfMessage::Take(to, lease_ms) => MessageCommand::Take {
                namespace: name("default"),
                agent: name(INBOXES[usize::from(to)]),
                worker: worker(1),
                lease_ms: lease_ms.into(),
                only: None,
            },
            OfMessage::Deal(n, how) => {
                let Delivery { thread, held, .. } = pick(&self.deliveries, n)?;
                match how {
                    0 => MessageCommand::Acknowledge { thread, held },
                    1 => MessageCommand::Reply {
                        thread,
                        held,
                        media: Media::Json,
                        content: Content::Inline(b"2".to_vec()),
                    },
                    2 => MessageCommand::Fail { thread, held, retryable: true, error: "no".to_owned() },
                    3 => MessageCommand::Fail { thread, held, retryable: false, error: "never".to_owned() },
                    _ => MessageCommand::Return { thread, held, reason: "busy".to_owned() },
                }
            }
            OfMessage::Again(n) => {
                let (thread, message) = pick(&self.messages, n)?;
                MessageCommand::Redrive { thread, message, reason: "again".to_owned() }
            }
        })
    }

    fn observe(&mut self) {
        for answered in &self.sent {
            match answered.try_recv() {
                Ok(Ok(Answer::Accepted { task, .. })) => self.tasks.push(task),
                Ok(Ok(Answer::Claimed(hold))) => self.holds.push(hold),
                Ok(Ok(Answer::Taken(Some(delivery)))) => {
                    self.messages.push((delivery.thread, delivery.held.message));
                    self.deliveries.push(*delivery);
                }
                _ => {}
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn effects_derived_from_a_batch_are_those_that_were_decided(
        steps in prop::collection::vec(moves(), 1..80),
        window in 1usize..6,
        slots in 1usize..4,
    ) {
        let mut client = Client::new(Config { queue_capacity: window, slots, batch_ops_max: 16, ..Config::default() });
        for step in steps {
            client.play(step);
        }
        for _ in 0..8 {
            client.rig.pass(1_000);
        }
    }
}
