//! The ledger: who has used how much of which budget, and who may go on.
//!
//! Counting at the end of an attempt is the tempting answer, and lets eight attempts side by side each use all that is left. Here whatever
//! an attempt reports is counted at once, for everybody who shares a budget with it, and written down at once, so that a crash loses no
//! more than what nobody had reported yet.
//!
//! Only agents that use a model, or have a budget of their own, are counted: whoever starts `true` a thousand times a second does not pay
//! for it.

use relaymesh_agents::{AgentBudgets, Budgets, Meter, tool::Usage};
use relaymesh_core::{
    budget::{Amount, Budget, Excess},
    id::TaskId,
    name::Name,
};
use relaymesh_store::{Day, Error, Reader, Spend};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// What was used before: asked once a day, and when a task is first seen.
pub trait Books: Send {
    /// All that was used on this day.
    fn of_day(&mut self, day: Day) -> Result<Vec<Spend>, Error>;
    /// All that was used for this task.
    fn of_task(&mut self, task: TaskId) -> Result<Vec<Spend>, Error>;
}

impl<R: Reader> Books for R {
    fn of_day(&mut self, day: Day) -> Result<Vec<Spend>, Error> {
        let mut spends = self.spends(day)?;
        spends.retain(|spend| spend.day == day);
        Ok(spends)
    }

    fn of_task(&mut self, task: TaskId) -> Result<Vec<Spend>, Error> {
        self.spends_for(task)
    }
}

/// Writes down what was used. Once it is durable, the ledger is told.
pub type Write = Arc<dyn Fn(Spend) + Send + Sync>;

/// How many milliseconds have passed since some moment that stays the same.
pub type Elapsed = Arc<dyn Fn() -> u64 + Send + Sync>;

/// Measured by this machine.
pub fn elapsed() -> Elapsed {
    let began = Instant::now();
    Arc::new(move || u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX))
}

/// Why an attempt may not begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Over {
    /// There is no more today: the agent is held until the day is over.
    Today {
        /// Why, for people.
        why: String,
        /// When the day is over.
        until_ms: u64,
    },
    /// There is no more, and waiting would not help.
    ForGood(String),
    /// Nobody can say.
    Unreadable(String),
}

/// Whose attempt it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Payer {
    pub(crate) namespace: Name,
    pub(crate) agent: Name,
    pub(crate) task: TaskId,
}

/// What a budget is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bound {
    Task,
    TaskByAgent,
    Day,
    DayOfAgent,
    DayOfNamespace,
}

/// Who has used how much.
#[derive(Clone)]
pub struct Ledger {
    state: Arc<Mutex<State>>,
    write: Write,
    elapsed: Elapsed,
}

struct State {
    books: Box<dyn Books>,
    day: Option<Day>,
    /// What each agent has used today for each namespace.
    today: BTreeMap<(Name, Name), Amount>,
    /// The tasks with attempts under way, or of which the books do not have everything.
    tasks: BTreeMap<TaskId, Counted>,
}

/// What was used for a task.
#[derive(Default)]
struct Counted {
    by_agent: BTreeMap<Name, Amount>,
    /// Attempts under way.
    attempts: usize,
    /// What was handed over to be written and is not durable yet: the books do not have it.
    unwritten: usize,
}

/// An attempt that is counted.
#[derive(Clone)]
pub struct Account {
    ledger: Ledger,
    payer: Arc<Payer>,
    budgets: Arc<[(Bound, Budget)]>,
    began_ms: u64,
    /// The same moment by `Ledger::elapsed`.
    began: u64,
    /// What is counted so far.
    counted: Arc<Mutex<Amount>>,
}

impl Ledger {
    /// A ledger that knows what is in the books, and writes down what comes.
    pub fn new(books: Box<dyn Books>, write: Write, elapsed: Elapsed) -> Self {
        let state = State { books, day: None, today: BTreeMap::new(), tasks: BTreeMap::new() };
        Self { state: Arc::new(Mutex::new(state)), write, elapsed }
    }

    /// Opens an account for an attempt that is about to begin, if it is one that is counted.
    pub(crate) fn open(
        &self,
        payer: Payer,
        (llm, own): (bool, AgentBudgets),
        budgets: &Budgets,
        now_ms: u64,
    ) -> Result<Option<Account>, Over> {
        if !llm && own == AgentBudgets::default() {
            return Ok(None);
        }
        let bounds = [
            (Bound::Task, budgets.task),
            (Bound::TaskByAgent, own.task),
            (Bound::DayOfNamespace, budgets.namespaces.get(&payer.namespace).copied().unwrap_or_default()),
            (Bound::DayOfAgent, own.day),
            (Bound::Day, budgets.day),
        ];
        let bounds: Arc<[_]> = bounds.into_iter().filter(|(_, budget)| !budget.is_unbounded()).collect();
        let mut state = locked(&self.state);
        let day = Day::of(now_ms);
        let read = state.turn_to(day).and_then(|()| state.load(payer.task));
        read.map_err(|error| Over::Unreadable(format!("cannot read the usage so far: {error}")))?;
        for (bound, budget) in bounds.iter() {
            if let Some(excess) = budget.used_up(state.spent(*bound, &payer)) {
                let why = words(*bound, &payer, excess);
                state.forget(payer.task);
                return Err(match bound {
                    Bound::Task | Bound::TaskByAgent | Bound::DayOfNamespace => Over::ForGood(why),
                    // Whoever else uses this agent may not do so either.
                    Bound::Day | Bound::DayOfAgent => Over::Today { why, until_ms: day.end_ms() },
                });
            }
        }
        state.tasks.entry(payer.task).or_default().attempts += 1;
        Ok(Some(Account {
            ledger: self.clone(),
            payer: Arc::new(payer),
            budgets: bounds,
            began_ms: now_ms,
            began: (self.elapsed)(),
            counted: Arc::default(),
        }))
    }

    /// These are durable now: the books have them.
    pub(crate) fn spent(&self, spends: &[Spend]) {
        let mut state = locked(&self.state);
        for Spend { task, .. } in spends {
            if let Some(counted) = state.tasks.get_mut(task) {
                counted.unwritten = counted.unwritten.saturating_sub(1);
            }
            state.forget(*task);
        }
    }
}

impl Account {
    /// What the attempt may use.
    pub fn meter(&self) -> Meter {
        let state = locked(&self.ledger.state);
        let left = self.budgets.iter().filter_map(|(bound, budget)| {
            let spent = state.spent(*bound, &self.payer);
            let left_ms = budget.left_ms(spent)?;
            let excess = budget.used_up(Amount { wall_ms: spent.wall_ms.saturating_add(left_ms), ..spent })?;
            Some((left_ms, words(*bound, &self.payer, excess)))
        });
        let time = left.min_by_key(|(left_ms, _)| *left_ms).map(|(ms, why)| (Duration::from_millis(ms), why));
        let account = self.clone();
        Meter { used: Arc::new(move |usage| account.count(usage)), time }
    }

    /// Counts what the attempt has used so far; the error is why it may not go on.
    fn count(&self, usage: Usage) -> Result<(), String> {
        let so_far = Amount { wall_ms: locked(&self.counted).wall_ms, ..amount(usage) };
        self.add(so_far);
        let state = locked(&self.ledger.state);
        let exceeded = self.budgets.iter().find_map(|(bound, budget)| {
            let excess = budget.exceeded(state.spent(*bound, &self.payer))?;
            Some(words(*bound, &self.payer, excess))
        });
        exceeded.map_or(Ok(()), Err)
    }

    /// The attempt is over, and this is what it used.
    pub fn close(self, usage: Option<Usage>) {
        let wall_ms = self.ran_ms();
        let last = usage.map_or_else(|| *locked(&self.counted), amount);
        self.add(Amount { wall_ms, ..last });
        let mut state = locked(&self.ledger.state);
        if let Some(counted) = state.tasks.get_mut(&self.payer.task) {
            counted.attempts = counted.attempts.saturating_sub(1);
        }
        state.forget(self.payer.task);
    }

    fn add(&self, so_far: Amount) {
        let mut counted = locked(&self.counted);
        let amount = so_far.beyond(*counted);
        if amount.is_zero() {
            return;
        }
        *counted = counted.plus(amount);
        drop(counted);
        let day = Day::of(self.began_ms.saturating_add(self.ran_ms()));
        let Payer { namespace, agent, task } = self.payer.as_ref();
        let spend = Spend { day, namespace: namespace.clone(), agent: agent.clone(), task: *task, amount };
        locked(&self.ledger.state).add(&spend);
        (self.ledger.write)(spend);
    }

    fn ran_ms(&self) -> u64 {
        (self.ledger.elapsed)().saturating_sub(self.began)
    }
}

impl State {
    /// A new day begins with what the books say of it.
    fn turn_to(&mut self, day: Day) -> Result<(), Error> {
        if self.day >= Some(day) {
            return Ok(());
        }
        let spends = self.books.of_day(day)?;
        self.day = Some(day);
        self.today.clear();
        for Spend { namespace, agent, amount, .. } in spends {
            let sum = self.today.entry((namespace, agent)).or_default();
            *sum = sum.plus(amount);
        }
        Ok(())
    }

    fn load(&mut self, task: TaskId) -> Result<(), Error> {
        if self.tasks.contains_key(&task) {
            return Ok(());
        }
        let mut counted = Counted::default();
        for Spend { agent, amount, .. } in self.books.of_task(task)? {
            let sum = counted.by_agent.entry(agent).or_default();
            *sum = sum.plus(amount);
        }
        self.tasks.insert(task, counted);
        Ok(())
    }

    /// A task without attempts is in the books, as soon as what it has used is durable. Not before: while the disk is slow or full, a step
    /// beside it would begin with what others have used already.
    fn forget(&mut self, task: TaskId) {
        if self.tasks.get(&task).is_some_and(|counted| counted.attempts == 0 && counted.unwritten == 0) {
            self.tasks.remove(&task);
        }
    }

    fn add(&mut self, spend: &Spend) {
        // The first use of a day reads the books for it: later they would lack what is not durable yet. If they cannot be read now, they are
        // read when the next attempt begins.
        let _ = self.turn_to(spend.day);
        if Some(spend.day) == self.day {
            let sum = self.today.entry((spend.namespace.clone(), spend.agent.clone())).or_default();
            *sum = sum.plus(spend.amount);
        }
        if let Some(counted) = self.tasks.get_mut(&spend.task) {
            let sum = counted.by_agent.entry(spend.agent.clone()).or_default();
            *sum = sum.plus(spend.amount);
            counted.unwritten += 1;
        }
    }

    fn spent(&self, bound: Bound, payer: &Payer) -> Amount {
        let task = || self.tasks.get(&payer.task).into_iter().flat_map(|counted| &counted.by_agent);
        let total = |amounts: &mut dyn Iterator<Item = Amount>| amounts.fold(Amount::default(), Amount::plus);
        let today = |is_meant: &dyn Fn(&(Name, Name)) -> bool| {
            total(&mut self.today.iter().filter(|(who, _)| is_meant(who)).map(|(_, amount)| *amount))
        };
        match bound {
            Bound::Task => total(&mut task().map(|(_, amount)| *amount)),
            Bound::TaskByAgent => {
                total(&mut task().filter(|(agent, _)| **agent == payer.agent).map(|(_, amount)| *amount))
            }
            Bound::Day => today(&|_| true),
            Bound::DayOfAgent => today(&|(_, agent)| *agent == payer.agent),
            Bound::DayOfNamespace => today(&|(namespace, _)| *namespace == payer.namespace),
        }
    }
}

fn amount(usage: Usage) -> Amount {
    Amount {
        tokens: usage.input_tokens.saturating_add(usage.output_tokens),
        turns: usage.turns,
        wall_ms: 0,
        cost_micros: usage.cost_micros.unwrap_or(0),
    }
}

fn words(bound: Bound, payer: &Payer, excess: Excess) -> String {
    let Payer { namespace, agent, .. } = payer;
    let whose = match bound {
        Bound::Task => "the budget of the task".to_owned(),
        Bound::TaskByAgent => format!("the budget of agent `{agent}` for the task"),
        Bound::Day => "the budget of the day".to_owned(),
        Bound::DayOfAgent => format!("the budget of agent `{agent}` for the day"),
        Bound::DayOfNamespace => format!("the budget of namespace `{namespace}` for the day"),
    };
    format!("over budget: {whose}: {excess}")
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
