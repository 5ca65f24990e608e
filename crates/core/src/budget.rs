//! Budgets: what may be used, what was used, and whether that is too much.
//!
//! Money alone is the tempting measure, and fiction for whoever pays by subscription. So four things are counted, and a budget may bound
//! any of them. Nothing is dispatched when a budget is *used up*; an attempt under way is ended when it is *exceeded*.

use serde::{Deserialize, Serialize};
use std::fmt;

/// What was used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Amount {
    /// Tokens, in and out.
    pub tokens: u64,
    /// Answers of a model.
    pub turns: u64,
    /// Time for which attempts ran, one beside the other counted twice.
    pub wall_ms: u64,
    /// Money, in millionths of a dollar, where anybody knows it.
    pub cost_micros: u64,
}

impl Amount {
    /// Both together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            tokens: self.tokens.saturating_add(other.tokens),
            turns: self.turns.saturating_add(other.turns),
            wall_ms: self.wall_ms.saturating_add(other.wall_ms),
            cost_micros: self.cost_micros.saturating_add(other.cost_micros),
        }
    }

    /// What this is more than `other`; nothing where it is less.
    #[must_use]
    pub fn beyond(self, other: Self) -> Self {
        Self {
            tokens: self.tokens.saturating_sub(other.tokens),
            turns: self.turns.saturating_sub(other.turns),
            wall_ms: self.wall_ms.saturating_sub(other.wall_ms),
            cost_micros: self.cost_micros.saturating_sub(other.cost_micros),
        }
    }

    /// Whether nothing was used.
    pub fn is_zero(self) -> bool {
        self == Self::default()
    }
}

/// What may be used. What is `None` is not bounded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budget {
    /// Tokens, in and out.
    pub tokens: Option<u64>,
    /// Answers of a model.
    pub turns: Option<u64>,
    /// Time for which attempts run.
    pub wall_ms: Option<u64>,
    /// Money, in millionths of a dollar.
    pub cost_micros: Option<u64>,
}

/// One thing of which there is too little left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Excess {
    what: What,
    spent: u64,
    budget: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    Tokens,
    Turns,
    WallMs,
    CostMicros,
}

impl Budget {
    /// Whether it bounds nothing.
    pub fn is_unbounded(&self) -> bool {
        *self == Self::default()
    }

    /// What is used up, if anything is: no attempt may begin.
    pub fn used_up(&self, spent: Amount) -> Option<Excess> {
        self.first(spent, |spent, budget| spent >= budget)
    }

    /// What is exceeded, if anything is: no attempt may go on.
    pub fn exceeded(&self, spent: Amount) -> Option<Excess> {
        self.first(spent, |spent, budget| spent > budget)
    }

    /// For how long attempts may still run.
    pub fn left_ms(&self, spent: Amount) -> Option<u64> {
        self.wall_ms.map(|budget| budget.saturating_sub(spent.wall_ms))
    }

    fn first(&self, spent: Amount, is_too_much: impl Fn(u64, u64) -> bool) -> Option<Excess> {
        let each = [
            (What::Tokens, spent.tokens, self.tokens),
            (What::Turns, spent.turns, self.turns),
            (What::WallMs, spent.wall_ms, self.wall_ms),
            (What::CostMicros, spent.cost_micros, self.cost_micros),
        ];
        each.into_iter().find_map(|(what, spent, budget)| {
            let budget = budget.filter(|budget| is_too_much(spent, *budget))?;
            Some(Excess { what, spent, budget })
        })
    }
}

impl fmt::Display for Excess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, spent, budget } = self;
        match what {
            What::Tokens => write!(f, "{spent} of {budget} tokens are used"),
            What::Turns => write!(f, "{spent} of {budget} turns are used"),
            What::WallMs => write!(f, "{} of {} s are used", spent / 1_000, budget / 1_000),
            What::CostMicros => write!(f, "${} of ${} is used", dollars(*spent), dollars(*budget)),
        }
    }
}

/// Millionths of a dollar, as people write them: cents, and more digits only where there are any.
pub fn dollars(micros: u64) -> String {
    let text = format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000);
    let whole = text.len() - 4;
    let end = text.trim_end_matches('0').len().max(whole);
    text[..end].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_reached_is_used_up_and_what_is_passed_is_exceeded() {
        let spent = Amount { tokens: 100, turns: 3, wall_ms: 61_000, cost_micros: 1_250_000 };
        let none = Budget::default();
        assert!(none.is_unbounded());
        let cases = [
            (none, None, None),
            (Budget { tokens: Some(101), ..none }, None, None),
            (Budget { tokens: Some(100), ..none }, Some("100 of 100 tokens are used"), None),
            (Budget { tokens: Some(99), ..none }, Some("100 of 99 tokens are used"), Some("100 of 99 tokens are used")),
            (Budget { turns: Some(3), ..none }, Some("3 of 3 turns are used"), None),
            (Budget { wall_ms: Some(60_000), ..none }, Some("61 of 60 s are used"), Some("61 of 60 s are used")),
            (
                Budget { cost_micros: Some(1_000_000), ..none },
                Some("$1.25 of $1.00 is used"),
                Some("$1.25 of $1.00 is used"),
            ),
            (Budget { tokens: Some(0), ..none }, Some("100 of 0 tokens are used"), Some("100 of 0 tokens are used")),
        ];
        for (budget, used_up, exceeded) in cases {
            let words = |excess: Option<Excess>| excess.map(|excess| excess.to_string());
            assert_eq!(words(budget.used_up(spent)).as_deref(), used_up, "{budget:?}");
            assert_eq!(words(budget.exceeded(spent)).as_deref(), exceeded, "{budget:?}");
        }
        assert_eq!(Budget { wall_ms: Some(60_000), ..none }.left_ms(spent), Some(0));
        assert_eq!(none.left_ms(spent), None);
    }

    #[test]
    fn money_is_written_as_people_do() {
        for (micros, text) in
            [(0, "0.00"), (1_250_000, "1.25"), (1_000, "0.001"), (12_345_678, "12.345678"), (10_000_000, "10.00")]
        {
            assert_eq!(dollars(micros), text);
        }
    }

    fn amounts() -> impl Strategy<Value = Amount> {
        (any::<u64>(), any::<u64>(), any::<u64>(), any::<u64>())
            .prop_map(|(tokens, turns, wall_ms, cost_micros)| Amount { tokens, turns, wall_ms, cost_micros })
    }

    proptest! {
        #[test]
        fn more_is_never_within_a_budget_that_less_exceeds(spent in amounts(), more in amounts(), limit in any::<u64>()) {
            let budget = Budget { tokens: Some(limit), cost_micros: Some(limit), ..Budget::default() };
            let all = spent.plus(more);
            prop_assert!(budget.exceeded(spent).is_none() || budget.exceeded(all).is_some());
            prop_assert!(budget.exceeded(spent).is_none() || budget.used_up(spent).is_some());
            prop_assert_eq!(all.beyond(spent).plus(spent), all);
        }
    }
}
