//! Whether the rows are those that were written, and whether everything beside them says the same.
//!
//! Sums find a bent row when it is read. A row that was lost, kept from an older time, or changed together with its sum
//! is found by the state hash alone: it is the sum of all rows, and the head carries it. Queues, leases and lists are
//! columns beside the rows; what stands there is added up on both sides and compared, so nothing has to be held in
//! memory, however many tasks there are.

use super::Problem;
use crate::{ContentKey, Head, IdempotencyRow, Life, Queue, Reader, StepKey, TaskFilter, saved::processed_ms, scope};
use relaymesh_core::{
    content::ContentRef,
    hash::Hash,
    id::NodeId,
    kernel::Rows,
    op::Scope,
    row::StateHash,
    task::{Status, Task, TaskRows, spec::INPUT_PLACE},
};
use std::collections::BTreeMap;

const PAGE: usize = 1_000;
/// Every time that matters. A store may cut later ones at what its columns hold, so those are not compared.
const EVER_MS: u64 = i64::MAX as u64 - 1;

/// What was read and found good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowsChecked {
    /// How many tasks.
    pub tasks: u64,
    /// How many steps.
    pub steps: u64,
    /// The hash of all of them.
    pub state: StateHash,
}

/// Reads every row and compares it with everything that is kept beside it.
///
/// `progress` is told the number of tasks that were checked, once a page.
pub fn rows<R: Reader>(reader: &mut R, progress: &mut dyn FnMut(u64)) -> Result<RowsChecked, Problem> {
    let head = reader.head()?;
    let result = check(reader, &head, progress);
    let now = reader.head()?;
    if now == head { result } else { Err(Problem::Moved { from: head.pos, to: now.pos }) }
}

fn check<R: Reader>(reader: &mut R, head: &Head, progress: &mut dyn FnMut(u64)) -> Result<RowsChecked, Problem> {
    let life = reader.life()?;
    let mut sums = Sums::default();
    let mut before = None;
    loop {
        let page = reader.tasks(&TaskFilter::default(), before, PAGE)?;
        let Some(last) = page.last() else { break };
        before = Some(last.key);
        for task in &page {
            check_task(reader, task, life, &mut sums)?;
        }
        progress(sums.tasks);
    }
    check_scopes(reader, &mut sums)?;
    if sums.state != head.state {
        return Err(Problem::State { pos: head.pos, expected: head.state, found: sums.state });
    }
    let (counted, listed) = (reader.counts()?, (sums.tasks, sums.steps));
    if counted != listed {
        return Err(Problem::Counts { counted, listed });
    }
    check_indexes(reader, &sums)?;
    Ok(RowsChecked { tasks: sums.tasks, steps: sums.steps, state: sums.state })
}

/// What the rows add up to, to be compared with what is kept beside them.
#[derive(Debug, Default)]
struct Sums {
    tasks: u64,
    steps: u64,
    state: StateHash,
    queues: BTreeMap<Queue, Sum>,
    leases: BTreeMap<NodeId, Sum>,
    lists: BTreeMap<Status, Sum>,
    ended: Sum,
}

/// A sum over a set that does not depend on the order.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Sum {
    count: u64,
    sum: u64,
}

impl Sum {
    /// Takes in one entry.
    fn add(&mut self, key: u64, time_ms: u64) {
        let hash = Hash::sha256(&[key.to_be_bytes(), time_ms.to_be_bytes()].concat());
        let first = hash.0.first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes));
        *self = Self { count: self.count + 1, sum: self.sum.wrapping_add(first) };
    }
}

impl Sums {
    fn add(&mut self, rows: &TaskRows) {
        self.tasks += 1;
        self.steps += rows.steps.len() as u64;
        self.state.0 = self.state.0.wrapping_add(StateHash::of(rows).0);
        self.lists.entry(rows.task.status).or_default().add(rows.task.key, 0);
        if let Some(ended_ms) = processed_ms(&rows.task).filter(|ended_ms| *ended_ms <= EVER_MS) {
            self.ended.add(rows.task.key, ended_ms);
        }
        for (place, step) in rows.indexed() {
            let key = StepKey::new(rows.task.key, place).raw();
            if let Some((queue, due_ms)) = Queue::of(step).filter(|(_, due_ms)| *due_ms <= EVER_MS) {
                self.queues.entry(queue).or_default().add(key, due_ms);
            }
            if let Some(lease) = &step.lease {
                self.leases.entry(lease.owner).or_default().add(key, 0);
            }
        }
    }
}

/// Scopes other than tasks: what they add up to, and when they are due.
fn check_scopes<R: Reader>(reader: &mut R, sums: &mut Sums) -> Result<(), Problem> {
    let mut last = None;
    let (mut expected, mut rested) = (Sum::default(), Sum::default());
    loop {
        let page = reader.scopes(last, PAGE)?;
        if page.is_empty() {
            break;
        }
        for scope in &page {
            let rows = reader.scope(*scope)?.ok_or(Problem::NoScope { scope: *scope })?;
            sums.state.0 = sums.state.0.wrapping_add(StateHash::of_rows(&rows).0);
            let due: Vec<u64> = match &rows {
                Rows::Task(_) | Rows::Namespace(_) | Rows::Plan(_) | Rows::Purged(_) => Vec::new(),
                Rows::Repository(rows) => rows.locks.values().map(|lock| lock.deadline_ms).collect(),
                Rows::Thread(rows) => rows.messages.values().filter_map(scope::due_ms).collect(),
            };
            if let Rows::Thread(rows) = &rows {
                for message in rows.messages.values() {
                    check_content(reader, *scope, ContentKey::new(message.content_pos, 0), &message.draft.content)?;
                }
                scope::rested_ms(rows).into_iter().for_each(|rested_ms| rested.add(0, rested_ms));
            }
            due.into_iter().filter(|due_ms| *due_ms <= EVER_MS).for_each(|due_ms| expected.add(0, due_ms));
        }
        last = page.last().copied();
    }
    let mut found = Sum::default();
    let due = reader.due_scopes(EVER_MS, usize::MAX)?;
    due.iter().for_each(|(due_ms, _)| found.add(0, *due_ms));
    same("the list of what falls due in repositories and threads".to_owned(), Some(&expected), found)?;
    let mut found = Sum::default();
    reader.rested(EVER_MS, usize::MAX)?.iter().for_each(|(rested_ms, _)| found.add(0, *rested_ms));
    same("the list of threads at rest".to_owned(), Some(&rested), found)
}

fn check_task<R: Reader>(reader: &mut R, task: &Task, life: Life, sums: &mut Sums) -> Result<(), Problem> {
    let lookup =
        |what, expected: String, found: String| Problem::Lookup { what, task: task.id, key: task.key, expected, found };
    let rows = reader.task_at(task.key)?;
    let Some(rows) = rows.filter(|rows| rows.task == *task) else {
        return Err(lookup("row by key", task.id.to_string(), "another task or none".to_owned()));
    };
    let by_id = reader.task(task.id)?.map(|rows| rows.task.key);
    if by_id != Some(task.key) {
        return Err(lookup("row by id", format!("{:?}", Some(task.key)), format!("{by_id:?}")));
    }
    let expected = Some(IdempotencyRow::of(task));
    let found = reader.idempotency(&task.namespace, &task.idempotency_key)?;
    if found != expected && !may_be_swept(task, life, found.as_ref()) {
        return Err(lookup("idempotency row", format!("{expected:?}"), format!("{found:?}")));
    }
    let scope = Scope::Task(task.id);
    if let Some(input) = &task.input {
        check_content(reader, scope, ContentKey::new(task.key, INPUT_PLACE), input)?;
    }
    for (place, step) in rows.indexed() {
        if let Some(input) = &step.spec.input {
            check_content(reader, scope, ContentKey::new(task.key, rows.input_place(place)), input)?;
        }
        if let Some(result) = &step.result {
            check_content(reader, scope, ContentKey::new(step.result_pos, 0), result)?;
        }
        for artifact in &step.output_artifacts {
            check_content(reader, scope, ContentKey::new(artifact.pos, 0), &artifact.content)?;
        }
    }
    sums.add(&rows);
    Ok(())
}

/// Whether the task may have lost its key: then it is gone, or another task's. A task that ended, lost it and was taken up
/// again gets it back only if it is free, so either of two may have it.
pub fn may_be_swept(task: &Task, life: Life, found: Option<&IdempotencyRow>) -> bool {
    task.created_ms <= life.swept_ms && found.is_none_or(|found| found.task_key != task.key)
}

fn check_content<R: Reader>(
    reader: &mut R,
    scope: Scope,
    key: ContentKey,
    reference: &ContentRef,
) -> Result<(), Problem> {
    let bytes = reader.bytes(key)?.ok_or(Problem::NoContent { scope, key })?;
    reference.check(&bytes).map_err(|damage| Problem::Content { scope, key, damage })
}

/// Queues, leases and lists by status. Leases of a node that no row names are not looked for: nobody asks for them.
fn check_indexes<R: Reader>(reader: &mut R, sums: &Sums) -> Result<(), Problem> {
    for queue in Queue::ALL {
        let due = pages(|last: Option<&(u64, StepKey)>| reader.due(queue, EVER_MS, last.copied(), PAGE));
        let found = added(due, |(due_ms, key)| (key.raw(), *due_ms))?;
        same(format!("the queue {queue:?}"), sums.queues.get(&queue), found)?;
    }
    for (owner, expected) in &sums.leases {
        let held = pages(|last: Option<&StepKey>| reader.leased(*owner, last.copied(), PAGE));
        let found = added(held, |key| (key.raw(), 0))?;
        same(format!("the list of leases of {owner}"), Some(expected), found)?;
    }
    let ended = pages(|last: Option<&(u64, u64)>| reader.ended(EVER_MS, last.copied(), PAGE));
    let found = added(ended, |(ended_ms, key)| (*key, *ended_ms))?;
    same("the list of ended tasks".to_owned(), Some(&sums.ended), found)?;
    for status in Status::ALL {
        let filter = TaskFilter { namespace: None, status: Some(status) };
        let list = pages(|last: Option<&Task>| reader.tasks(&filter, last.map(|task| task.key), PAGE));
        let found = added(list, |task| (task.key, 0))?;
        same(format!("the list of {status} tasks"), sums.lists.get(&status), found)?;
    }
    Ok(())
}

fn same(what: String, expected: Option<&Sum>, found: Sum) -> Result<(), Problem> {
    let expected = expected.copied().unwrap_or_default();
    if expected == found {
        return Ok(());
    }
    Err(Problem::Index { what, expected: expected.count, found: found.count })
}

/// Adds up all entries, page by page.
fn added<T>(
    pages: impl Iterator<Item = Result<Vec<T>, crate::Error>>,
    entry: impl Fn(&T) -> (u64, u64),
) -> Result<Sum, Problem> {
    let mut sum = Sum::default();
    for page in pages {
        for (key, time_ms) in page?.iter().map(&entry) {
            sum.add(key, time_ms);
        }
    }
    Ok(sum)
}

/// Pages up to the first empty one; each is asked for with the last entry of the one before.
fn pages<T: Clone>(
    mut page: impl FnMut(Option<&T>) -> Result<Vec<T>, crate::Error>,
) -> impl Iterator<Item = Result<Vec<T>, crate::Error>> {
    let mut last = None;
    std::iter::from_fn(move || match page(last.as_ref()) {
        Ok(entries) => {
            last = Some(entries.last()?.clone());
            Some(Ok(entries))
        }
        Err(error) => Some(Err(error)),
    })
}
