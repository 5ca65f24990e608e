//! BUDGET: what was used is counted once and never forgotten: not by a restart once it is durable, and not by a full disk at all.
//! No attempt begins when a budget is used up, one that exceeds a budget is told to end, and none is told so without need.
//!
//! The model adds up the entries of the journal: those on the disk when the process started, and those that it was handed since. It
//! shares nothing with the production ledger but the entries.

use super::{Accounting, Invariant, Look, Rest, Verdict, ensure};
use crate::{node::Attempt, share::Shares};
use relaymesh_core::{
    budget::{Amount, Budget},
    id::TaskId,
    name::Name,
};
use relaymesh_runtime::world::{Outcome, Work};
use relaymesh_store::{Day, Reader as _, Spend, memory::MemoryReader};
use std::{collections::BTreeMap, rc::Rc};

/// What an entry of the journal is about.
type Key = (Day, Name, Name, TaskId);

type Sums = BTreeMap<Key, Amount>;

pub(crate) struct Budgets {
    shares: Rc<Shares>,
    /// The budgets with which each attempt under way began.
    running: BTreeMap<Attempt, Rc<Shares>>,
    /// What was on the disk when the process started.
    before: Sums,
    /// What the process was handed since.
    since: Sums,
    /// The day that the process has come to.
    day: Option<Day>,
    /// A read failed when the day began: what the process knows of it may be too little until its next start.
    is_unsure: bool,
}

impl Budgets {
    pub(crate) fn new(shares: &Shares) -> Self {
        let shares = Rc::new(shares.clone());
        let (running, before, since) = (BTreeMap::new(), Sums::new(), Sums::new());
        Self { shares, running, before, since, day: None, is_unsure: false }
    }

    fn turn_to(&mut self, day: Day, is_sure: bool) {
        if self.day < Some(day) {
            (self.day, self.is_unsure) = (Some(day), !is_sure);
        }
    }

    /// The budgets that an attempt has to keep to, with what is used of each; those of the day apart.
    fn bounds(&self, work: &Work, shares: &Shares) -> Vec<(&'static str, Budget, Amount)> {
        let Some(quota) = shares.agents.get(&work.agent) else { return Vec::new() };
        let budgets = &shares.budgets;
        let task = |key: &Key| key.3 == work.hold.step.task;
        let today = |key: &Key| Some(key.0) == self.day;
        let by_agent = |key: &Key| key.2 == work.agent;
        let in_namespace = |key: &Key| key.1 == work.namespace;
        let of_namespace = budgets.namespaces.get(&work.namespace).copied().unwrap_or_default();
        let mut bounds = vec![
            ("of the task", budgets.task, self.sum(task)),
            ("of the agent for the task", quota.budget.task, self.sum(|key| task(key) && by_agent(key))),
        ];
        if !self.is_unsure {
            bounds.extend([
                ("of the day", budgets.day, self.sum(today)),
                ("of the agent for the day", quota.budget.day, self.sum(|key| today(key) && by_agent(key))),
                ("of the namespace for the day", of_namespace, self.sum(|key| today(key) && in_namespace(key))),
            ]);
        }
        bounds
    }

    fn sum(&self, is_meant: impl Fn(&Key) -> bool) -> Amount {
        let all = self.before.iter().chain(&self.since);
        all.filter(|(key, _)| is_meant(key)).fold(Amount::default(), |sum, (_, amount)| sum.plus(*amount))
    }

    fn opened(&self, work: &Work, time_ms: Option<u64>) -> Verdict {
        let bounds = self.bounds(work, &self.shares);
        let used_up = bounds.iter().find(|(_, budget, spent)| reaches(budget, spent, 0));
        ensure(used_up.is_none(), || format!("{} began, and {used_up:?} is used up", work.hold.step))?;
        if self.is_unsure {
            return Ok(());
        }
        let left = bounds.iter().filter_map(|(_, budget, spent)| Some(budget.wall_ms? - spent.wall_ms)).min();
        ensure(time_ms == left, || format!("{} may run for {time_ms:?} ms, and {left:?} are left", work.hold.step))
    }

    fn refused(&self, work: &Work, outcome: &Outcome) -> Verdict {
        let over = match outcome {
            Outcome::Failed { retryable, .. } => !retryable, // else the journal could not be read
            Outcome::Limited { .. } => true,
            Outcome::Done { .. } | Outcome::Weighed(_) => false,
        };
        let bounds = self.bounds(work, &self.shares);
        let used_up = bounds.iter().any(|(_, budget, spent)| reaches(budget, spent, 0));
        ensure(!over || used_up || self.is_unsure, || {
            format!("{} was refused ({outcome:?}), and there is some left of {bounds:?}", work.hold.step)
        })
    }

    fn used(&self, work: &Work, goes_on: bool) -> Verdict {
        let shares = self.running.get(&(work.hold.step, work.hold.epoch));
        let shares = shares.ok_or_else(|| format!("{} is not under way", work.hold.step))?;
        let bounds = self.bounds(work, shares);
        let exceeded = bounds.iter().find(|(_, budget, spent)| reaches(budget, spent, 1));
        ensure(exceeded.is_none() || !goes_on, || format!("{} goes on, and {exceeded:?} is exceeded", work.hold.step))?;
        ensure(exceeded.is_some() || goes_on || self.is_unsure, || {
            format!("{} was told to end, and nothing of {bounds:?} is exceeded", work.hold.step)
        })
    }
}

impl Invariant for Budgets {
    fn name(&self) -> &'static str {
        "BUDGET"
    }

    fn account(&mut self, what: &Accounting<'_>, wall_ms: u64) -> Verdict {
        match what {
            Accounting::Opened { work, time_ms } => {
                self.turn_to(Day::of(wall_ms), true);
                self.running.insert((work.hold.step, work.hold.epoch), Rc::clone(&self.shares));
                self.opened(work, *time_ms)
            }
            Accounting::Refused { work, outcome } => {
                self.turn_to(Day::of(wall_ms), true);
                self.refused(work, outcome)
            }
            Accounting::TurnedAway { .. } => Ok(()),
            Accounting::Used { work, goes_on } => self.used(work, *goes_on),
            Accounting::Closed { attempt } => {
                self.running.remove(attempt);
                Ok(())
            }
            Accounting::Spent { spend, is_sure } => {
                self.turn_to(spend.day, *is_sure);
                add(&mut self.since, spend);
                Ok(())
            }
            Accounting::Configured(shares) => {
                self.shares = Rc::new((*shares).clone());
                Ok(())
            }
        }
    }

    fn start(&mut self, look: &mut Look<'_>) -> Verdict {
        let stored = stored(look.reader)?;
        for (key, amount) in &self.before {
            let found = stored.get(key).copied().unwrap_or_default();
            ensure(amount.beyond(found).is_zero(), || {
                format!("{key:?}: {found:?} of {amount:?} are left on the disk")
            })?;
        }
        for (key, found) in &stored {
            let of = |sums: &Sums| sums.get(key).copied().unwrap_or_default();
            let all = of(&self.before).plus(of(&self.since));
            ensure(found.beyond(all).is_zero(), || format!("{key:?}: {all:?} was used and {found:?} is written down"))?;
        }
        (self.before, self.since, self.day, self.is_unsure) = (stored, Sums::new(), None, false);
        self.running.clear();
        Ok(())
    }

    fn rest(&mut self, look: &mut Look<'_>, _rest: &Rest) -> Verdict {
        let stored = stored(look.reader)?;
        let mut all = self.before.clone();
        for (key, amount) in &self.since {
            let sum = all.entry(key.clone()).or_default();
            *sum = sum.plus(*amount);
        }
        let wrong = all.iter().find(|(key, amount)| stored.get(key) != Some(amount));
        ensure(wrong.is_none(), || {
            let found = wrong.map(|(key, _)| stored.get(key));
            format!("of what was used, {wrong:?} is written down as {found:?}")
        })
    }
}

/// Whether as much of anything was used as the budget has, and `beyond` that.
fn reaches(budget: &Budget, spent: &Amount, beyond: u64) -> bool {
    let each = [
        (budget.tokens, spent.tokens),
        (budget.turns, spent.turns),
        (budget.wall_ms, spent.wall_ms),
        (budget.cost_micros, spent.cost_micros),
    ];
    each.into_iter().any(|(budget, spent)| budget.is_some_and(|budget| spent >= budget + beyond))
}

fn stored(reader: &mut MemoryReader) -> Result<Sums, String> {
    let mut sums = Sums::new();
    reader.spends(Day(0)).map_err(|error| error.to_string())?.iter().for_each(|spend| add(&mut sums, spend));
    Ok(sums)
}

fn add(sums: &mut Sums, spend: &Spend) {
    let key = (spend.day, spend.namespace.clone(), spend.agent.clone(), spend.task);
    let sum = sums.entry(key).or_default();
    *sum = sum.plus(spend.amount);
}
