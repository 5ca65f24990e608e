//! Promises about the journal: what is of this node only.

use super::{Backend, author::WORKERS, graph::Graph, world::World};
use crate::{Day, Heartbeat, LeaseConflict, Reader, Spend};
use relaymesh_core::{
    budget::Amount,
    id::{StepId, TaskId, WorkerId},
    task::Status,
};

/// The newest conflict is first, within a batch and across batches.
pub fn conflicts_are_newest_first<B: Backend>() {
    let mut world = World::<B>::new();
    let task = world.author.submit(&Graph::single());
    for given in 0..6 {
        world.author.note_conflict(task, 0, "complete", given);
        if given % 3 == 2 {
            world.commit();
        }
    }
    let given: Vec<u32> = world.reader().conflicts(100).unwrap().iter().map(|conflict| conflict.given).collect();
    assert_eq!(given, [5, 4, 3, 2, 1, 0]);
}

/// No more than asked for, and those are the newest.
pub fn conflicts_are_limited<B: Backend>() {
    let mut world = World::<B>::new();
    assert!(world.reader().conflicts(10).unwrap().is_empty());
    let task = world.author.submit(&Graph::single());
    (0..10).for_each(|given| world.author.note_conflict(task, 0, "fail", given));
    world.commit();
    let given: Vec<u32> = world.reader().conflicts(3).unwrap().iter().map(|conflict| conflict.given).collect();
    assert_eq!(given, [9, 8, 7]);
}

/// Every field comes back, for every verb, status and the largest numbers.
pub fn a_conflict_keeps_all_its_fields<B: Backend>() {
    let mut world = World::<B>::new();
    let step = StepId { task: TaskId::new(5, 6), index: 1023 };
    let verbs = ["complete", "fail", "yield"];
    let conflict =
        |(at_ms, found): (u64, Status), verb| LeaseConflict { at_ms, step, verb, found, epoch: u32::MAX, given: 7 };
    let cases = (1_700_000_000_000..).zip(Status::ALL);
    let mut batch = world.author.take();
    batch.conflicts = cases.flat_map(|case| verbs.map(|verb| conflict(case, verb))).collect();
    world.try_commit(&batch).unwrap();
    let mut found = world.reader().conflicts(1_000).unwrap();
    found.reverse();
    assert_eq!(found, batch.conflicts);
}

/// Of several heartbeats the last one counts, within a batch and across batches.
pub fn the_last_heartbeat_counts<B: Backend>() {
    let mut world = World::<B>::new();
    world.author.note_heartbeat(WORKERS[0]);
    let first_ms = world.author.now_ms;
    world.author.note_heartbeat(WORKERS[1]);
    world.author.now_ms += 10;
    world.author.note_heartbeat(WORKERS[1]);
    world.commit();
    assert_eq!(world.reader().heartbeat(WORKERS[0]).unwrap(), Some(first_ms));
    assert_eq!(world.reader().heartbeat(WORKERS[1]).unwrap(), Some(first_ms + 10));
    world.author.now_ms += 10;
    world.author.note_heartbeat(WORKERS[0]);
    world.commit();
    assert_eq!(world.reader().heartbeat(WORKERS[0]).unwrap(), Some(first_ms + 20));
    assert_eq!(world.reader().heartbeat(WORKERS[1]).unwrap(), Some(first_ms + 10));
}

/// A worker that never spoke is `None`.
pub fn an_unknown_worker_was_never_heard_of<B: Backend>() {
    let mut world = World::<B>::new();
    world.author.note_heartbeat(WORKERS[0]);
    world.commit();
    assert_eq!(world.reader().heartbeat(WorkerId::new(9, 9)).unwrap(), None);
}

/// A batch of journal rows alone is kept, and moves neither the log nor the state.
pub fn a_journal_alone_moves_no_head<B: Backend>() {
    let mut world = World::<B>::new();
    let task = world.author.submit(&Graph::single());
    world.commit();
    let before = world.reader().head().unwrap();
    world.author.note_conflict(task, 0, "yield", 1);
    let mut batch = world.author.take();
    batch.heartbeats.push(Heartbeat { worker: WORKERS[2], at_ms: 5 });
    assert!(!batch.is_empty());
    world.try_commit(&batch).unwrap();
    let mut reader = world.reader();
    assert_eq!(reader.head().unwrap(), before);
    assert_eq!((reader.conflicts(9).unwrap().len(), reader.heartbeat(WORKERS[2]).unwrap()), (1, Some(5)));
}

fn spend(day: u32, agent: &str, task: u128, amount: Amount) -> Spend {
    let namespace = if agent == "b" { "team" } else { "default" };
    let (namespace, agent) = (namespace.parse().unwrap(), agent.parse().unwrap());
    Spend { day: Day(day), namespace, agent, task: TaskId::new(1, task), amount }
}

/// What is used for the same task by the same agent on the same day is added up, within a batch and across batches.
pub fn what_is_used_adds_up<B: Backend>() {
    let mut world = World::<B>::new();
    let some = Amount { tokens: 10, turns: 1, wall_ms: 5, cost_micros: 7 };
    let more = Amount { tokens: 1, turns: 0, wall_ms: 1, cost_micros: 0 };
    let mut batch = world.author.take();
    batch.spends = vec![spend(3, "a", 1, some), spend(2, "b", 1, some), spend(3, "a", 1, more)];
    assert!(!batch.is_empty());
    world.try_commit(&batch).unwrap();
    let mut batch = world.author.take();
    batch.spends = vec![spend(3, "a", 1, some), spend(3, "a", 2, more)];
    world.try_commit(&batch).unwrap();
    let sum = some.plus(more).plus(some);
    let mut reader = world.reader();
    let of_day = [spend(3, "a", 1, sum), spend(3, "a", 2, more)];
    assert_eq!(reader.spends(Day(3)).unwrap(), of_day);
    assert_eq!(reader.spends(Day(0)).unwrap(), [&[spend(2, "b", 1, some)][..], &of_day].concat());
    assert!(reader.spends(Day(4)).unwrap().is_empty());
    assert_eq!(reader.spends_for(TaskId::new(1, 1)).unwrap(), [spend(2, "b", 1, some), spend(3, "a", 1, sum)]);
    assert!(reader.spends_for(TaskId::new(1, 3)).unwrap().is_empty());
}

/// However much is used, a sum never gets smaller, nor stops being a number.
pub fn what_is_used_does_not_overflow<B: Backend>() {
    let mut world = World::<B>::new();
    let most = Amount { tokens: i64::MAX as u64, ..Amount::default() };
    for _ in 0..2 {
        let mut batch = world.author.take();
        batch.spends = vec![spend(3, "a", 1, most)];
        world.try_commit(&batch).unwrap();
        let found = world.reader().spends(Day(3)).unwrap();
        assert!(found[0].amount.tokens >= most.tokens);
    }
}
