//! Plans on the log of a node that has no command about them: it keeps them, and works beside them.

use super::{Rig, name};
use crate::driver::{Answer, Command, Error, LifeCommand};
use relaymesh_core::{
    id::NodeId,
    plan::{Status, validate},
};
use relaymesh_store::{
    Reader as _, Store as _,
    contract::{
        author::Author,
        plans::{item, plan},
    },
    memory::MemoryStore,
    verify,
};

/// Somebody else writes on the node's log while it is down; then it starts again.
fn written(mut rig: Rig, write: impl FnOnce(&mut Author)) -> Rig {
    let store = rig.store.as_mut().unwrap();
    let mut author = Author::resume(&mut store.reader().unwrap());
    author.now_ms = rig.levers.lock().unwrap().wall_ms + 1;
    write(&mut author);
    store.commit(&author.take()).unwrap();
    rig.crash()
}

/// The log verifies, and folds to the rows.
fn check(rig: &Rig) {
    let mut reader = rig.disk.reader();
    verify::chain(&mut reader, verify::Checked::default(), &mut |_| {}).unwrap();
    verify::rows(&mut reader, &mut |_| {}).unwrap();
    let mut rebuilt = MemoryStore::new(NodeId::new(9, 9));
    assert_eq!(verify::rebuild(&mut reader, &mut rebuilt, &mut |_| {}).unwrap().differences, []);
}

#[test]
fn f15_a_node_starts_on_a_log_with_plans_and_keeps_them() {
    let mut rig = Rig::new();
    rig.call(Command::CreateNamespace { name: name("team-a"), about: String::new() }).unwrap();
    let mut rig = written(rig, |author| author.plan_all(plan(1)));
    assert!(rig.engine.live.has_namespace(&name("team-a")), "namespaces are found before plans");
    rig.single("echo");
    let before = rig.disk.reader().scope(plan(1)).unwrap();
    validate(before.as_ref().unwrap().plan().unwrap()).unwrap();
    let error = rig.call(Command::Life(LifeCommand::Purge { scope: plan(1) })).unwrap_err();
    assert_eq!(error, Error::NotPurged(plan(1)));
    rig.call(Command::Life(LifeCommand::Checkpoint)).unwrap();
    rig.call(Command::Life(LifeCommand::Compact)).unwrap();
    assert_eq!(rig.disk.reader().scope(plan(1)).unwrap(), before, "its ops stay as long as it is there");
    check(&rig);
}

#[test]
fn f15_the_ops_of_a_plan_that_was_purged_go_when_the_log_is_compacted() {
    let mut rig = written(Rig::new(), |author| {
        author.plan_all(plan(1));
        let mission = author.plan(plan(1)).items[&item(1)].clone();
        author.set_item(plan(1), &mission, Status::Dropped).unwrap();
        author.purge_plan(plan(1)).unwrap();
    });
    rig.call(Command::Life(LifeCommand::Checkpoint)).unwrap();
    let compacted = rig.call(Command::Life(LifeCommand::Compact));
    assert!(matches!(compacted, Ok(Answer::Compacted { ops: 7, .. })), "{compacted:?}");
    check(&rig);
}
