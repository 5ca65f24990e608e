//! The benchmark of the fold: a log is read, folded, rebuilt, and let go of, and what that does to work beside it.

use crate::{load, measure::ms};
use relaymesh_api::error::{Code, Error};
use relaymesh_core::{
    hash::Hash,
    hlc::Hlc,
    id::{LeaseToken, NodeId, OpId, TaskId, WorkerId},
    lanes::Priority,
    name::Name,
    op::{Body, Header, Hold, Op, Scope, WriteClass},
    task::{
        self,
        spec::{IdempotencyKey, RetryPolicy, Schedule, StepSpec},
    },
};
use relaymesh_mesh::fold::Fold;
use relaymesh_runtime::{rebuild, upkeep};
use relaymesh_store::{Reader, verify};
use relaymesh_store_sqlite::{Options, SqliteReader, SqliteStore, Sync};
use serde_json::{Value, json};
use std::{path::Path, time::Instant};

/// Ops that the fold in memory is given: all of a long log would not fit.
const LIVE_OPS: usize = 150_000;
/// Ops of the task that is folded again.
const REFOLD_OPS: usize = 1_000;
/// Callers of the work beside a compaction.
const CALLERS: usize = 16;
/// Tasks of the work that is measured with nothing beside it.
const ALONE_TASKS: u64 = 20_000;

/// Everything about a log of `tasks` tasks.
pub(crate) fn measure(dir: &Path, tasks: u64) -> Result<Value, Error> {
    let driver = load::start(dir)?;
    let mut load = load::Load::new(driver.handle().clone(), 256);
    eprintln!("writing {tasks} tasks …");
    let written_us = load.cost_us(tasks)?;
    load::stop(driver)?;
    let root = dir.join("root");
    let mut reader = SqliteReader::open(&root)?;
    let head = reader.head()?.pos;
    eprintln!("folding …");
    let live = live(&mut reader)?;
    let chain = timed(head, || verify::chain(&mut reader, verify::Checked::default(), &mut |_| {}))?;
    eprintln!("rebuilding {head} ops …");
    let rebuilt = rebuilt(&mut reader, &dir.join("rebuilt"), head)?;
    let refold_ms = refold();
    drop(reader);
    let compaction = compaction(&root, tasks)?;
    Ok(json!({
        "ops": head, "written_ops_per_s": 3e6 / written_us, "live_ops_per_s": live, "chain_ops_per_s": chain,
        "rebuild_ops_per_s": rebuilt, "refold_ms": refold_ms, "compaction": compaction,
    }))
}

fn timed<T, E: std::fmt::Display>(count: u64, act: impl FnOnce() -> Result<T, E>) -> Result<f64, Error> {
    let begun = Instant::now();
    act().map_err(|error| Error::new(Code::Damaged, error.to_string()))?;
    Ok(count as f64 / begun.elapsed().as_secs_f64())
}

/// Ops as they come in from a peer: decoded, and folded into rows in memory.
fn live(reader: &mut SqliteReader) -> Result<f64, Error> {
    let stored = reader.ops(0, LIVE_OPS)?;
    timed(stored.len() as u64, || {
        let mut fold = Fold::default();
        for op in &stored {
            fold.insert(Op::decode(op.pos, &op.bytes)?);
        }
        Ok::<_, relaymesh_core::op::DecodeError>(fold.state_hash())
    })
}

/// What `relaymesh log rebuild` does: fold everything into another store, and compare every row.
fn rebuilt(reader: &mut SqliteReader, dir: &Path, ops: u64) -> Result<f64, Error> {
    let options = Options { sync: Sync::Off, ..Options::default() };
    let mut target = SqliteStore::create(dir, reader.head()?.chain.origin, &options)?;
    let rate = timed(ops, || rebuild::rebuild(reader, &mut target, &mut |_| {}));
    drop(target);
    std::fs::remove_dir_all(dir).map_err(|error| Error::new(Code::StoreIo, error.to_string()))?;
    rate
}

/// A late op in a task with a long history: all of it is folded again. The median of several.
fn refold() -> f64 {
    let mut took: Vec<f64> = (0..21)
        .map(|_| {
            let (ops, late) = history();
            let mut fold = Fold::of(ops);
            let begun = Instant::now();
            fold.insert(late);
            ms(begun.elapsed())
        })
        .collect();
    took.sort_by(f64::total_cmp);
    took[took.len() / 2]
}

/// A step that is claimed and given back again and again, and a word by another node that comes after all of that and is
/// dated before it.
fn history() -> (Vec<Op>, Op) {
    let name = |text: &str| text.parse::<Name>().expect("a literal name");
    let (task, node) = (TaskId::new(1, 1), NodeId::new(1, 1));
    let op = |number: u64, node: NodeId, body: Body| {
        let header = Header {
            op_id: OpId::new(number, u128::from(number)),
            origin: node,
            origin_epoch: 1,
            seq: number,
            hlc: Hlc { wall_ms: 1_000 + number, logical: 0, node },
            author: name("bench"),
            source: name("bench"),
            namespace: name("default"),
            scope: Scope::Task(task),
            write_class: WriteClass::AppendOnly,
            causal_deps: Vec::new(),
            via: None,
        };
        Op { pos: number, header, body }
    };
    let step = StepSpec {
        name: name("a"),
        agent: name("echo"),
        input: None,
        priority: Priority::Normal,
        depends_on: Vec::new(),
        compensates: None,
        retry: RetryPolicy::default(),
        timeout_ms: None,
        approve: None,
        flow: None,
        terms: None,
    };
    let (key, fingerprint) = (IdempotencyKey::Request(Hash::default()), Hash::default());
    let schedule = Schedule { name: name("long"), key, fingerprint, trace_id: 1, input: None, steps: vec![step] };
    let mut ops = vec![op(1, node, Body::Task(task::Body::ScheduleJob { schedule }))];
    for number in 2..=REFOLD_OPS as u64 {
        let token = LeaseToken::new(1, u128::from(number / 2));
        let epoch = u32::try_from(number / 2).unwrap_or(u32::MAX);
        let held = Hold { step: 0, epoch, token };
        let seen = Hlc { wall_ms: 999 + number, logical: 0, node };
        let worker = WorkerId::new(1, 1);
        let body = if number % 2 == 0 {
            Body::Task(task::Body::ClaimWork { step: 0, owner: node, worker, token, lease_ms: 1_000_000, seen })
        } else {
            Body::Task(task::Body::YieldWork { held, reason: String::new() })
        };
        ops.push(op(number, node, body));
    }
    let stranger = NodeId::new(2, 2);
    let held = Hold { step: 0, epoch: 77, token: LeaseToken::new(9, 9) };
    let mut late = op(1, stranger, Body::Task(task::Body::YieldWork { held, reason: String::new() }));
    late.header.op_id = OpId::new(9_999_999, 1);
    late.pos = REFOLD_OPS as u64 + 1;
    (ops, late)
}

/// Everything is purged and compacted while work goes on.
fn compaction(root: &Path, tasks: u64) -> Result<Value, Error> {
    let driver = load::open(root)?;
    let until_ms = relaymesh_api::time::now_ms();
    let mut load = load::Load::new(driver.handle().clone(), CALLERS);
    load.run(ALONE_TASKS / 4, &mut |_| {})?;
    eprintln!("work with nothing beside it …");
    let alone = load.latencies(ALONE_TASKS)?;
    eprintln!("work beside a purge of {tasks} tasks …");
    let purge = beside(&mut load, |ask| upkeep::sweep(ask, until_ms, &mut |_| {}))?;
    eprintln!("work beside a compaction …");
    let compact = beside(&mut load, |ask| upkeep::compact(ask, &mut |_| {}).map(|compacted| compacted.ops))?;
    eprintln!("work after it …");
    let after = load.latencies(ALONE_TASKS)?;
    load::stop(driver)?;
    Ok(json!({ "alone": alone, "purge": purge, "compact": compact, "after": after }))
}

/// Runs `act` on a thread of its own while callers work; gives its rate, and what the work took meanwhile.
fn beside(
    load: &mut load::Load,
    act: impl FnOnce(upkeep::Ask<'_, relaymesh_runtime::driver::Error>) -> Result<u64, relaymesh_runtime::driver::Error>
    + Send,
) -> Result<Value, Error> {
    let (handle, caller) = (load.handle(), load.caller());
    let mut took = Vec::new();
    let begun = Instant::now();
    let (count, elapsed) = std::thread::scope(|scope| {
        let acting = scope.spawn(move || {
            act(&mut |command| handle.call(caller.clone(), command)).map(|count| (count, begun.elapsed()))
        });
        while !acting.is_finished() {
            load.run(400, &mut |latency| took.push(latency))?;
        }
        let ended = acting.join().map_err(|_| Error::new(Code::Internal, "the thread panicked"))?;
        ended.map_err(Error::from)
    })?;
    Ok(json!({
        "count": count, "seconds": elapsed.as_secs_f64(), "per_s": count as f64 / elapsed.as_secs_f64(),
        "work_p50_ms": load::percentile(&mut took, 50.0), "work_p99_ms": load::percentile(&mut took, 99.0),
        "work_tasks": took.len(),
    }))
}

/// The report, for people.
pub(crate) fn print(found: &Value) {
    let number = |pointer: &str| found.pointer(pointer).and_then(Value::as_f64).unwrap_or(f64::NAN);
    let line = |what: &str, pointer: &str, unit: &str| println!("{what:<46} {:>12.0} {unit}", number(pointer));
    line("ops on the log", "/ops", "");
    line("written through the driver, synced", "/written_ops_per_s", "ops/s");
    line("folded live, in memory", "/live_ops_per_s", "ops/s");
    line("chain followed (`log verify`)", "/chain_ops_per_s", "ops/s");
    let rebuilt = number("/rebuild_ops_per_s");
    let verdict = if rebuilt >= 100_000.0 { "ok" } else { "MISSED" };
    println!("{:<46} {rebuilt:>12.0} ops/s  (goal 100000: {verdict})", "rebuilt and compared (`log rebuild`)");
    println!("{:<46} {:>12.2} ms", "a late op in a task of 1,000 ops", number("/refold_ms"));
    for (what, part) in [("purged beside work", "purge"), ("compacted beside work", "compact")] {
        let of = |field: &str| number(&format!("/compaction/{part}/{field}"));
        println!("{what:<46} {:>12.0} a second ({:.0} in {:.1} s)", of("per_s"), of("count"), of("seconds"));
    }
    println!("{:<46} {:>9} {:>9}", "work of 16 callers: latency in ms", "p50", "p99");
    for (what, part) in [("alone", "alone"), ("beside the purge", "purge"), ("beside the compaction", "compact")] {
        let of = |field: &str| number(&format!("/compaction/{part}/{field}"));
        println!("  {what:<44} {:>9.2} {:>9.2}", of("work_p50_ms"), of("work_p99_ms"));
    }
    let after = |field: &str| number(&format!("/compaction/after/{field}"));
    println!("  {:<44} {:>9.2} {:>9.2}", "after both", after("work_p50_ms"), after("work_p99_ms"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_op_of_the_long_history_takes_effect_and_the_late_one_is_late() {
        let (ops, late) = history();
        assert_eq!(ops.len(), REFOLD_OPS);
        let mut fold = Fold::of(ops);
        let epoch = |fold: &Fold| fold.all_rows().next().and_then(|rows| rows.task()).map(|rows| rows.steps[0].epoch);
        assert_eq!(epoch(&fold), Some(500));
        assert_eq!(fold.insert(late), relaymesh_mesh::fold::Arrival::Late);
        assert_eq!(epoch(&fold), Some(500));
    }
}
