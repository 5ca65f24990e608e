//! A janitor: forgets what is over, gives up old keys, and lets go of old ops a little at a time.

use super::{Party, Phase, View};
use crate::{
    call::Word,
    rng::Rng,
    time::{MS, Ns},
};
use relaymesh_core::{id::TaskId, op::Scope};
use relaymesh_runtime::driver::{Answer, Command, LifeCommand};

/// What ended a shorter time ago is not touched.
const YOUNG_MS: u64 = 5_000;

#[derive(Debug)]
pub(crate) struct Janitor {
    rng: Rng,
    /// Whether it has made a checkpoint and is not at the end of its compaction.
    compacts: bool,
}

impl Janitor {
    pub(crate) fn new(rng: Rng) -> Self {
        Self { rng, compacts: false }
    }

    fn task(&mut self, view: &View<'_>) -> Option<Scope> {
        let is_old = |updated_ms: u64| updated_ms + YOUNG_MS < view.wall_ms;
        let tasks = view.ledger.tasks.values().map(|seen| &seen.rows.task);
        // Now and then one that runs: it is refused.
        let wild = !view.healthy() && self.rng.chance(100);
        let over = tasks.filter(|task| wild || (task.status.is_terminal() && is_old(task.updated_ms)));
        let over: Vec<TaskId> = over.map(|task| task.id).collect();
        self.rng.pick(&over).copied().map(Scope::Task)
    }

    fn thread(&mut self, view: &View<'_>) -> Option<Scope> {
        let is_old = |updated_ms: u64| updated_ms + YOUNG_MS < view.wall_ms;
        let threads = view.ledger.threads.values().filter(|rows| {
            let rests = rows.messages.values().all(|message| message.state.is_terminal());
            rests && is_old(rows.thread.updated_ms)
        });
        let over: Vec<_> = threads.map(|rows| rows.thread.id).collect();
        self.rng.pick(&over).copied().map(Scope::Thread)
    }
}

impl Party for Janitor {
    fn act(&mut self, view: &View<'_>) -> Option<Command> {
        if view.phase == Phase::Drain {
            return None;
        }
        let until_ms = view.wall_ms.saturating_sub(self.rng.between(20_000, 90_000));
        let command = match self.rng.weighted(&[25, 15, 10, 10, 40]) {
            0 => LifeCommand::Purge { scope: self.task(view)? },
            1 => LifeCommand::Purge { scope: self.thread(view)? },
            2 => LifeCommand::Sweep { until_ms },
            3 => LifeCommand::SweepKeys { until_ms },
            _ if self.compacts => LifeCommand::Compact,
            _ => LifeCommand::Checkpoint,
        };
        Some(Command::Life(command))
    }

    fn hear(&mut self, _: &Command, word: &Word, _: &View<'_>) {
        if let Word::Answer(Ok(Answer::Compacted { pos, horizon, .. })) = word {
            self.compacts = pos < horizon;
        }
    }

    fn pause(&mut self) -> Ns {
        self.rng.spread(300, 5_000) * MS
    }

    fn patience(&mut self, healthy: bool) -> Ns {
        if healthy { 30_000 * MS } else { self.rng.spread(200, 8_000) * MS }
    }

    fn is_idle(&self) -> bool {
        true
    }
}
