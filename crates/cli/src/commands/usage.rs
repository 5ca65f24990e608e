//! `relaymesh usage`

use crate::{agents, args::Context, error::Error, exit::Exit, output, root, time};
use clap::ValueEnum;
use relaymesh_core::{
    budget::{self, Amount, Budget},
    name::Name,
};
use relaymesh_store::{Day, Reader as _, Spend};
use serde_json::json;
use std::collections::BTreeMap;

const EXAMPLES: &str = "\
Examples:
  relaymesh usage                        usage of today, by agent
  relaymesh usage --days 7 --by namespace
  relaymesh usage --by task --json | jq 'select(.usd > 1)'";

/// The longest look back.
const DAYS_MAX: u32 = 3_650;
/// Milliseconds of a day.
const DAY_MS: u64 = 86_400_000;

/// Show what agents used: tokens, turns, time and cost
///
/// Covers agents that use a model or have a budget. Days are UTC days. Budgets are set in agents.toml, and checked
/// before and during each attempt. Cost is what the tools report, if they do.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Number of days, including today
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=i64::from(DAYS_MAX)))]
    days: u32,
    /// Group by
    #[arg(long, value_enum, default_value_t = By::Agent)]
    by: By,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum By {
    Agent,
    Namespace,
    Task,
    Day,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Exit, Error> {
    let today = Day::of(time::now_ms());
    let since = Day(today.0.saturating_sub(args.days - 1));
    let spends = root::read(&context.root)?.spends(since)?;
    let mut sums: BTreeMap<String, Amount> = BTreeMap::new();
    for spend in &spends {
        let sum = sums.entry(key(args.by, spend)).or_default();
        *sum = sum.plus(spend.amount);
    }
    let agents = agents::read(&context.root)?;
    let all = spends.iter().fold(Amount::default(), |sum, spend| sum.plus(spend.amount));
    // A budget is per day, so it is shown only for a single day.
    let budget = |name: &str| {
        let name = name.parse::<Name>().ok().filter(|_| args.days == 1)?;
        match args.by {
            By::Agent => agents.get(&name).map(|agent| agent.terms.budget.day),
            By::Namespace => agents.budgets().namespaces.get(&name).copied(),
            By::Task | By::Day => None,
        }
    };
    let of_all = (args.days == 1).then_some(agents.budgets().day);
    let lines = sums.iter().map(|(name, amount)| (name.as_str(), *amount, budget(name)));
    let lines = lines.chain((sums.len() != 1).then_some(("all", all, of_all)));
    if context.json {
        lines.for_each(|(name, amount, budget)| output::value(&to_json(name, amount, budget)));
        return Ok(Exit::Done);
    }
    let header = match args.by {
        By::Agent => "AGENT",
        By::Namespace => "NAMESPACE",
        By::Task => "TASK",
        By::Day => "DAY",
    };
    let mut rows = vec![[header, "TOKENS", "TURNS", "TIME", "USD", "BUDGET OF THE DAY"].map(str::to_owned).to_vec()];
    rows.extend(lines.map(|(name, amount, budget)| row(name, amount, budget)));
    output::rows(&rows);
    Ok(Exit::Done)
}

fn key(by: By, spend: &Spend) -> String {
    match by {
        By::Agent => spend.agent.to_string(),
        By::Namespace => spend.namespace.to_string(),
        By::Task => spend.task.to_string(),
        By::Day => time::rfc3339(u64::from(spend.day.0) * DAY_MS).chars().take(10).collect(),
    }
}

fn to_json(name: &str, amount: Amount, budget: Option<Budget>) -> serde_json::Value {
    let usd = |micros: u64| micros as f64 / 1e6;
    let budget = budget.filter(|budget| !budget.is_unbounded()).map(|budget| {
        json!({ "tokens": budget.tokens, "turns": budget.turns, "wall_ms": budget.wall_ms, "usd": budget.cost_micros.map(usd) })
    });
    json!({
        "name": name, "tokens": amount.tokens, "turns": amount.turns, "wall_ms": amount.wall_ms,
        "usd": usd(amount.cost_micros), "budget": budget,
    })
}

fn row(name: &str, amount: Amount, budget: Option<Budget>) -> Vec<String> {
    let Budget { tokens, turns, wall_ms, cost_micros } = budget.unwrap_or_default();
    let parts = [
        tokens.map(|tokens| format!("{tokens} tokens")),
        turns.map(|turns| format!("{turns} turns")),
        wall_ms.map(time::span),
        cost_micros.map(|cost| format!("${}", budget::dollars(cost))),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    vec![
        name.to_owned(),
        amount.tokens.to_string(),
        amount.turns.to_string(),
        time::span(amount.wall_ms),
        budget::dollars(amount.cost_micros),
        if parts.is_empty() { "-".to_owned() } else { parts.join(", ") },
    ]
}
