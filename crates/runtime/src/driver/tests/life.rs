//! What is over is let go of: purges, keys, checkpoints, compaction.

use super::{Answer, Command, Error, Rig, done, name, submit_of, worker};
use crate::driver::{Config, LifeCommand, LockCommand, Recorded, Until};
use relaymesh_core::{
    content::Media,
    id::{NodeId, TaskId},
    lock::{Case, Mode},
    op::Scope,
    task::{Refusal, Status, request::Request as Asked, spec::IdempotencyKey},
};
use relaymesh_store::{Content, ContentKey, Error as StoreError, Reader as _, Store as _, memory::MemoryStore, verify};

impl Rig {
    fn life(&mut self, command: LifeCommand) -> Result<Answer, Error> {
        self.call(Command::Life(command))
    }

    fn purge(&mut self, task: TaskId) -> Result<Answer, Error> {
        self.life(LifeCommand::Purge { scope: Scope::Task(task) })
    }

    /// A task with this key that `echo` has finished.
    fn keyed(&mut self, key: &str, agent: &str) -> Result<(TaskId, bool), Error> {
        let asked = Asked::single(name(agent), Some(serde_json::json!({ "n": 1 })));
        let key = IdempotencyKey::Given(name(key).into());
        let prepared = asked.prepare(&name("default"), Some(key), 1).unwrap();
        let answer = self.call(Command::Submit(submit_of(name("default"), prepared, Until::Accepted)))?;
        let Answer::Accepted { task, merged, .. } = answer else { panic!("not accepted: {answer:?}") };
        Ok((task, merged))
    }

    /// Compacts to the end; says how many ops went.
    fn compact(&mut self) -> u64 {
        let mut all = 0;
        let mut command = LifeCommand::Checkpoint;
        for _ in 0..1_000 {
            let Ok(Answer::Compacted { ops, pos, horizon }) = self.life(command) else { panic!("not compacted") };
            all += ops;
            if pos == horizon {
                return all;
            }
            command = LifeCommand::Compact;
        }
        panic!("the compaction never ends")
    }

    /// Everything that can be checked.
    fn check(&mut self) {
        let mut reader = self.disk.reader();
        verify::chain(&mut reader, verify::Checked::default(), &mut |_| {}).unwrap();
        verify::rows(&mut reader, &mut |_| {}).unwrap();
        let mut rebuilt = MemoryStore::new(NodeId::new(1, 7));
        assert_eq!(verify::rebuild(&mut reader, &mut rebuilt, &mut |_| {}).unwrap().differences, []);
    }
}

#[test]
fn a_sweep_takes_no_more_than_a_batch_has_room_for() {
    let mut rig = Rig::with(Config { batch_ops_max: 4, ..Config::default() });
    for number in 0..6 {
        rig.keyed(&number.to_string(), "echo").unwrap();
    }
    let until_ms = rig.levers.lock().unwrap().wall_ms;
    let swept = |count, more| Ok(Answer::Swept { count, more });
    assert_eq!(rig.life(LifeCommand::Sweep { until_ms }), swept(4, true));
    assert_eq!(rig.life(LifeCommand::Sweep { until_ms }), swept(2, false));
    rig.check();
}

#[test]
fn a_purged_task_is_gone_and_its_key_is_free() {
    let mut rig = Rig::new();
    let (task, _) = rig.keyed("x", "echo").unwrap();
    assert_eq!(rig.keyed("x", "echo").unwrap(), (task, true));
    assert_eq!(rig.purge(task).unwrap(), Answer::Swept { count: 1, more: false });
    assert_eq!(rig.disk.reader().task(task).unwrap(), None);
    assert_eq!(rig.purge(task), Err(Refusal::NoTask.into()));
    assert_eq!(rig.call(Command::Wait { task }), Err(Refusal::NoTask.into()));
    let (again, merged) = rig.keyed("x", "echo").unwrap();
    assert!(again != task && !merged);
    assert_eq!(rig.engine.live(), 0);
    rig.check();
}

#[test]
fn only_what_has_ended_is_purged() {
    let mut rig = Rig::new();
    let task = rig.single("hold");
    assert_eq!(rig.purge(task), Err(Refusal::NotEnded { found: Status::Running }.into()));
    let scope = Scope::Repository(relaymesh_core::id::RepositoryId::new(1, 1));
    assert_eq!(rig.life(LifeCommand::Purge { scope }), Err(Error::NotPurged(scope)));
    assert_eq!(rig.life(LifeCommand::Purge { scope: Scope::Log }), Err(Error::NotPurged(Scope::Log)));
    rig.check();
}

/// Purge, submit with the same key, purge again: all decided before the first of them is durable.
#[test]
fn a_key_is_free_as_soon_as_its_purge_is_decided() {
    let mut rig = Rig::new();
    let (first, _) = rig.keyed("x", "echo").unwrap();
    let purge = |task| Command::Life(LifeCommand::Purge { scope: Scope::Task(task) });
    let asked = Asked::single(name("echo"), None);
    let submit = || {
        let prepared = asked.prepare(&name("default"), Some(IdempotencyKey::Given(name("x").into())), 1).unwrap();
        Command::Submit(submit_of(name("default"), prepared, Until::Accepted))
    };
    let waiting = [rig.send(purge(first)), rig.send(submit())];
    let batch = rig.engine.poll_batch().unwrap();
    let merged = rig.send(submit());
    rig.store.as_mut().unwrap().commit(&batch).unwrap();
    rig.engine.handle_committed(Ok(()));
    rig.settle();
    let [_, second] = waiting.map(|answer| answer.try_recv().unwrap().unwrap());
    let Answer::Accepted { task: second, merged: false, .. } = second else { panic!("{second:?}") };
    let third = merged.try_recv().unwrap().unwrap();
    assert!(matches!(third, Answer::Accepted { task, merged: true, .. } if task == second), "{third:?}");
    rig.check();
}

#[test]
fn r35_what_ended_long_ago_is_swept_a_little_at_a_time() {
    let mut rig = Rig::new();
    let old: Vec<TaskId> = (0..300).map(|_| rig.single("echo")).collect();
    let until_ms = rig.levers.lock().unwrap().wall_ms;
    rig.pass(1_000);
    let (young, open) = (rig.single("echo"), rig.single("hold"));
    let mut counts = Vec::new();
    loop {
        let Ok(Answer::Swept { count, more }) = rig.life(LifeCommand::Sweep { until_ms }) else { panic!("not swept") };
        counts.push(count);
        if !more {
            break;
        }
    }
    assert_eq!(counts, [64, 64, 64, 64, 44]);
    assert!(old.iter().all(|task| rig.disk.reader().task(*task).unwrap().is_none()));
    assert_eq!((rig.status(young), rig.status(open)), (Status::Success, Status::Running));
    rig.check();
}

#[test]
fn r14_keys_whose_time_is_over_are_given_up_and_the_tasks_stay() {
    let mut rig = Rig::new();
    let (old, _) = rig.keyed("x", "echo").unwrap();
    let until_ms = rig.levers.lock().unwrap().wall_ms;
    rig.pass(1_000);
    let (young, _) = rig.keyed("y", "echo").unwrap();
    let swept = |count| Answer::Swept { count, more: false };
    assert_eq!(rig.life(LifeCommand::SweepKeys { until_ms }).unwrap(), swept(1));
    assert_eq!(rig.life(LifeCommand::SweepKeys { until_ms }).unwrap(), swept(0));
    rig.check();
    assert_eq!(rig.status(old), Status::Success);
    assert_eq!(rig.keyed("y", "echo").unwrap(), (young, true));
    let (again, merged) = rig.keyed("x", "echo").unwrap();
    assert!(again != old && !merged);
    rig.check();
    rig.purge(old).unwrap();
    assert_eq!(rig.keyed("x", "echo").unwrap(), (again, true), "the key is another task's by now");
    rig.check();
}

#[test]
fn a_redriven_task_has_its_key_again_unless_another_has_it() {
    let mut rig = Rig::new();
    let tasks = ["x", "y"].map(|key| rig.keyed(key, "nobody").unwrap().0);
    for task in tasks {
        let mode = relaymesh_core::op::CancelMode::Hard;
        rig.call(Command::Cancel { task, mode, reason: String::new() }).unwrap();
    }
    let until_ms = rig.levers.lock().unwrap().wall_ms;
    rig.pass(10);
    rig.life(LifeCommand::SweepKeys { until_ms }).unwrap();
    let (other, _) = rig.keyed("y", "nobody").unwrap();
    for task in tasks {
        rig.call(Command::Redrive { task, reason: String::new() }).unwrap();
    }
    assert_eq!(rig.keyed("x", "nobody").unwrap(), (tasks[0], true));
    assert_eq!(rig.keyed("y", "nobody").unwrap(), (other, true));
    rig.check();
    rig.crash().check();
}

#[test]
fn many_keys_of_one_millisecond_go_together() {
    let mut rig = Rig::new();
    (0..300).for_each(|number| _ = rig.keyed(&format!("k{number}"), "echo").unwrap());
    let until_ms = rig.levers.lock().unwrap().wall_ms + 5;
    assert_eq!(rig.life(LifeCommand::SweepKeys { until_ms }).unwrap(), Answer::Swept { count: 300, more: false });
    rig.check();
}

#[test]
fn d33_compaction_lets_go_of_what_was_purged_and_of_nothing_else() {
    let mut rig = Rig::new();
    let tasks: Vec<TaskId> = (0..400).map(|_| rig.single("echo")).collect();
    let open = rig.single("hold");
    for task in tasks.iter().step_by(2) {
        rig.purge(*task).unwrap();
    }
    lock(&mut rig, "src/**");
    rig.check();
    assert_eq!(rig.compact(), 200 * 4 + 1, "three ops and a purge each, and the lock's");
    rig.check();
    let mut rig = rig.crash();
    rig.check();
    assert!(tasks.iter().skip(1).step_by(2).all(|task| rig.status(*task) == Status::Success));
    let again = lock(&mut rig, "docs/**");
    assert!(matches!(again, Answer::Locked { held, .. } if held.fence == 2), "{again:?}");
    assert_eq!(rig.step_status(open, 0), Status::Retrying, "the attempt died with the process");
    assert_eq!(rig.compact(), 2, "the first checkpoint and the second lock");
    rig.check();
}

/// What is purged after the checkpoint stays until the next one: the checkpoint's hash still has its rows.
#[test]
fn what_is_purged_while_a_compaction_runs_waits_for_the_next_one() {
    let mut rig = Rig::new();
    let [first, second] = [0, 1].map(|_| rig.single("echo"));
    rig.purge(first).unwrap();
    rig.life(LifeCommand::Checkpoint).unwrap();
    rig.purge(second).unwrap();
    let Ok(Answer::Compacted { ops: 4, .. }) = rig.life(LifeCommand::Compact) else { panic!("not compacted") };
    rig.check();
    assert_eq!(rig.compact(), 5);
    rig.check();
}

#[test]
fn without_a_checkpoint_of_its_own_an_engine_drops_nothing() {
    let mut rig = Rig::new();
    let task = rig.single("echo");
    rig.purge(task).unwrap();
    rig.life(LifeCommand::Checkpoint).unwrap();
    let mut rig = rig.crash();
    let nothing = Answer::Compacted { ops: 0, pos: 0, horizon: 0 };
    assert_eq!(rig.life(LifeCommand::Compact).unwrap(), nothing);
    rig.check();
}

#[test]
fn a_full_disk_undoes_a_purge_and_a_checkpoint() {
    let mut rig = Rig::new();
    let (task, _) = rig.keyed("x", "echo").unwrap();
    let full = || StoreError::Full { detail: "no room".to_owned() };
    rig.disk.fail_next_commit(full(), false);
    assert!(matches!(rig.purge(task), Err(Error::DiskFull(_))));
    assert_eq!(rig.keyed("x", "echo").unwrap(), (task, true));
    rig.disk.fail_next_commit(full(), false);
    assert!(matches!(rig.life(LifeCommand::Checkpoint), Err(Error::DiskFull(_))));
    rig.check();
    rig.purge(task).unwrap();
    assert_eq!(rig.compact(), 4);
    rig.check();
}

#[test]
fn an_artifact_is_kept_with_its_content() {
    let mut rig = Rig::new();
    let task = rig.single("outside");
    let step = relaymesh_core::id::StepId { task, index: 0 };
    let claim = Command::Claim { step, worker: worker(1), lease_ms: 60_000 };
    let Ok(Answer::Claimed(hold)) = rig.call(claim) else { panic!("not claimed") };
    let artifact = |text: &str| Recorded {
        kind: name("file"),
        name: name(text),
        media: Media::Json,
        content: Content::Inline(text.as_bytes().to_vec()),
        about: vec![(name("model"), "m1".to_owned())],
    };
    for text in ["one", "two"] {
        rig.call(Command::Record { hold, artifact: artifact(text) }).unwrap();
    }
    assert!(matches!(rig.call(Command::Record { hold, artifact: artifact("one") }), Err(Error::Refused(_))));
    rig.call(Command::Finish { hold, outcome: done("1") }).unwrap();
    let late = rig.call(Command::Record { hold, artifact: artifact("late") });
    assert!(matches!(late, Err(Error::Refused(Refusal::Fenced { .. }))), "{late:?}");
    assert_eq!(rig.disk.reader().conflicts(9).unwrap()[0].verb, "record");
    let mut rig = rig.crash();
    rig.check();
    let artifacts = rig.rows(task).steps[0].output_artifacts.clone();
    let mut reader = rig.disk.reader();
    let read = |pos| reader.bytes(ContentKey::new(pos, 0)).unwrap().unwrap();
    let found: Vec<Vec<u8>> = artifacts.iter().map(|artifact| artifact.pos).map(read).collect();
    assert_eq!(found, [b"one", b"two"]);
}

fn lock(rig: &mut Rig, key: &str) -> Answer {
    let command = LockCommand::Acquire {
        namespace: name("default"),
        repository: "app".parse().unwrap(),
        key: key.parse().unwrap(),
        mode: Mode::Exclusive,
        case: Case::Sensitive,
        holder: name("me"),
        token: None,
        ttl_ms: 1_000_000,
        purpose: String::new(),
    };
    rig.call(Command::Lock(command)).unwrap()
}

#[test]
fn a_key_that_two_tasks_have_lost_goes_back_to_the_one_that_is_taken_up_again() {
    let mut rig = Rig::new();
    let mut tasks = Vec::new();
    for _ in 0..2 {
        let (task, merged) = rig.keyed("x", "nobody").unwrap();
        assert!(!merged);
        let mode = relaymesh_core::op::CancelMode::Hard;
        rig.call(Command::Cancel { task, mode, reason: String::new() }).unwrap();
        let until_ms = rig.levers.lock().unwrap().wall_ms;
        rig.pass(10);
        rig.life(LifeCommand::SweepKeys { until_ms }).unwrap();
        tasks.push(task);
    }
    rig.call(Command::Redrive { task: tasks[0], reason: String::new() }).unwrap();
    assert_eq!(rig.keyed("x", "nobody").unwrap(), (tasks[0], true));
    rig.check();
}

/// What was purged before a checkpoint is seen as purged only once that is durable: until then nothing is looked at, or the
/// first ops of a scope would stay and the last ones go.
#[test]
fn a_compaction_waits_until_its_checkpoint_is_durable() {
    let mut rig = Rig::new();
    let long = rig.single("hold");
    (0..100).for_each(|_| _ = rig.single("echo"));
    let hold = rig.begun().hold;
    rig.finish(hold, done("1"));
    let life = |command| Command::Life(command);
    let purged = rig.send(life(LifeCommand::Purge { scope: Scope::Task(long) }));
    let checkpoint = rig.send(life(LifeCommand::Checkpoint));
    let batch = rig.engine.poll_batch().unwrap();
    let early = rig.send(life(LifeCommand::Compact));
    rig.store.as_mut().unwrap().commit(&batch).unwrap();
    rig.engine.handle_committed(Ok(()));
    rig.settle();
    for answer in [purged, checkpoint, early] {
        answer.try_recv().unwrap().unwrap();
    }
    for _ in 0..3 {
        rig.life(LifeCommand::Compact).unwrap();
    }
    rig.check();
}
