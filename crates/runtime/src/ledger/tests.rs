use super::*;
use relaymesh_agents::Agents;
use std::path::Path;

const DAY_MS: u64 = 86_400_000;

#[derive(Default, Clone)]
struct Written(Arc<Mutex<Vec<Spend>>>);

impl Books for Written {
    fn of_day(&mut self, day: Day) -> Result<Vec<Spend>, Error> {
        Ok(locked(&self.0).iter().filter(|spend| spend.day == day).cloned().collect())
    }

    fn of_task(&mut self, task: TaskId) -> Result<Vec<Spend>, Error> {
        Ok(locked(&self.0).iter().filter(|spend| spend.task == task).cloned().collect())
    }
}

/// A ledger, and what it has written. A second one on the same books is the next life of the daemon.
fn ledger(books: &Written) -> Ledger {
    let written = books.clone();
    Ledger::new(Box::new(books.clone()), Arc::new(move |spend| locked(&written.0).push(spend)), elapsed())
}

struct Rig {
    books: Written,
    ledger: Ledger,
    agents: Agents,
}

impl Rig {
    fn new(budgets: &str, own: &str) -> Self {
        let text = format!(
            "[budgets]\n{budgets}\n[agents.a]\ncommand = [\"x\"]\nllm = true\n{own}\n[agents.b]\ncommand = [\"x\"]\nllm = true\n"
        );
        let agents = Agents::parse(&text, Path::new("/nowhere")).unwrap_or_else(|error| panic!("{error}: {text}"));
        let books = Written::default();
        Self { ledger: ledger(&books), books, agents }
    }

    fn open(&self, agent: &str, namespace: &str, task: u128, now_ms: u64) -> Result<Account, Over> {
        let payer =
            Payer { namespace: namespace.parse().unwrap(), agent: agent.parse().unwrap(), task: TaskId::new(1, task) };
        let agent = self.agents.get(&payer.agent).unwrap();
        self.ledger
            .open(payer, (agent.terms.llm, agent.terms.budget), self.agents.budgets(), now_ms)
            .map(Option::unwrap)
    }
}

fn tokens(count: u64) -> Usage {
    Usage { input_tokens: count, ..Usage::default() }
}

#[test]
fn attempts_side_by_side_share_what_is_left() {
    let rig = Rig::new("task = { tokens = 100 }", "");
    let (one, two) = (rig.open("a", "n", 1, 5).unwrap(), rig.open("b", "n", 1, 5).unwrap());
    let other = rig.open("a", "n", 2, 5).unwrap();
    assert_eq!((one.meter().used)(tokens(60)), Ok(()));
    assert_eq!((other.meter().used)(tokens(60)), Ok(()), "another task has its own");
    assert_eq!((two.meter().used)(tokens(40)), Ok(()), "all of it, and no more");
    let why = "over budget: the budget of the task: 101 of 100 tokens are used".to_owned();
    assert_eq!((one.meter().used)(tokens(61)), Err(why));
    [one, two, other].into_iter().for_each(|account| account.close(None));
    let why = "over budget: the budget of the task: 101 of 100 tokens are used".to_owned();
    assert_eq!(rig.open("a", "n", 1, 9).err(), Some(Over::ForGood(why)));
    assert!(rig.open("a", "n", 2, 9).is_ok());
}

#[test]
fn what_was_used_is_known_after_a_restart_whatever_became_of_the_attempt() {
    let mut rig = Rig::new("", "budget = { day = { usd = 1 } }");
    let account = rig.open("a", "n", 1, DAY_MS * 3 + 7).unwrap();
    let used = Usage { cost_micros: Some(1_200_000), turns: 2, ..tokens(5) };
    let why = "over budget: the budget of agent `a` for the day: $1.20 of $1.00 is used".to_owned();
    assert_eq!((account.meter().used)(used), Err(why.clone()));
    // Nobody closes the account: the daemon is killed.
    rig.ledger = ledger(&rig.books);
    let until_ms = DAY_MS * 4;
    assert_eq!(rig.open("a", "n", 2, DAY_MS * 3 + 9).err(), Some(Over::Today { why, until_ms }));
    assert!(rig.open("b", "n", 2, DAY_MS * 3 + 9).is_ok(), "another agent has no such budget");
    assert!(rig.open("a", "n", 2, until_ms).is_ok(), "a new day");
}

#[test]
fn days_are_of_namespaces_and_of_all_too() {
    let rig = Rig::new("day = { turns = 3 }\nnamespaces.team = { turns = 1 }", "");
    let turn = Usage { turns: 1, ..Usage::default() };
    let first = rig.open("a", "team", 1, 5).unwrap();
    assert_eq!((first.meter().used)(turn), Ok(()));
    let why = "over budget: the budget of namespace `team` for the day: 1 of 1 turns are used".to_owned();
    assert_eq!(rig.open("b", "team", 2, 5).err(), Some(Over::ForGood(why)));
    let second = rig.open("b", "other", 3, 5).unwrap();
    let twice = Usage { turns: 2, ..Usage::default() };
    assert_eq!((second.meter().used)(twice), Ok(()));
    let why = "over budget: the budget of the day: 3 of 3 turns are used".to_owned();
    assert_eq!(rig.open("a", "other", 4, 5).err(), Some(Over::Today { why, until_ms: DAY_MS }));
}

#[test]
fn time_is_given_at_the_start_and_counted_at_the_end() {
    let rig = Rig::new("", "budget = { task = { wall = \"1h\", tokens = 5 } }");
    let account = rig.open("a", "n", 1, 5).unwrap();
    let (time, why) = account.meter().time.unwrap();
    assert_eq!(time, Duration::from_secs(3_600));
    assert_eq!(why, "over budget: the budget of agent `a` for the task: 3600 of 3600 s are used");
    account.close(Some(tokens(3)));
    let written = locked(&rig.books.0).clone();
    assert_eq!(written.len(), 1);
    assert_eq!(written[0].amount.tokens, 3);
}

#[test]
fn whoever_has_no_budget_and_no_model_is_not_counted() {
    let agents = Agents::parse("[agents.s]\ncommand = [\"x\"]\n", Path::new("/nowhere")).unwrap();
    let books = Written::default();
    let payer = Payer { namespace: "n".parse().unwrap(), agent: "s".parse().unwrap(), task: TaskId::new(1, 1) };
    let agent = agents.get(&payer.agent).unwrap().clone();
    assert!(matches!(ledger(&books).open(payer, (agent.terms.llm, agent.terms.budget), agents.budgets(), 5), Ok(None)));
}

/// Books that get what was used when the test says so, as from a slow disk.
struct Slow {
    books: Written,
    on_its_way: Written,
    ledger: Ledger,
    passed_ms: Arc<Mutex<u64>>,
    budgets: Budgets,
}

impl Slow {
    fn new(budgets: Budgets) -> Self {
        let (books, on_its_way, passed_ms) = (Written::default(), Written::default(), Arc::new(Mutex::new(0)));
        let (writes, passes) = (on_its_way.clone(), Arc::clone(&passed_ms));
        let write = Arc::new(move |spend| locked(&writes.0).push(spend));
        let ledger = Ledger::new(Box::new(books.clone()), write, Arc::new(move || *locked(&passes)));
        Self { books, on_its_way, ledger, passed_ms, budgets }
    }

    fn open(&self, now_ms: u64) -> Result<Account, Over> {
        let payer = Payer { namespace: "n".parse().unwrap(), agent: "a".parse().unwrap(), task: TaskId::new(1, 1) };
        self.ledger.open(payer, (true, AgentBudgets::default()), &self.budgets, now_ms).map(Option::unwrap)
    }

    fn commit(&self) {
        let spends = std::mem::take(&mut *locked(&self.on_its_way.0));
        locked(&self.books.0).extend(spends.iter().cloned());
        self.ledger.spent(&spends);
    }
}

#[test]
fn what_was_used_counts_before_it_is_durable_and_after() {
    let task = Budget { tokens: Some(100), ..Budget::default() };
    let slow = Slow::new(Budgets { task, ..Budgets::default() });
    let account = slow.open(5).unwrap();
    assert_eq!((account.meter().used)(tokens(60)), Ok(()));
    account.close(Some(tokens(100)));
    assert!(matches!(slow.open(6), Err(Over::ForGood(_))), "the books have none of it yet");
    slow.commit();
    assert!(matches!(slow.open(7), Err(Over::ForGood(_))), "and now all of it");
    assert!(locked(&slow.ledger.state).tasks.is_empty(), "nothing is kept of a task that is in the books");
}

#[test]
fn what_is_used_after_midnight_counts_before_it_is_durable() {
    let day = Budget { tokens: Some(100), ..Budget::default() };
    let slow = Slow::new(Budgets { day, ..Budgets::default() });
    let account = slow.open(DAY_MS - 5).unwrap();
    *locked(&slow.passed_ms) = 10;
    assert_eq!((account.meter().used)(tokens(100)), Ok(()));
    let until_ms = 2 * DAY_MS;
    let over = slow.open(DAY_MS + 6).err();
    assert!(matches!(&over, Some(Over::Today { until_ms: found, .. }) if *found == until_ms), "{over:?}");
}
