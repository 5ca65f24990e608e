use super::{Fixture, quiet, rows::doctor};
use crate::{
    Batch, Reader, Store, StoredOp,
    contract::graph::Graph,
    memory::MemoryStore,
    verify::{Checked, DIFFERENCES_MAX, Problem, Rebuilt, chain, rebuild, rows},
};
use relaymesh_core::{
    id::{LeaseToken, NodeId, WorkerId},
    op::{Body, Op, Scope},
    row::RowKey,
    task,
};

fn target() -> MemoryStore {
    MemoryStore::new(NodeId::new(9, 9))
}

fn check(fixture: &mut Fixture) -> Result<Rebuilt, Problem> {
    rebuild(&mut fixture.reader, &mut target(), &mut quiet())
}

#[test]
fn the_log_folds_to_the_same_rows_and_the_copy_is_whole() {
    let mut fixture = Fixture::new();
    let mut copy = target();
    let rebuilt = rebuild(&mut fixture.reader, &mut copy, &mut quiet()).unwrap();
    assert_eq!(rebuilt.differences, []);
    assert_eq!((rebuilt.ops, rebuilt.tasks), (fixture.head_pos(), fixture.reader.counts().unwrap().0));
    let mut reader = copy.reader().unwrap();
    assert_eq!(reader.head().unwrap(), fixture.reader.head().unwrap());
    assert_eq!(reader.ops(0, 10_000).unwrap(), fixture.reader.ops(0, 10_000).unwrap());
    chain(&mut reader, Checked::default(), &mut quiet()).unwrap();
    rows(&mut reader, &mut quiet()).unwrap();
}

#[test]
fn a_changed_row_is_named_with_both_values() {
    let mut fixture = Fixture::new();
    doctor(&fixture.disk, &mut fixture.reader, fixture.tasks[4]);
    let differences = check(&mut fixture).unwrap().differences;
    let [found] = &differences[..] else { panic!("{differences:?}") };
    assert_eq!((found.task, found.field), (Some(fixture.tasks[4]), "attempt"));
    assert_eq!(found.step.as_ref().unwrap().as_str(), "s0");
    assert!(found.to_string().contains("step `s0`: attempt is 2, but the log gives 1"), "{found}");
}

#[test]
fn a_damaged_a_lost_and_a_made_up_row_are_named() {
    let mut fixture = Fixture::new();
    fixture.disk.corrupt_row(RowKey::Task(fixture.tasks[0]));
    let lost = fixture.reader.task(fixture.tasks[1]).unwrap().unwrap().task;
    fixture.disk.state().tasks.remove(&lost.key);
    let differences = check(&mut fixture).unwrap().differences;
    let about = |task| differences.iter().filter(|d| d.task == Some(task)).count();
    assert_eq!((about(fixture.tasks[0]), about(fixture.tasks[1])), (1, 1), "{differences:?}");
    assert!(differences.iter().any(|d| d.field == "counts"), "{differences:?}");

    let mut fixture = Fixture::new();
    let key = 4_000;
    let made_up = fixture.disk.state().tasks.values().next().unwrap().clone();
    fixture.disk.state().tasks.insert(key, crate::TaskPut { key, ..made_up });
    let differences = check(&mut fixture).unwrap().differences;
    assert!(differences.iter().any(|d| d.field == "row" && d.rebuilt == "missing"), "{differences:?}");
}

#[test]
fn another_state_hash_is_a_difference() {
    let mut fixture = Fixture::new();
    fixture.disk.state().head.state.0 ^= 1;
    let differences = check(&mut fixture).unwrap().differences;
    assert_eq!(differences.iter().map(|d| d.field).collect::<Vec<_>>(), ["state_hash"]);
}

#[test]
fn the_list_of_differences_ends() {
    let mut fixture = Fixture::new();
    fixture.author.submit_all(300, &Graph::single());
    fixture.commit();
    fixture.disk.state().tasks.clear();
    assert_eq!(check(&mut fixture).unwrap().differences.len(), DIFFERENCES_MAX);
}

#[test]
fn an_op_without_effect_is_a_problem() {
    let mut fixture = Fixture::new();
    let task = fixture.tasks[2];
    let mut head = fixture.reader.head().unwrap();
    let last = fixture.reader.ops(head.pos - 1, 1).unwrap().remove(0);
    let mut header = Op::decode(last.pos, &last.bytes).unwrap().header;
    let seen = header.hlc;
    header.seq += 1;
    header.hlc.logical += 1;
    header.scope = relaymesh_core::op::Scope::Task(task);
    let (owner, worker, token) = (fixture.author.node(), WorkerId::new(9, 9), LeaseToken::new(9, 9));
    let body = Body::Task(task::Body::ClaimWork { step: 0, owner, worker, token, lease_ms: 1, seen });
    let link = head.chain.append(&header, &body);
    head.pos += 1;
    let pos = head.pos;
    let mut batch = Batch::new(head);
    batch.ops.push(StoredOp { pos, bytes: link.bytes, hash: link.hash });
    fixture.store.commit(&batch).unwrap();
    match check(&mut fixture) {
        Err(Problem::Refused { pos: found, scope, .. }) => assert_eq!((found, scope), (pos, Scope::Task(task))),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_broken_chain_is_not_folded() {
    let mut fixture = Fixture::new();
    fixture.disk.state().ops.get_mut(&3).unwrap().bytes[40] ^= 1;
    assert!(matches!(check(&mut fixture), Err(Problem::Break(_))));
}

#[test]
fn a_target_with_ops_is_refused() {
    let (mut fixture, mut full) = (Fixture::new(), Fixture::new());
    let pos = full.head_pos();
    let refused = rebuild(&mut fixture.reader, &mut full.store, &mut quiet());
    assert_eq!(refused, Err(Problem::NotEmpty { pos }));
}

#[test]
fn more_tasks_than_are_held_at_once() {
    let mut fixture = Fixture::new();
    let tasks = fixture.author.submit_all(12_000, &Graph::single());
    for task in tasks.iter().step_by(3) {
        fixture.author.finish(*task, 0);
    }
    fixture.commit();
    let mut told = Vec::new();
    let rebuilt = rebuild(&mut fixture.reader, &mut target(), &mut |pos| told.push(pos)).unwrap();
    assert_eq!(rebuilt.differences, []);
    assert_eq!(told.last(), Some(&fixture.head_pos()));
    assert!(told.is_sorted() && told.len() > 20);
}
