//! Attempts of the node's own agents: they begin, use something, are turned away, and end.

use super::{Event, World};
use crate::{
    invariant::Accounting,
    node::{Attempt, Begun, HeldNow, Input, Refused, Running},
    time::{MS, Ns},
    trace::What,
};
use relaymesh_core::id::StepId;
use relaymesh_runtime::{
    ledger::Account,
    world::{Finished, Hold, Outcome, Work},
};

impl World {
    /// Takes what the process has left on the panel about its agents.
    pub(super) fn collect_attempts(&mut self, index: usize, life: u64) {
        let (begun, refused, held, stopped) = {
            let mut panel = self.nodes[index].panel.look();
            let (begun, refused) = (std::mem::take(&mut panel.begun), std::mem::take(&mut panel.refused));
            (begun, refused, std::mem::take(&mut panel.held_now), std::mem::take(&mut panel.stopped))
        };
        for HeldNow { agent, until_ms, alone, wall_ms } in held {
            let provider = self.nodes[index].panel.look().shares.provider(&agent).unwrap_or_default().to_owned();
            self.tally.holds += 1;
            self.note(What::Held { agent: agent.to_string(), until_ms });
            let now = self.agenda.now();
            self.invariants.held(&crate::invariant::Hold { agent, provider, until_ms, alone, wall_ms, now });
        }
        for Refused { work, outcome } in refused {
            let StepId { task, index: step } = work.hold.step;
            let is_unreadable = matches!(outcome, Outcome::Failed { retryable: true, .. });
            self.tally.over_budget += u64::from(!is_unreadable);
            self.note(What::Refused { task, step });
            self.account(index, &Accounting::Refused { work: &work, outcome: &outcome });
        }
        for Begun { work, ends, account } in begun {
            self.begins(index, life, work, ends, account);
        }
        for attempt in stopped {
            // Not every agent can be stopped in time.
            if self.nodes[index].rng.chance(800) {
                self.nodes[index].silenced.insert(attempt);
                let after = self.nodes[index].rng.spread(1, 500) * MS;
                self.agenda.after(after, Event::Stopped { node: index, life, attempt });
            }
        }
    }

    fn begins(&mut self, index: usize, life: u64, work: Work, ends: Option<(Ns, Outcome)>, account: Option<Account>) {
        self.invariants.work(&work, &self.ledgers[index]);
        let Hold { step, epoch, .. } = work.hold;
        self.note(What::Begun { task: step.task, step: step.index, epoch });
        let (hold, now) = (work.hold, self.agenda.now());
        let Some((takes, outcome)) = ends else { return };
        let Some(account) = account else {
            let finished = Finished::new(hold, outcome);
            return self.agenda.after(takes, Event::Outcome { node: index, life, finished });
        };
        let running = Running::new(work, account, now, (takes, outcome));
        let time_ms = running.time_ms();
        let (at, outcome) = running.ends.clone();
        let work = running.work.clone();
        let node = &mut self.nodes[index];
        let pause = Running::pause(&mut node.rng);
        let Some(process) = &mut node.life else { return };
        process.running.insert((step, epoch), running);
        self.agenda.at(at, Event::Outcome { node: index, life, finished: Finished::new(hold, outcome) });
        self.agenda.after(pause, Event::Use { node: index, life, attempt: (step, epoch) });
        self.account(index, &Accounting::Opened { work: &work, time_ms });
    }

    /// An attempt that is counted gives account of what it has used.
    pub(super) fn uses(&mut self, index: usize, number: u64, attempt: Attempt) {
        let node = &mut self.nodes[index];
        let Some(life) = node.life.as_mut().filter(|life| life.number == number) else { return };
        let Some(running) = life.running.get_mut(&attempt) else { return };
        let reads_failed = node.panel.look().reads_failed;
        let said = running.uses(&mut node.rng);
        let (work, hold) = (running.work.clone(), running.work.hold);
        self.hand_spends_over(index, reads_failed);
        let StepId { task, index: step } = attempt.0;
        self.tally.over_budget += u64::from(said.is_err());
        self.note(What::Used { task, step, goes_on: said.is_ok() });
        self.account(index, &Accounting::Used { work: &work, goes_on: said.is_ok() });
        match said {
            Ok(()) => {
                let pause = Running::pause(&mut self.nodes[index].rng);
                self.agenda.after(pause, Event::Use { node: index, life: number, attempt });
            }
            Err(outcome) => {
                self.outcome(index, number, Finished::new(hold, outcome));
                self.nodes[index].silenced.insert(attempt); // it has said how it ended
            }
        }
    }

    /// An attempt ends, if nothing has ended it before.
    pub(super) fn outcome(&mut self, index: usize, number: u64, finished: Finished) {
        let attempt = (finished.hold.step, finished.hold.epoch);
        self.close(index, number, attempt);
        let node = &mut self.nodes[index];
        let silenced = node.silenced.contains(&attempt);
        let Some(life) = node.life.as_mut().filter(|life| life.number == number && !silenced) else { return };
        let turned_away = matches!(finished.outcome, Outcome::Limited { .. });
        life.inputs.push_back(Input::Finished(finished));
        if turned_away {
            self.account(index, &Accounting::TurnedAway { attempt });
        }
        self.soon(index);
    }

    /// Closes the account of an attempt, if it has one that is open.
    pub(super) fn close(&mut self, index: usize, number: u64, attempt: Attempt) {
        let node = &mut self.nodes[index];
        let Some(life) = node.life.as_mut().filter(|life| life.number == number) else { return };
        let Some(running) = life.running.remove(&attempt) else { return };
        let reads_failed = node.panel.look().reads_failed;
        running.close(&mut node.rng);
        self.account(index, &Accounting::Closed { attempt });
        self.hand_spends_over(index, reads_failed);
    }

    /// What was used goes to the process, to be written down. `reads_failed`: how many had failed before.
    fn hand_spends_over(&mut self, index: usize, reads_failed: u64) {
        let (spends, is_sure) = {
            let mut panel = self.nodes[index].panel.look();
            (std::mem::take(&mut panel.spent), panel.reads_failed == reads_failed)
        };
        for spend in spends {
            self.account(index, &Accounting::Spent { spend: &spend, is_sure });
            if let Some(life) = &mut self.nodes[index].life {
                life.inputs.push_back(Input::Spent(spend));
            }
            self.soon(index);
        }
    }

    pub(super) fn account(&mut self, index: usize, what: &Accounting<'_>) {
        let wall_ms = self.nodes[index].wall_ms();
        self.invariants.account(what, wall_ms);
    }

    /// The budgets are lifted: steps that waited for them run now.
    pub(super) fn lift_budgets(&mut self) {
        for index in 0..self.nodes.len() {
            let node = &mut self.nodes[index];
            let mut panel = node.panel.look();
            panel.shares = panel.shares.without_budgets();
            let shares = panel.shares.clone();
            drop(panel);
            if let Some(life) = &mut node.life {
                life.inputs.push_back(Input::Refresh);
            }
            self.account(index, &Accounting::Configured(&shares));
            self.soon(index);
        }
    }
}
