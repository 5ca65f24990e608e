//! Two backends, one random history, every answer compared after every commit.
//!
//! The contract says what people thought of; this finds what they did not. A seed derives the whole history, so a
//! failure is repeated by its seed alone.

use super::{
    Backend,
    author::{Author, LEASE_MS, OWNERS, WORKERS},
    graph::{Graph, asking, name, step},
    plans, scopes,
    snapshot::Snapshot,
};
use crate::{Batch, Error, Reader, Store, memory::MemoryStore, verify};
use relaymesh_core::{
    id::{TaskId, ThreadId},
    kernel::Rows,
    lanes::Priority,
    message::State,
    op::{CancelMode, HeldLock, HeldMessage, Hold, Scope},
    plan::{self, Item, Status as ItemStatus},
    task::{
        Refusal, Status, Step, TaskRows,
        spec::{IdempotencyKey, RetryPolicy, StepSpec},
    },
};

const COMMITS: u64 = 30;
const COMMANDS_MAX: u64 = 12;

/// Plays one history per seed on a fresh `A` and a fresh `B`, and stops at the first answer that differs.
pub fn differential<A: Backend, B: Backend>(seeds: impl IntoIterator<Item = u64>) {
    differential_with::<A, B, ()>(seeds, |(), _, _| {});
}

/// The same, and `beside` adds what it likes to each batch, from a state that begins anew with each seed.
pub fn differential_with<A: Backend, B: Backend, T: Default>(
    seeds: impl IntoIterator<Item = u64>,
    beside: impl Fn(&mut T, &mut Dice, &mut Batch),
) {
    for seed in seeds {
        let mut dice = Dice(seed);
        let (mut a, mut b) = (Side::<A>::new(), Side::<B>::new());
        let mut author = Author::resume(&mut a.store().reader().unwrap());
        let mut state = T::default();
        for commit in 0..COMMITS {
            for _ in 0..dice.below(COMMANDS_MAX) {
                command(&mut author, &mut dice);
            }
            upkeep(&mut author, &mut dice, &mut a.store().reader().unwrap());
            let mut batch = author.take();
            beside(&mut state, &mut dice, &mut batch);
            a.commit(&batch);
            b.commit(&batch);
            if dice.below(4) == 0 && !batch.ops.is_empty() {
                let errors = [a.store().commit(&batch), b.store().commit(&batch)].map(Result::unwrap_err);
                assert!(errors.iter().all(|error| matches!(error, Error::Conflict { .. })), "{errors:?}");
            }
            [&mut a as &mut dyn Restart, &mut b].into_iter().for_each(|side| {
                if dice.below(6) == 0 {
                    side.restart();
                }
            });
            if batch.head.pos > 0 {
                a.snapshot().must_equal(&b.snapshot(), &format!("the other store (seed {seed}, commit {commit})"));
            }
        }
        let mut reader = b.store().reader().unwrap();
        verify::chain(&mut reader, verify::Checked::default(), &mut |_| {}).unwrap();
        verify::rows(&mut reader, &mut |_| {}).unwrap();
        let mut rebuilt = MemoryStore::new(author.node());
        let report = verify::rebuild(&mut reader, &mut rebuilt, &mut |_| {});
        assert_eq!(report.map(|report| report.differences), Ok(Vec::new()), "seed {seed}");
    }
}

/// One backend with its open store.
struct Side<B: Backend> {
    backend: B,
    store: Option<B::Store>,
}

trait Restart {
    fn restart(&mut self);
}

impl<B: Backend> Side<B> {
    fn new() -> Self {
        let mut backend = B::fresh();
        let store = Some(backend.open().unwrap());
        Self { backend, store }
    }

    fn store(&mut self) -> &mut B::Store {
        self.store.as_mut().unwrap()
    }

    fn commit(&mut self, batch: &Batch) {
        self.store().commit(batch).unwrap();
    }

    fn snapshot(&mut self) -> Snapshot {
        Snapshot::of(&mut self.store().reader().unwrap())
    }
}

impl<B: Backend> Restart for Side<B> {
    fn restart(&mut self) {
        drop(self.store.take());
        self.store = Some(self.backend.open().unwrap());
    }
}

/// One random command. Most are possible; those that are not are refused by the kernel and leave nothing behind.
fn command(author: &mut Author, dice: &mut Dice) {
    author.now_ms += [0, 1, 50, 2_000, LEASE_MS][dice.index(5)];
    match dice.below(9) {
        0 => return lock(author, dice),
        8 => return planning(author, dice),
        1 => return message(author, dice),
        // Refused the second time, which is a possible answer.
        2 if dice.below(3) == 0 => return drop(author.create_namespace(["people", "p", "q", "r"][dice.index(4)], "q")),
        _ => {}
    }
    let tasks: Vec<TaskId> = author.all_rows().map(|rows| rows.task.id).collect();
    if tasks.is_empty() || dice.below(5) == 0 {
        let graph = graph(dice, author.now_ms);
        author.submit(&graph);
        return;
    }
    let task = tasks[dice.index(tasks.len())];
    let step = dice.index(author.rows(task).steps.len()) as u16;
    let worker = WORKERS[dice.index(3)];
    // A refusal is a possible answer to a random command, so outcomes are not looked at.
    let _ = match dice.below(16) {
        0..5 => claim(author, dice),
        5..11 => running(author, dice),
        11 => author.cancel(task, if dice.below(2) == 0 { CancelMode::Hard } else { CancelMode::Soft }),
        12 => author.redrive(task),
        13 | 14 => author.purge(task),
        _ => author.decide(task, step, dice.below(3) > 0),
    };
    if dice.below(8) == 0 && author.all_rows().any(|rows| rows.task.id == task) {
        author.note_heartbeat(worker);
        author.note_conflict(task, step, ["complete", "fail", "yield"][dice.index(3)], dice.below(9) as u32);
    }
}

/// Now and then a checkpoint is made, and some of what is over goes.
fn upkeep<R: Reader>(author: &mut Author, dice: &mut Dice, reader: &mut R) {
    match dice.below(6) {
        0 if reader.head().unwrap().chain.seq > 0 => _ = author.checkpoint(),
        1 | 2 => _ = author.drop_ops(reader, dice.index(60)),
        _ => {}
    }
}

/// Somebody sends a message, takes one, or is done with one.
fn message(author: &mut Author, dice: &mut Dice) {
    let thread = ThreadId::new(1, u128::from(dice.below(2)));
    let lane = [Priority::High, Priority::Normal, Priority::Low][dice.index(3)];
    let Some((Some(Rows::Thread(rows)), _)) = author.scopes.get(&Scope::Thread(thread)) else {
        author.send(thread, "reviewer", lane);
        return;
    };
    let now_ms = author.now_ms;
    let queued = rows.messages.values().find(|message| message.is_deliverable(now_ms)).map(|found| found.draft.id);
    let taken = rows.messages.values().find(|message| message.state == State::Processing);
    let taken = taken.and_then(|found| {
        let token = found.lease.as_ref()?.token;
        Some(HeldMessage { message: found.draft.id, epoch: found.epoch, token })
    });
    match (dice.below(3), queued, taken) {
        (0, Some(queued), _) => drop(author.deliver(thread, queued)),
        (1, _, Some(taken)) => author.acknowledge(thread, taken),
        _ => drop(author.send(thread, ["reviewer", "writer"][dice.index(2)], lane)),
    }
}

/// Somebody plans something more, or comes on with it.
fn planning(author: &mut Author, dice: &mut Dice) {
    let plan = plans::plan(u128::from(dice.below(4)));
    let Some((Some(Rows::Plan(rows)), _)) = author.scopes.get(&plan) else {
        // Refused if it was purged.
        return drop(author.begin_plan(plan));
    };
    let items: Vec<&Item> = rows.items.values().collect();
    let (any, other) = (items[dice.index(items.len())].clone(), items[dice.index(items.len())].id);
    let status = [ItemStatus::Active, ItemStatus::Blocked, ItemStatus::Done, ItemStatus::Dropped][dice.index(4)];
    // Refused if it does not fit, which is a possible answer.
    let _ = match dice.below(9) {
        0..4 => author.add_item(plan, dice.below(40).into(), &any),
        4 => author.say_about(plan, plan::Body::RemoveItem { seen: any.seen() }),
        5 => author.say_about(plan, plan::Body::MoveItem { seen: any.seen(), parent: other, place: dice.below(9) }),
        6 => author.purge_plan(plan),
        _ => author.set_item(plan, &any, status),
    };
}

/// Somebody takes a lock, or gives one back.
fn lock(author: &mut Author, dice: &mut Dice) {
    let repository = ["app", "web"][dice.index(2)];
    if dice.below(2) == 0 {
        // Refused if somebody else is in the way, which is a possible answer.
        let _ = author.lock(repository, ["src/**", "src/a", "README.md"][dice.index(3)]);
    } else if let Some((Some(Rows::Repository(rows)), _)) = author.scopes.get(&scopes::repository(repository))
        && let Some(lock) = rows.locks.values().next()
    {
        let held = HeldLock { token: lock.token, fence: lock.fence };
        author.unlock(repository, held).unwrap();
    }
}

/// Somebody takes a step that can be taken.
fn claim(author: &mut Author, dice: &mut Dice) -> Result<(), Refusal> {
    let now_ms = author.now_ms;
    let open = |rows: &TaskRows| -> Vec<(TaskId, u16)> {
        rows.indexed().filter(|(_, step)| step.is_claimable(now_ms)).map(|(place, _)| (rows.task.id, place)).collect()
    };
    let open: Vec<_> = author.all_rows().flat_map(open).collect();
    if open.is_empty() {
        return Ok(());
    }
    let (task, step) = open[dice.index(open.len())];
    author.try_claim(task, step, OWNERS[dice.index(3)], WORKERS[dice.index(3)]).map(drop)
}

/// Something happens to a step that somebody holds.
fn running(author: &mut Author, dice: &mut Dice) -> Result<(), Refusal> {
    let held: Vec<(TaskId, Hold<u16>)> = author.all_rows().flat_map(held_of).collect();
    if held.is_empty() {
        return Ok(());
    }
    let (task, held) = held[dice.index(held.len())];
    match dice.below(8) {
        0..4 => author.complete(task, held, &vec![b'1'; dice.index(3) * 40]),
        4 => author.fail(task, held, true),
        5 => author.fail(task, held, false),
        6 => author.give_back(task, held),
        _ => {
            author.now_ms += LEASE_MS;
            author.expire(task, held.step, held.epoch)
        }
    }
}

fn held_of(rows: &TaskRows) -> Vec<(TaskId, Hold<u16>)> {
    let running = rows.indexed().filter(|(_, step)| step.status == Status::Running);
    let held = |(step, row): (u16, &Step)| {
        let token = row.lease.as_ref()?.token;
        Some((rows.task.id, Hold { step, epoch: row.epoch, token }))
    };
    running.filter_map(held).collect()
}

fn graph(dice: &mut Dice, now_ms: u64) -> Graph {
    let once = RetryPolicy { max_attempts: 1, ..RetryPolicy::default() };
    let lane = [Priority::High, Priority::Normal, Priority::Low][dice.index(3)];
    let base = match dice.below(6) {
        0 | 1 => Graph::single(),
        2 => Graph::chain(3).input(2, b"[1,2]"),
        3 => Graph::wide(4).input(0, b"").input(3, &[b'x'; 100]),
        4 => Graph::of(vec![asking("a", Some(3_000)), asking("b", None)]),
        _ => Graph::of(vec![
            step("do"),
            StepSpec { depends_on: vec![0], retry: once, ..step("then") },
            StepSpec { compensates: Some(0), ..step("undo") },
        ]),
    };
    let graph = base.namespace(["default", "people", "p"][dice.index(3)]).priority(lane);
    match dice.below(3) {
        0 => graph.key(IdempotencyKey::Given(name(&format!("k{now_ms}-{}", dice.below(u64::MAX))).into())),
        _ => graph,
    }
}

/// SplitMix64: small, and the same everywhere.
pub struct Dice(pub u64);

impl Dice {
    /// A number below `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % end
    }

    /// A place in a list of `len`.
    pub fn index(&mut self, len: usize) -> usize {
        self.below(len as u64) as usize
    }
}
