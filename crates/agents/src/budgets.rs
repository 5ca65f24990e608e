//! Budgets, as they stand in `agents.toml`.
//!
//! ```toml
//! [budgets]
//! task = { tokens = 500_000, usd = 5 }         # whatever one task uses
//! day = { usd = 20, wall = "8h" }              # whatever all of them use on a day (UTC)
//! [budgets.namespaces.team-a]                  # whatever one namespace uses on a day
//! turns = 200
//!
//! [agents.coder]
//! budget = { task = { tokens = 100_000 }, day = { usd = 10 } }   # what this agent uses for one task, and on a day
//! ```

use relaymesh_core::{budget::Budget, name::Name};
use serde::{Deserialize, Deserializer, de::Error as _};
use std::collections::BTreeMap;

/// Budgets that are nobody's own.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Budgets {
    /// What one task may use.
    #[serde(deserialize_with = "budget")]
    pub task: Budget,
    /// What may be used on a day.
    #[serde(deserialize_with = "budget")]
    pub day: Budget,
    /// What each of these namespaces may use on a day.
    #[serde(deserialize_with = "by_namespace")]
    pub namespaces: BTreeMap<Name, Budget>,
}

/// The budgets of one agent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AgentBudgets {
    /// What it may use for one task.
    #[serde(deserialize_with = "budget")]
    pub task: Budget,
    /// What it may use on a day.
    #[serde(deserialize_with = "budget")]
    pub day: Budget,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    tokens: Option<u64>,
    turns: Option<u64>,
    #[serde(default, deserialize_with = "relaymesh_core::task::request::duration")]
    wall: Option<u64>,
    usd: Option<f64>,
}

fn budget<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Budget, D::Error> {
    let Written { tokens, turns, wall, usd } = Written::deserialize(deserializer)?;
    let micros = |dollars: f64| {
        let micros = (dollars * 1e6).round();
        let is_money = (0.0..=9e15).contains(&micros);
        if is_money {
            Ok(micros as u64)
        } else {
            Err(D::Error::custom(format!("{dollars} is not an amount of dollars")))
        }
    };
    let found = Budget { tokens, turns, wall_ms: wall, cost_micros: usd.map(micros).transpose()? };
    if found.is_unbounded() {
        return Err(D::Error::custom("a budget needs at least one of `tokens`, `turns`, `wall` and `usd`"));
    }
    Ok(found)
}

fn by_namespace<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<Name, Budget>, D::Error> {
    #[derive(Deserialize)]
    struct One(#[serde(deserialize_with = "budget")] Budget);
    let found = BTreeMap::<Name, One>::deserialize(deserializer)?;
    Ok(found.into_iter().map(|(name, One(budget))| (name, budget)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Agents;
    use std::path::Path;

    #[test]
    fn budgets_are_read_and_what_is_wrong_is_named_with_its_place() {
        let text = "[budgets]\nday = { usd = 1.5, wall = \"2h\" }\n[budgets.namespaces.team]\nturns = 3\n\
                    [agents.a]\ncommand = [\"x\"]\nbudget = { task = { tokens = 9 } }\n";
        let agents = Agents::parse(text, Path::new("/nowhere")).unwrap();
        let none = Budget::default();
        let day = Budget { cost_micros: Some(1_500_000), wall_ms: Some(7_200_000), ..none };
        let team = ("team".parse().unwrap(), Budget { turns: Some(3), ..none });
        let expected = Budgets { day, namespaces: BTreeMap::from([team]), ..Budgets::default() };
        assert_eq!(agents.budgets(), &expected);
        let own = agents.get(&"a".parse().unwrap()).unwrap().terms.budget;
        assert_eq!(own, AgentBudgets { task: Budget { tokens: Some(9), ..none }, day: none });
        for (text, line, words) in [
            ("[budgets]\nday = { usd = -1 }\n", 2, "not an amount of dollars"),
            ("[budgets]\nday = { usd = nan }\n", 2, "not an amount of dollars"),
            ("[budgets]\nday = { euro = 1 }\n", 2, "unknown field `euro`"),
            ("[budgets]\nday = {}\n", 2, "a budget needs at least one of `tokens`"),
            ("[budgets]\nweek = { usd = 1 }\n", 2, "unknown field `week`"),
            ("[agents.a]\ncommand = [\"x\"]\nbudget = { day = { wall = \"soon\" } }\n", 3, "is not a duration"),
        ] {
            let error = Agents::parse(text, Path::new("/nowhere")).unwrap_err();
            assert_eq!(error.place.map(|(line, _)| line), Some(line), "{text}: {error}");
            assert!(error.message.contains(words), "{text}: {error}");
        }
    }
}
