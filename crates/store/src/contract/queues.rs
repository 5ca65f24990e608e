//! Promises about queues and leases: who may go on, when, and who holds what.

use super::{
    Backend,
    author::{LEASE_MS, OWNERS, WORKERS},
    gallery::gallery,
    graph::{Graph, asking},
    snapshot::{all_due, all_leased},
    world::World,
};
use crate::{Queue, Reader, StepKey};
use relaymesh_core::{
    id::TaskId,
    lanes::Priority,
    op::CancelMode,
    task::{Status, TaskRows},
};

const NORMAL: Queue = Queue::Ready(Priority::Normal);

fn key(rows: &TaskRows, place: u16) -> StepKey {
    StepKey::new(rows.task.key, place)
}

/// Steps that wait for others are in no queue; they enter it when the last of those has succeeded.
pub fn only_ready_steps_are_due<B: Backend>() {
    let mut world = World::<B>::new();
    let task = world.author.submit(&Graph::chain(3));
    world.commit();
    for place in 0..3 {
        let now_ms = world.author.now_ms;
        let expected = vec![(0, key(world.author.rows(task), place))];
        assert_eq!(all_due(&mut world.reader(), NORMAL, now_ms), expected);
        world.author.finish(task, place);
        world.commit();
    }
    assert!(all_due(&mut world.reader(), NORMAL, world.author.now_ms).is_empty());
}

/// A step stands in the lane of its priority and in no other.
pub fn each_lane_has_its_own_queue<B: Backend>() {
    let mut world = World::<B>::new();
    let lanes = [Priority::High, Priority::Normal, Priority::Low];
    let tasks = lanes.map(|lane| world.author.submit(&Graph::wide(2).priority(lane)));
    world.commit();
    let mut reader = world.reader();
    for (lane, task) in lanes.into_iter().zip(tasks) {
        let expected = [0, 1].map(|place| (0, key(world.author.rows(task), place)));
        assert_eq!(all_due(&mut reader, Queue::Ready(lane), world.author.now_ms), expected);
    }
    assert!(all_due(&mut reader, Queue::Approval, world.author.now_ms).is_empty());
}

/// What has waited longest is first; among equals the key decides.
pub fn due_is_in_order_of_time_then_key<B: Backend>() {
    let mut world = World::<B>::new();
    let tasks = world.author.submit_all(12, &Graph::single());
    // Later tasks fail earlier, so that the order of time is not the order of keys.
    for task in tasks.iter().rev().step_by(2) {
        world.author.now_ms += 10;
        let held = world.author.claim(*task, 0);
        world.author.fail(*task, held, true).unwrap();
    }
    world.author.now_ms += 1_000_000;
    world.commit();
    let due = all_due(&mut world.reader(), NORMAL, world.author.now_ms);
    assert_eq!(due.len(), 12);
    assert!(due.is_sorted(), "{due:?}");
    assert_eq!(due.iter().filter(|(due_ms, _)| *due_ms == 0).count(), 6);
    let keys =
        |tasks: &mut dyn Iterator<Item = &TaskId>| tasks.map(|t| key(world.author.rows(*t), 0)).collect::<Vec<_>>();
    let retries = keys(&mut tasks.iter().rev().step_by(2));
    assert_eq!(due[6..].iter().map(|(_, key)| *key).collect::<Vec<_>>(), retries);
}

/// Of each page those of the namespace are given, and where the page ended unless it was the last.
pub fn steps_of_a_namespace_are_found_page_by_page<B: Backend>() {
    let mut world = World::<B>::new();
    for n in 0..9 {
        let graph = Graph::wide(2);
        world.author.submit(&if n % 3 == 0 { graph.namespace("small") } else { graph });
    }
    world.commit();
    let (mut reader, now_ms) = (world.reader(), world.author.now_ms);
    let all = all_due(&mut reader, NORMAL, now_ms);
    let small = "small".parse().unwrap();
    let expected: Vec<_> = all.iter().enumerate().filter(|(at, _)| (at / 2) % 3 == 0).map(|(_, due)| *due).collect();
    assert_eq!(expected.len(), 6);
    for limit in 1..20 {
        let (mut found, mut after) = (Vec::new(), None);
        loop {
            let (page, last) = reader.due_in(&small, NORMAL, now_ms, after, limit).unwrap();
            found.extend(page);
            let Some(last) = last else { break };
            after = Some(last);
        }
        assert_eq!(found, expected, "pages of {limit}");
    }
    let nobody = "nobody".parse().unwrap();
    assert_eq!(reader.due_in(&nobody, NORMAL, now_ms, None, 100).unwrap(), (Vec::new(), None));
}

/// Pages of every length join to the whole, across equal times too.
pub fn due_is_paged_without_loss_or_doubles<B: Backend>() {
    let mut world = World::<B>::new();
    world.author.submit_all(9, &Graph::wide(3));
    world.commit();
    let mut reader = world.reader();
    let now_ms = world.author.now_ms;
    let whole = reader.due(NORMAL, now_ms, None, 1_000).unwrap();
    assert_eq!(whole.len(), 27);
    for limit in [1, 2, 5, 26, 27, 28] {
        let mut joined = Vec::new();
        loop {
            let page = reader.due(NORMAL, now_ms, joined.last().copied(), limit).unwrap();
            if page.is_empty() {
                break;
            }
            joined.extend(page);
        }
        assert_eq!(joined, whole, "in pages of {limit}");
    }
}

/// A retry shows exactly from the millisecond on in which it is due.
pub fn what_is_not_due_yet_is_invisible<B: Backend>() {
    let mut world = World::<B>::new();
    let task = world.author.submit(&Graph::single());
    let held = world.author.claim(task, 0);
    world.author.fail(task, held, true).unwrap();
    world.commit();
    let due_ms = world.author.step(task, 0).due_ms;
    let mut reader = world.reader();
    assert!(reader.due(NORMAL, due_ms - 1, None, 10).unwrap().is_empty());
    assert_eq!(reader.due(NORMAL, due_ms, None, 10).unwrap(), [(due_ms, key(world.author.rows(task), 0))]);
}

/// An approval with a deadline waits in a queue of its own until somebody decides; one without does not.
pub fn approvals_with_a_deadline_have_a_queue<B: Backend>() {
    let mut world = World::<B>::new();
    let steps = vec![asking("soon", Some(500)), asking("later", Some(900)), asking("ever", None)];
    let task = world.author.submit(&Graph::of(steps));
    world.commit();
    let late_ms = world.author.now_ms + 1_000;
    let entry = |world: &World<B>, place| (world.author.step(task, place).due_ms, key(world.author.rows(task), place));
    let both = [entry(&world, 0), entry(&world, 1)];
    assert_eq!(all_due(&mut world.reader(), Queue::Approval, late_ms), both);
    assert!(all_due(&mut world.reader(), NORMAL, late_ms).is_empty());
    world.author.decide(task, 0, true).unwrap();
    world.commit();
    assert_eq!(all_due(&mut world.reader(), Queue::Approval, late_ms), both[1..]);
    assert_eq!(all_due(&mut world.reader(), NORMAL, late_ms), [(0, both[0].1)]);
}

/// A step leaves its queue when it is claimed and is back when it is given back.
pub fn a_claimed_step_leaves_its_queue<B: Backend>() {
    let mut world = World::<B>::new();
    let task = world.author.submit(&Graph::single());
    world.commit();
    let held = world.author.claim(task, 0);
    world.commit();
    assert!(all_due(&mut world.reader(), NORMAL, world.author.now_ms).is_empty());
    world.author.give_back(task, held).unwrap();
    world.commit();
    assert_eq!(all_due(&mut world.reader(), NORMAL, world.author.now_ms).len(), 1);
}

/// The next due time is the earliest one after now, whatever the queue.
pub fn the_next_due_time_is_the_first_of_all_queues<B: Backend>() {
    let mut world = World::<B>::new();
    let approval = world.author.submit(&Graph::of(vec![asking("a", Some(200_000))]));
    let mut times = vec![world.author.step(approval, 0).due_ms];
    for lane in [Priority::Low, Priority::High, Priority::Normal] {
        world.author.now_ms += 10;
        let task = world.author.submit(&Graph::single().priority(lane));
        let held = world.author.claim(task, 0);
        world.author.fail(task, held, true).unwrap();
        times.push(world.author.step(task, 0).due_ms);
    }
    world.author.submit(&Graph::single());
    world.commit();
    times.sort_unstable();
    let mut reader = world.reader();
    let mut now_ms = world.author.now_ms;
    for expected in times {
        assert_eq!(reader.next_due(now_ms).unwrap(), Some(expected));
        assert_eq!(reader.next_due(expected - 1).unwrap(), Some(expected));
        now_ms = expected;
    }
    assert_eq!(reader.next_due(now_ms).unwrap(), None);
}

/// What is due already is no reason to wake up later.
pub fn with_nothing_to_come_there_is_no_next_due_time<B: Backend>() {
    let mut world = World::<B>::new();
    assert_eq!(world.reader().next_due(0).unwrap(), None);
    let tasks = world.author.submit_all(2, &Graph::single());
    world.author.claim(tasks[0], 0);
    world.author.submit(&Graph::of(vec![asking("ever", None)]));
    world.commit();
    assert_eq!(world.reader().next_due(0).unwrap(), None);
    assert_eq!(world.reader().next_due(world.author.now_ms).unwrap(), None);
}

/// Each owner finds what it holds and nothing of another's.
pub fn leases_are_found_by_owner<B: Backend>() {
    let mut world = World::<B>::new();
    let task = world.author.submit(&Graph::wide(9));
    for place in 0..8 {
        let owner = OWNERS[usize::from(place) % 2];
        world.author.try_claim(task, place, owner, WORKERS[usize::from(place) % 3]).unwrap();
    }
    world.commit();
    let mut reader = world.reader();
    let expected = |places: [u16; 4]| places.map(|place| key(world.author.rows(task), place));
    assert_eq!(all_leased(&mut reader, OWNERS[0]), expected([0, 2, 4, 6]));
    assert_eq!(all_leased(&mut reader, OWNERS[1]), expected([1, 3, 5, 7]));
    assert!(all_leased(&mut reader, OWNERS[2]).is_empty());
}

/// Leases come in the order of keys, after the given one.
pub fn leases_are_paged_by_key<B: Backend>() {
    let mut world = World::<B>::new();
    let tasks = world.author.submit_all(20, &Graph::single());
    for task in tasks.iter().rev() {
        world.author.claim(*task, 0);
    }
    world.commit();
    let (mut reader, node) = (world.reader(), world.author.node());
    let whole = reader.leased(node, None, 100).unwrap();
    assert_eq!(whole, tasks.iter().map(|task| key(world.author.rows(*task), 0)).collect::<Vec<_>>());
    assert_eq!(reader.leased(node, Some(whole[4]), 3).unwrap(), whole[5..8]);
    assert_eq!(all_leased(&mut reader, node), whole);
    assert!(reader.leased(node, whole.last().copied(), 3).unwrap().is_empty());
}

/// Steps that wait for an approval are found, with a deadline and without, in pages, until somebody decides.
pub fn steps_that_wait_for_an_approval_are_found<B: Backend>() {
    let mut world = World::<B>::new();
    gallery(&mut world.author);
    let asked = [None, Some(9_000), None].map(|deadline| world.author.submit(&Graph::of(vec![asking("it", deadline)])));
    world.commit();
    let mut reader = world.reader();
    let all = reader.waiting(None, 1_000).unwrap();
    let expected = asked.map(|task| key(world.author.rows(task), 0));
    assert_eq!(all[all.len() - 3..], expected);
    assert!(all.iter().all(|key| {
        let rows = reader.task_at(key.task()).unwrap().unwrap();
        rows.steps[usize::from(key.place())].status == Status::Waiting
    }));
    assert_eq!(reader.waiting(Some(expected[0]), 1).unwrap(), expected[1..2]);
    world.author.decide(asked[1], 0, true).unwrap();
    world.commit();
    assert_eq!(world.reader().waiting(Some(expected[0]), 9).unwrap(), expected[2..]);
}

/// However an attempt ends, its lease goes with it.
pub fn a_lease_is_gone_with_its_attempt<B: Backend>() {
    let mut world = World::<B>::new();
    gallery(&mut world.author);
    let tasks = world.author.submit_all(5, &Graph::single());
    let held: Vec<_> = tasks.iter().map(|task| world.author.claim(*task, 0)).collect();
    world.commit();
    world.author.complete(tasks[0], held[0], b"1").unwrap();
    world.author.fail(tasks[1], held[1], true).unwrap();
    world.author.give_back(tasks[2], held[2]).unwrap();
    world.author.cancel(tasks[3], CancelMode::Hard).unwrap();
    world.author.now_ms += LEASE_MS + 1;
    world.author.expire(tasks[4], 0, held[4].epoch).unwrap();
    world.commit();
    for owner in OWNERS.into_iter().chain([world.author.node()]) {
        for key in all_leased(&mut world.reader(), owner) {
            let rows = world.reader().task_at(key.task()).unwrap().unwrap();
            assert_eq!(rows.steps[usize::from(key.place())].status, Status::Running);
            assert!(!tasks.contains(&rows.task.id), "{} is still held", rows.task.id);
        }
    }
}
