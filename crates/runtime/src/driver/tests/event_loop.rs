//! The loop without threads: what a turn does, and in which order.

use super::{Answered, Levers, Rig, TestWorld, caller, done, name};
use crate::{
    driver::{Answer, Command, Config, Error, EventLoop, LifeCommand, Next, Request, Turn, Until},
    world::Finished,
};
use relaymesh_core::task::{Status, request::Request as Asked};
use relaymesh_store::{Batch, Error as StoreError, Store as _, memory::MemoryReader, memory::MemoryStore};
use std::sync::{Arc, Mutex, mpsc};

/// Makes a submit of one step.
type Submits = Box<dyn FnMut(&str, Until) -> Command>;

/// A loop, and the store that its batches go to.
struct Loop {
    turns: EventLoop<MemoryReader, TestWorld>,
    store: MemoryStore,
    levers: Arc<Mutex<Levers>>,
    submits: Submits,
}

impl Loop {
    fn new(config: Config) -> Self {
        let mut rig = Rig::with(config.clone());
        let engine = super::Engine::new(rig.disk.reader(), TestWorld(Arc::clone(&rig.levers), Vec::new()), config);
        let (store, levers) = (rig.store.take().unwrap(), Arc::clone(&rig.levers));
        let submits = Box::new(move |agent: &str, until| {
            rig.submit_command(&Asked::single(name(agent), Some(serde_json::json!({ "n": 1 }))), until)
        });
        Self { turns: EventLoop::new(engine.unwrap()), store, levers, submits }
    }

    fn send(&mut self, agent: &str, until: Until) -> Answered {
        let command = (self.submits)(agent, until);
        let (answer, answered) = mpsc::channel();
        let reply = Box::new(move |result| answer.send(result).unwrap_or_default());
        self.turns.handle_request(Request { caller: caller(), command, reply });
        answered
    }

    /// The writer commits a batch, and the loop is told; what the loop gives out next.
    fn commit(&mut self, batch: &Batch) -> Option<Arc<Batch>> {
        let result = self.store.commit(batch);
        self.turns.handle_committed(result)
    }

    /// Turns and commits until there is nothing to do but wait.
    fn settle(&mut self) -> Next {
        let mut writing: Option<Arc<Batch>> = None;
        for _ in 0..1_000 {
            if let Some(batch) = writing.take() {
                writing = self.commit(&batch);
                self.turns.tell();
            }
            let Turn { batch, next } = self.turns.poll_turn(32);
            writing = writing.or(batch);
            if writing.is_none() && next != Next::Again {
                return next;
            }
        }
        panic!("the loop never waits");
    }
}

fn narrow(batch_ops_max: usize) -> Config {
    Config { batch_ops_max, ..Config::default() }
}

#[test]
fn a_turn_decides_a_little_and_says_that_there_is_more() {
    let mut turns = Loop::new(Config::default());
    let answers: Vec<Answered> = (0..5).map(|_| turns.send("hold", Until::Accepted)).collect();
    let Turn { batch, next } = turns.turns.poll_turn(2);
    let batch = batch.expect("the writer is free, so it gets what there is");
    assert_eq!((next, turns.turns.waiting()), (Next::Again, 3));
    let Turn { batch: second, next } = turns.turns.poll_turn(2);
    assert!(second.is_none(), "one batch is on its way");
    assert_eq!((next, turns.turns.waiting()), (Next::Again, 1));
    assert_eq!(turns.turns.poll_turn(2).next, Next::Wait);
    assert!(answers[0].try_recv().is_err(), "nothing is durable yet");
    assert!(turns.commit(&batch).is_some());
}

#[test]
fn the_writer_gets_its_next_batch_before_anybody_is_answered() {
    let mut turns = Loop::new(Config::default());
    let first = turns.send("hold", Until::Accepted);
    let batch = turns.turns.poll_turn(32).batch.unwrap();
    let second = turns.send("hold", Until::Accepted);
    assert!(turns.turns.poll_turn(32).batch.is_none());
    let next = turns.commit(&batch).expect("the next batch comes with the result of the last");
    assert!(first.try_recv().is_err(), "and its answers come after it");
    turns.turns.tell();
    assert!(matches!(first.try_recv(), Ok(Ok(Answer::Accepted { .. }))));
    assert!(second.try_recv().is_err());
    assert!(turns.commit(&next).is_none());
    turns.turns.poll_turn(32);
    assert!(matches!(second.try_recv(), Ok(Ok(Answer::Accepted { .. }))), "a turn tells what nobody has told");
}

#[test]
fn a_full_batch_waits_for_the_writer_and_not_in_a_circle() {
    let mut turns = Loop::new(narrow(2));
    let answers: Vec<Answered> = (0..6).map(|_| turns.send("hold", Until::Accepted)).collect();
    let batch = turns.turns.poll_turn(32).batch.unwrap();
    let Turn { batch: second, next } = turns.turns.poll_turn(32);
    assert!(second.is_none());
    assert_eq!(next, Next::Wait, "there are requests, and no room for them");
    assert!(turns.turns.waiting() > 0);
    turns.turns.handle_idle();
    let mut writing = turns.commit(&batch);
    turns.turns.tell();
    while let Some(batch) = writing.take() {
        writing = turns.commit(&batch);
        turns.turns.tell();
        writing = writing.or_else(|| turns.turns.poll_turn(32).batch);
    }
    turns.settle();
    let accepted = answers.iter().filter(|answer| matches!(answer.try_recv(), Ok(Ok(Answer::Accepted { .. })))).count();
    assert_eq!(accepted, 6);
}

#[test]
fn what_changes_nothing_is_answered_without_the_writer() {
    let mut turns = Loop::new(Config::default());
    let command = (turns.submits)("echo", Until::Accepted);
    let ask = |turns: &mut Loop| {
        let (answer, answered) = mpsc::channel();
        let reply = Box::new(move |result| answer.send(result).unwrap_or_default());
        turns.turns.handle_request(Request { caller: caller(), command: command.clone(), reply });
        answered
    };
    ask(&mut turns);
    turns.settle();
    let again = ask(&mut turns);
    let Turn { batch, next } = turns.turns.poll_turn(32);
    assert!(batch.is_none(), "there is nothing to write");
    assert_eq!(next, Next::Wait);
    assert!(matches!(again.try_recv(), Ok(Ok(Answer::Accepted { merged: true, .. }))));
}

#[test]
fn a_loop_that_is_told_to_stop_refuses_what_waits_and_ends_when_all_is_durable() {
    let mut turns = Loop::new(Config::default());
    let accepted = turns.send("hold", Until::Accepted);
    let batch = turns.turns.poll_turn(32).batch.unwrap();
    let refused = turns.send("hold", Until::Accepted);
    turns.turns.handle_stop();
    assert_eq!(turns.turns.poll_turn(32).next, Next::Wait, "a batch is on its way");
    assert!(matches!(refused.try_recv(), Ok(Err(Error::Stopped))));
    assert_eq!(turns.turns.wake_at(), None, "only the writer is waited for, whatever is due");
    let given_back = turns.commit(&batch).expect("the attempt that was claimed is given back");
    turns.turns.tell();
    assert!(matches!(accepted.try_recv(), Ok(Ok(Answer::Accepted { .. }))));
    assert_eq!(turns.turns.poll_turn(32).next, Next::Wait);
    assert!(turns.commit(&given_back).is_none());
    assert_eq!(turns.settle(), Next::Ended(Ok(())));
}

#[test]
fn a_poisoned_store_ends_the_loop_and_says_why() {
    let mut turns = Loop::new(Config::default());
    let answered = turns.send("hold", Until::Accepted);
    turns.turns.poll_turn(32).batch.unwrap();
    let failed = Err(StoreError::Poisoned { detail: "a sync failed".to_owned() });
    assert!(turns.turns.handle_committed(failed).is_none());
    assert!(matches!(answered.try_recv(), Ok(Err(Error::Indeterminate(_)))));
    let Next::Ended(Err(why)) = turns.turns.poll_turn(32).next else { panic!("it goes on") };
    assert!(why.contains("a sync failed"), "{why}");
}

#[test]
fn an_idle_loop_sleeps_until_something_falls_due() {
    let mut turns = Loop::new(Config::default());
    assert_eq!(turns.settle(), Next::Wait);
    assert_eq!(turns.turns.wake_at(), None, "nothing is due, ever");
    let failing = turns.send("fail", Until::Ended);
    assert_eq!(turns.settle(), Next::Wait);
    let wake_at = turns.turns.wake_at().expect("the second attempt is due");
    let mono_ms = turns.levers.lock().unwrap().mono_ms;
    assert!(wake_at > mono_ms, "and not now");
    assert!(failing.try_recv().is_err());
}

#[test]
fn an_attempt_that_ends_is_written_in_the_next_turn() {
    let mut turns = Loop::new(Config::default());
    let ended = turns.send("hold", Until::Ended);
    turns.settle();
    let work = turns.levers.lock().unwrap().begun.pop_front().expect("it has begun");
    turns.turns.handle_finished(Finished::new(work.hold, done("7")));
    turns.settle();
    assert!(matches!(ended.try_recv(), Ok(Ok(Answer::Ended { status: Status::Success, .. }))));
    assert!(turns.turns.is_settled());
    assert_eq!(turns.turns.glance().pos, 3);
}

impl Loop {
    fn upkeep(&mut self, command: LifeCommand) -> Answered {
        let (answer, answered) = mpsc::channel();
        let reply = Box::new(move |result| answer.send(result).unwrap_or_default());
        self.turns.handle_request(Request { caller: caller(), command: Command::Life(command), reply });
        answered
    }

    fn pass(&mut self, ms: u64) {
        let mut levers = self.levers.lock().unwrap();
        levers.mono_ms += ms;
        levers.wall_ms += ms;
    }

    fn now_ms(&self) -> u64 {
        self.levers.lock().unwrap().mono_ms
    }
}

fn swept(answered: &Answered) -> Option<u64> {
    match answered.try_recv().ok()? {
        Ok(Answer::Swept { count, .. }) => Some(count),
        other => panic!("{other:?}"),
    }
}

#[test]
fn upkeep_takes_all_the_time_when_nobody_else_wants_it() {
    let mut turns = Loop::new(Config::default());
    (0..100).for_each(|_| drop(turns.send("echo", Until::Accepted)));
    turns.settle();
    turns.pass(1_000);
    let sweep = LifeCommand::Sweep { until_ms: u64::MAX };
    for count in [64, 36] {
        let answered = turns.upkeep(sweep.clone());
        turns.settle();
        assert_eq!(swept(&answered), Some(count), "one whole slice after the other, at once");
    }
}

#[test]
fn upkeep_takes_a_small_share_of_what_others_have_written_and_rests_in_between() {
    let mut turns = Loop::new(Config::default());
    (0..100).for_each(|_| drop(turns.send("echo", Until::Accepted)));
    turns.settle();
    let sweep = LifeCommand::Sweep { until_ms: u64::MAX };
    let first = turns.upkeep(sweep.clone());
    assert_eq!(turns.settle(), Next::Wait, "others were there a moment ago");
    assert_eq!((swept(&first), turns.turns.waiting()), (None, 1));
    assert!(!turns.turns.is_settled());
    assert_eq!(turns.turns.wake_at(), Some(turns.now_ms() + 11), "it need not wait for longer than that");
    turns.send("hold", Until::Accepted);
    turns.settle();
    assert_eq!(swept(&first), Some(16), "a small slice goes with the batch of somebody else");
    let second = turns.upkeep(sweep.clone());
    turns.pass(1);
    turns.send("hold", Until::Accepted);
    turns.settle();
    assert_eq!(swept(&second), None, "it rests after that");
    turns.pass(1);
    turns.send("hold", Until::Accepted);
    turns.settle();
    assert_eq!(swept(&second), Some(16));
    let third = turns.upkeep(sweep.clone());
    turns.pass(11);
    turns.settle();
    assert_eq!(swept(&third), Some(64), "everybody else is gone");
}

#[test]
fn upkeep_rests_longer_after_a_batch_that_took_long() {
    let mut turns = Loop::new(Config::default());
    (0..100).for_each(|_| drop(turns.send("echo", Until::Accepted)));
    turns.settle();
    let sweep = LifeCommand::Sweep { until_ms: u64::MAX };
    let slow = turns.upkeep(sweep.clone());
    turns.send("hold", Until::Accepted);
    let batch = turns.turns.poll_turn(32).batch.unwrap();
    turns.pass(20);
    let writing = turns.commit(&batch);
    turns.turns.tell();
    assert_eq!((swept(&slow), writing.is_none()), (Some(16), true));
    let next = turns.upkeep(sweep);
    for waited_ms in (5..85).step_by(5) {
        turns.pass(5);
        turns.send("hold", Until::Accepted);
        turns.settle();
        let expected = (waited_ms == 80).then_some(16);
        assert_eq!(swept(&next), expected, "{waited_ms} ms after it");
    }
}

#[test]
fn upkeep_takes_a_quarter_of_large_batches_without_a_rest() {
    let mut turns = Loop::new(Config::default());
    (0..200).for_each(|_| drop(turns.send("echo", Until::Accepted)));
    turns.settle();
    for _ in 0..3 {
        let answered = turns.upkeep(LifeCommand::Sweep { until_ms: u64::MAX });
        (0..100).for_each(|_| drop(turns.send("hold", Until::Accepted)));
        let batch = turns.turns.poll_turn(100).batch.unwrap();
        turns.commit(&batch);
        turns.turns.tell();
        let count = swept(&answered).unwrap();
        assert!((25..=50).contains(&count), "{count}");
        turns.settle();
    }
}

#[test]
fn upkeep_that_waits_is_refused_when_the_loop_stops() {
    let mut turns = Loop::new(Config::default());
    turns.send("hold", Until::Accepted);
    turns.settle();
    let waiting = turns.upkeep(LifeCommand::Compact);
    turns.turns.handle_stop();
    assert_eq!(turns.settle(), Next::Ended(Ok(())));
    assert!(matches!(waiting.try_recv(), Ok(Err(Error::Stopped))));
}
