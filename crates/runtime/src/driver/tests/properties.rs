//! Random commands, kills, full disks and clocks: after all of it the rows are what the log folds to, nothing that was
//! acknowledged is lost, and everything comes to an end.

use super::{Answered, Rig, done, failed};
use crate::driver::{Answer, Command, Config, Error, LifeCommand, Until};
use proptest::prelude::*;
use relaymesh_core::{
    id::{StepId, TaskId},
    op::{CancelMode, Scope},
    task::Status,
};
use relaymesh_store::{Error as StoreError, Reader as _, TaskFilter, memory::MemoryStore, verify};
use serde_json::json;
use std::collections::BTreeMap;

#[derive(Debug, Clone)]
enum Move {
    Submit(u8),
    Repeat(usize),
    Cancel(usize, bool),
    Redrive(usize),
    Finish(bool),
    StaleFinish(usize),
    Pass(u16),
    Purge(usize),
    Sweep(u16),
    SweepKeys(u16),
    Checkpoint,
    Compact,
    Commit,
    Settle,
    Full,
    Crash,
}

fn moves() -> impl Strategy<Value = Move> {
    prop_oneof![
        4 => (0u8..5).prop_map(Move::Submit),
        1 => any::<usize>().prop_map(Move::Repeat),
        1 => (any::<usize>(), any::<bool>()).prop_map(|(n, soft)| Move::Cancel(n, soft)),
        1 => any::<usize>().prop_map(Move::Redrive),
        5 => any::<bool>().prop_map(Move::Finish),
        1 => any::<usize>().prop_map(Move::StaleFinish),
        2 => (0u16..4_000).prop_map(Move::Pass),
        1 => any::<usize>().prop_map(Move::Purge),
        1 => (0u16..4_000).prop_map(Move::Sweep),
        1 => (0u16..4_000).prop_map(Move::SweepKeys),
        1 => Just(Move::Checkpoint),
        2 => Just(Move::Compact),
        3 => Just(Move::Commit),
        2 => Just(Move::Settle),
        1 => Just(Move::Full),
        1 => Just(Move::Crash),
    ]
}

fn graph(shape: u8) -> relaymesh_core::task::request::Request {
    let retry = json!({ "max_attempts": 2, "base_backoff_ms": 100, "max_backoff_ms": 500 });
    super::flow(match shape {
        0 => json!({ "name": "one", "steps": [{ "id": "a", "agent": "hold", "retry": retry }] }),
        1 => json!({ "name": "echo", "steps": [{ "id": "a", "agent": "echo" }] }),
        2 => json!({ "name": "chain", "steps": [
            { "id": "a", "agent": "hold" }, { "id": "b", "agent": "echo", "depends_on": ["a"] }] }),
        3 => json!({ "name": "saga", "steps": [
            { "id": "a", "agent": "echo", "compensate": "u" },
            { "id": "b", "agent": "hold", "depends_on": ["a"], "retry": retry },
            { "id": "u", "agent": "hold", "retry": retry }] }),
        _ => json!({ "name": "slow", "steps": [{ "id": "a", "agent": "hold", "timeout_ms": 300, "retry": retry }] }),
    })
}

struct Client {
    rig: Option<Rig>,
    sent: Vec<(Command, Answered)>,
    acknowledged: Vec<TaskId>,
    holds: Vec<crate::world::Hold>,
    epochs: BTreeMap<StepId, u32>,
    /// Whether something may have been purged.
    forgot: bool,
}

impl Client {
    fn rig(&mut self) -> &mut Rig {
        self.rig.as_mut().expect("a rig")
    }

    fn task(&self, n: usize) -> Option<TaskId> {
        (!self.acknowledged.is_empty()).then(|| self.acknowledged[n % self.acknowledged.len()])
    }

    fn play(&mut self, step: Move) {
        match step {
            Move::Submit(shape) => {
                let command = self.rig().submit_command(&graph(shape), Until::Accepted);
                let answered = self.rig().send(command.clone());
                self.sent.push((command, answered));
            }
            Move::Repeat(n) if !self.sent.is_empty() => {
                let command = self.sent[n % self.sent.len()].0.clone();
                let answered = self.rig().send(command.clone());
                self.sent.push((command, answered));
            }
            Move::Cancel(n, soft) => {
                let mode = if soft { CancelMode::Soft } else { CancelMode::Hard };
                if let Some(task) = self.task(n) {
                    self.rig().send(Command::Cancel { task, mode, reason: "test".to_owned() });
                }
            }
            Move::Redrive(n) => {
                if let Some(task) = self.task(n) {
                    self.rig().send(Command::Redrive { task, reason: "test".to_owned() });
                }
            }
            Move::Finish(well) => {
                let next = self.rig().levers.lock().unwrap().begun.pop_front();
                if let Some(work) = next {
                    self.holds.push(work.hold);
                    let outcome = if well { done("1") } else { failed("no") };
                    self.rig().engine.handle_finished(crate::world::Finished::new(work.hold, outcome));
                }
            }
            Move::StaleFinish(n) if !self.holds.is_empty() => {
                let hold = self.holds[n % self.holds.len()];
                self.rig().engine.handle_finished(crate::world::Finished::new(hold, done("stale")));
            }
            Move::Pass(ms) => self.rig().pass(ms.into()),
            Move::Purge(n) => {
                if let Some(task) = self.task(n) {
                    self.forget(LifeCommand::Purge { scope: Scope::Task(task) });
                }
            }
            Move::Sweep(ms) => {
                let until_ms = self.rig().levers.lock().unwrap().wall_ms - u64::from(ms);
                self.forget(LifeCommand::Sweep { until_ms });
            }
            Move::SweepKeys(ms) => {
                let until_ms = self.rig().levers.lock().unwrap().wall_ms - u64::from(ms);
                self.forget(LifeCommand::SweepKeys { until_ms });
            }
            Move::Checkpoint => drop(self.rig().send(Command::Life(LifeCommand::Checkpoint))),
            Move::Compact => drop(self.rig().send(Command::Life(LifeCommand::Compact))),
            Move::Commit => drop(self.rig().commit_one()),
            Move::Settle => self.rig().settle(),
            Move::Full => {
                self.rig().disk.fail_next_commit(StoreError::Full { detail: "full".to_owned() }, false);
            }
            Move::Crash => self.rig = self.rig.take().map(Rig::crash),
            Move::Repeat(_) | Move::StaleFinish(_) => {}
        }
        self.observe();
    }

    fn forget(&mut self, command: LifeCommand) {
        self.forgot = true;
        self.rig().send(Command::Life(command));
    }

    /// Takes in answers, and checks what must hold at every moment.
    fn observe(&mut self) {
        for (_, answered) in &self.sent {
            match answered.try_recv() {
                Ok(Ok(Answer::Accepted { task, .. })) => self.acknowledged.push(task),
                Ok(Err(Error::DiskFull(_))) | Err(_) => {}
                other => panic!("an answer that cannot be: {other:?}"),
            }
        }
        let mut reader = self.rig.as_ref().expect("a rig").disk.reader();
        for task in &self.acknowledged {
            let Some(rows) = reader.task(*task).unwrap() else {
                assert!(self.forgot, "DURABLE: what was acknowledged is there");
                continue;
            };
            relaymesh_core::task::validate(&rows).unwrap();
            for (index, step) in rows.indexed() {
                let epoch = self.epochs.entry(StepId { task: *task, index }).or_default();
                assert!(step.epoch >= *epoch, "MONOTONE: epochs only grow");
                *epoch = step.epoch;
            }
        }
    }

    /// Heals the world and works everything off.
    fn heal(&mut self) {
        for _ in 0..400 {
            self.rig().pass(1_000);
            let next = self.rig().levers.lock().unwrap().begun.pop_front();
            if let Some(work) = next {
                self.rig().finish(work.hold, done("1"));
            }
            self.observe();
            let mut reader = self.rig().disk.reader();
            let all = reader.tasks(&TaskFilter::default(), None, 1_000).unwrap();
            if all.iter().all(|task| task.status.is_terminal()) && self.rig().engine.is_settled() {
                return;
            }
        }
        panic!("PROGRESS: something never ends");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_nothing_acknowledged_is_lost_and_the_log_folds_to_the_rows(
        steps in prop::collection::vec(moves(), 1..80),
        window in 1usize..6,
        slots in 1usize..4,
    ) {
        let config = Config { queue_capacity: window, slots, batch_ops_max: 16, ..Config::default() };
        let mut client = Client {
            rig: Some(Rig::with(config)), sent: Vec::new(), acknowledged: Vec::new(), holds: Vec::new(), epochs: BTreeMap::new(),
            forgot: false,
        };
        for step in steps {
            client.play(step);
        }
        client.heal();
        let mut reader = client.rig().disk.reader();
        prop_assert!(reader.tasks(&TaskFilter::default(), None, 1_000).unwrap().iter().all(|t| t.status != Status::Running));
        verify::chain(&mut reader, verify::Checked::default(), &mut |_| {}).unwrap();
        verify::rows(&mut reader, &mut |_| {}).unwrap();
        let mut scratch = MemoryStore::new(reader.head().unwrap().chain.origin);
        let rebuilt = verify::rebuild(&mut reader, &mut scratch, &mut |_| {}).unwrap();
        prop_assert_eq!(rebuilt.differences.len(), 0);
        prop_assert_eq!(client.rig().engine.live(), 0, "BOUNDED: nothing stays in memory");
    }
}
