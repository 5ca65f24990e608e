//! How near a commit comes to plain SQLite: the same shape of work through [`SqliteStore::commit`] and through
//! [`reference::run`], one after the other, on the same disk.
//!
//! `cargo run --release -p relaymesh-store-sqlite --example throughput -- [tasks] [batch] [folder] [plain | store]`
//!
//! With the last argument only one of the two is run, for a profiler.

use relaymesh_core::{
    hash::Hash,
    hlc::Hlc,
    id::{LeaseToken, NodeId, RequestId, TaskId},
    name::Name,
    op::link_hash,
    row::RowSum,
    task::{Status, spec::IdempotencyKey},
};
use relaymesh_store::{
    Batch, Content, ContentKey, ContentPut, Head, IdempotencyRow, KeyPut, Queue, StepKey, StepPut, Store, StoredOp,
    TaskPut,
};
use relaymesh_store_sqlite::{Options, SqliteStore, reference};
use std::{
    error::Error,
    time::{Duration, Instant},
};

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let mut arguments = std::env::args().skip(1);
    let tasks: usize = arguments.next().map_or(Ok(100_000), |text| text.parse())?;
    let batch: usize = arguments.next().map_or(Ok(256), |text| text.parse())?;
    let folder = arguments.next().unwrap_or_else(|| ".".to_owned());
    match arguments.next().as_deref() {
        Some("plain") => {
            reference::run(tempfile::tempdir_in(&folder)?.path(), batch, tasks)?;
            return Ok(());
        }
        Some("store") => {
            store(tempfile::tempdir_in(&folder)?.path(), batch, tasks)?;
            return Ok(());
        }
        _ => {}
    }
    for round in 1..=3 {
        let dir = tempfile::tempdir_in(&folder)?;
        let bar = reference::run(dir.path(), batch, tasks)?;
        let ours = tempfile::tempdir_in(&folder)?;
        let (rate, inside) = store(ours.path(), batch, tasks)?;
        // Like for like: both make their bytes and hash their chain within the time that is counted.
        let share = 100.0 * rate / bar.tasks_per_s;
        println!(
            "round {round}: plain SQLite {:.0} tasks/s, the store {rate:.0}, which is {share:.0} % (in commit alone {inside:.0})",
            bar.tasks_per_s
        );
    }
    let dir = tempfile::tempdir_in(&folder)?;
    let mut took = reference::one_row_commit(dir.path(), 500)?;
    took.sort();
    println!("one row: median {:?}, p99 {:?}", took[took.len() / 2], took[took.len() * 99 / 100]);
    Ok(())
}

/// Tasks a second in all, and counting only the time inside `commit`.
fn store(root: &std::path::Path, batch: usize, tasks: usize) -> Outcome<(f64, f64)> {
    let mut store = SqliteStore::create(root, NodeId::new(1, 1), &Options::default())?;
    let mut maker = Maker::new(store.head().clone());
    let (begun, mut inside, mut done) = (Instant::now(), Duration::ZERO, 0);
    while done < tasks {
        let count = batch.min(tasks - done);
        let first = maker.head.pos + 1;
        for made in [maker.submit(count), maker.complete(first, count)] {
            let at = Instant::now();
            store.commit(&made)?;
            inside += at.elapsed();
        }
        done += count;
    }
    let rate = |time: Duration| tasks as f64 / time.as_secs_f64();
    Ok((rate(begun.elapsed()), rate(inside)))
}

/// Makes batches of the right shape; the bytes mean nothing.
struct Maker {
    head: Head,
    name: Name,
}

impl Maker {
    fn new(head: Head) -> Self {
        Self { head, name: "default".parse().expect("a name") }
    }

    fn submit(&mut self, count: usize) -> Batch {
        let mut batch = Batch::new(self.head.clone());
        for _ in 0..count {
            let key = self.append(&mut batch);
            self.append(&mut batch);
            batch.tasks.push(self.task(key, true, Status::Running));
            batch.steps.push(self.step(key, true));
            batch.keys.push(KeyPut::Added(self.idempotency(key)));
            batch.content.push(ContentPut { key: ContentKey::new(key, 0), content: Content::Inline(vec![3; 40]) });
        }
        batch.head = self.head.clone();
        batch
    }

    fn complete(&mut self, first: u64, count: usize) -> Batch {
        let mut batch = Batch::new(self.head.clone());
        for key in (first..).step_by(2).take(count) {
            let pos = self.append(&mut batch);
            batch.tasks.push(self.task(key, false, Status::Success));
            batch.steps.push(self.step(key, false));
            batch.content.push(ContentPut { key: ContentKey::new(pos, 0), content: Content::Inline(vec![7; 40]) });
        }
        batch.head = self.head.clone();
        batch
    }

    fn append(&mut self, batch: &mut Batch) -> u64 {
        let head = &mut self.head;
        let bytes = vec![8; 160];
        head.pos += 1;
        head.chain.seq += 1;
        head.chain.head = link_hash(&head.chain.head, &bytes);
        head.chain.hlc = Some(Hlc { wall_ms: 1_700_000_000_000, logical: head.pos as u32, node: head.chain.origin });
        batch.ops.push(StoredOp { pos: head.pos, bytes, hash: head.chain.head });
        head.pos
    }

    fn task(&self, key: u64, created: bool, status: Status) -> TaskPut {
        TaskPut {
            key,
            created,
            id: id(key),
            namespace: self.name.clone(),
            status,
            trace_id: 7,
            created_ms: 1_700_000_000_000,
            updated_ms: 1_700_000_000_000 + key,
            result_hash: (!created).then(Hash::default),
            bytes: vec![1; 160],
            sum: RowSum(u128::from(key)),
        }
    }

    fn step(&self, key: u64, created: bool) -> StepPut {
        let lease = created.then(|| (self.head.chain.origin, LeaseToken::new(1, u128::from(key))));
        let queue: Option<(Queue, u64)> = None;
        StepPut {
            key: StepKey::new(key, 0),
            created,
            agent: self.name.clone(),
            status: if created { Status::Running } else { Status::Success },
            attempt: 1,
            queue,
            lease,
            result_pos: 0,
            artifact_pos: Vec::new(),
            updated_ms: 1_700_000_000_000 + key,
            bytes: vec![2; 160],
            sum: RowSum(u128::from(key)),
        }
    }

    fn idempotency(&self, key: u64) -> IdempotencyRow {
        IdempotencyRow {
            namespace: self.name.clone(),
            key: IdempotencyKey::RequestId(RequestId::from_bytes(id(key).to_bytes())),
            task_key: key,
            task: id(key),
            fingerprint: Hash::default(),
        }
    }
}

fn id(key: u64) -> TaskId {
    TaskId::new(1_700_000_000_000 + key / 20, u128::from(key))
}
