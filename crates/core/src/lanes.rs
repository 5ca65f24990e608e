//! Three queues and the order in which they are served: high, normal and low at 8:3:1.
//!
//! Strict priority is the tempting answer: always the highest that waits. It starves: a steady stream of high items
//! keeps a low one waiting for ever. So each pop consumes one slot of a fixed cycle of twelve, and each slot has an
//! owner:
//!
//! ```text
//! H H N  H H N  H H L  H H N      8 high, 3 normal, 1 low; with all lanes full never more than two high in a row
//! ```
//!
//! A slot whose owner has nothing goes to the highest lane that has something, so no pop is wasted (work
//! conserving). Within a lane namespaces take turns by their weights (`turns`), and each is first in, first out.
//!
//! # The starvation rule, and when it can fire
//!
//! After `max_consecutive_high` high items in a row, each popped while something lower was waiting, the next pop is
//! a lower one (low if it waits, else normal), and `low_starvation_count` counts it. High items popped while nothing
//! lower waited starve nobody and do not count. Counting the high items in a row that the cycle alone lets pass:
//!
//! | what waits besides high | longest run of high |
//! |---|---|
//! | normal and low | 2 |
//! | normal only | 5, from one `N` slot over the idle `L` slot to the next |
//! | low only | 11, from just after its slot to its next |
//!
//! So a limit of 11 or more, and the default of 100, never fires while items only come and are served. It fires when
//! the limit is set below the run above, or when waiting items are taken away ([`Lanes::retain`]) and replaced so
//! that each is missing at its own slot. It is a limit that holds whatever the cycle is, not what keeps low alive:
//! a count above zero under the default limit says that low work is being cancelled before it is served.
//!
//! # The promise
//!
//! Any twelve pops in a row serve a lane that stays non-empty at least 4, 3 and 1 times (high, normal, low); high
//! gets its full 8 when the rule does not fire. So an item with `k` before it in its lane is served within
//! [`Priority::pops_until_served`]`(k)` pops, as long as nothing is pushed to the front of its lane. With several namespaces `k`
//! counts what their turns let pass.

mod turns;

pub use turns::Weights;

use crate::name::Name;
use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};
use turns::Turns;

/// The limit on high items in a row, unless configured otherwise.
pub const DEFAULT_MAX_CONSECUTIVE_HIGH: u32 = 100;

const CYCLE: [Priority; 12] = {
    use Priority::{High as H, Low as L, Normal as N};
    [H, H, N, H, H, N, H, H, L, H, H, N]
};

/// A text that names no priority.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{found}` is not a priority: use high, normal or low")]
pub struct UnknownPriority {
    /// The text that was given, cut at 40 characters.
    pub found: String,
}

/// How urgent an item is. The order is the order of service: high sorts first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Priority {
    /// Before all others, eight times in twelve.
    High,
    /// What an item is when nothing is said, three times in twelve.
    #[default]
    Normal,
    /// When there is room, and once in twelve in any case.
    Low,
}

impl Priority {
    /// All priorities, most urgent first.
    pub const ALL: [Self; 3] = [Self::High, Self::Normal, Self::Low];

    /// The number that is stored: 0 is high, 1 normal, 2 low.
    pub const fn as_u8(self) -> u8 {
        self as u8
    }

    /// The priority with this number, if there is one.
    pub fn from_u8(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }

    /// The name, as it is written in every text form.
    pub const fn name(self) -> &'static str {
        match self {
            Self::High => "high",
            Self::Normal => "normal",
            Self::Low => "low",
        }
    }

    /// Within how many pops an item is served that has `ahead` items before it in its own lane.
    pub const fn pops_until_served(self, ahead: usize) -> usize {
        let guaranteed = match self {
            Self::High => 4,
            Self::Normal => 3,
            Self::Low => 1,
        };
        (ahead / guaranteed + 1).saturating_mul(CYCLE.len())
    }

    const fn index(self) -> usize {
        self as usize
    }
}

impl fmt::Display for Priority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Priority {
    type Err = UnknownPriority;

    fn from_str(text: &str) -> Result<Self, UnknownPriority> {
        let named = Self::ALL.into_iter().find(|priority| priority.name() == text);
        named.ok_or_else(|| UnknownPriority { found: text.chars().take(40).collect() })
    }
}

/// Three lanes of waiting items. What is popped depends only on the calls made before, never on time or chance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lanes<T> {
    lanes: [Turns<T>; 3],
    weights: Weights,
    /// The slot of the cycle that the next pop consumes.
    slot: usize,
    /// High items popped in a row while something lower waited.
    high_run: u32,
    max_consecutive_high: u32,
    low_starvation_count: u64,
}

impl<T> Default for Lanes<T> {
    fn default() -> Self {
        Self::new(DEFAULT_MAX_CONSECUTIVE_HIGH)
    }
}

impl<T> Lanes<T> {
    /// Empty lanes. A limit of 0 is taken for 1: at 0 low would starve high.
    pub fn new(max_consecutive_high: u32) -> Self {
        Self {
            lanes: std::array::from_fn(|_| Turns::default()),
            weights: Weights::new(),
            slot: 0,
            high_run: 0,
            max_consecutive_high: max_consecutive_high.max(1),
            low_starvation_count: 0,
        }
    }

    /// How much namespaces weigh from now on.
    pub fn set_weights(&mut self, weights: &Weights) {
        self.weights.clone_from(weights);
    }

    /// Puts an item at the end of what its namespace has in its lane.
    pub fn push(&mut self, priority: Priority, namespace: &Name, item: T) {
        self.lanes[priority.index()].push(namespace, item);
    }

    /// Puts an item at the head of its lane: something that was popped and could not be used after all.
    pub fn push_front(&mut self, priority: Priority, namespace: &Name, item: T) {
        self.lanes[priority.index()].push_front(namespace, item);
    }

    /// Takes the item whose turn it is. `None` when nothing waits, which consumes no slot.
    pub fn pop(&mut self) -> Option<(Priority, T)> {
        let priority = self.next_priority()?;
        self.slot = (self.slot + 1) % CYCLE.len();
        self.lanes[priority.index()].pop(&self.weights).map(|item| (priority, item))
    }

    /// How many items wait.
    pub fn len(&self) -> usize {
        self.lanes.iter().map(Turns::len).sum()
    }

    /// How many items of one priority wait.
    pub fn len_of(&self, priority: Priority) -> usize {
        self.lanes[priority.index()].len()
    }

    /// How many items of one priority and namespace wait.
    pub fn len_in(&self, priority: Priority, namespace: &Name) -> usize {
        self.lanes[priority.index()].len_in(namespace)
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.lanes.iter().all(Turns::is_empty)
    }

    /// Takes away every item for which `keep` says no. The rest keep their order.
    pub fn retain(&mut self, mut keep: impl FnMut(&T) -> bool) {
        self.lanes.iter_mut().for_each(|lane| lane.retain(&mut keep));
    }

    /// Takes everything out, lane by lane, most urgent first. The place in the cycle and the count stay.
    pub fn drain(&mut self) -> Vec<(Priority, T)> {
        let lanes = Priority::ALL.into_iter().zip(&mut self.lanes);
        lanes.flat_map(|(priority, lane)| lane.drain().map(move |item| (priority, item))).collect()
    }

    /// Drops everything that waits. The place in the cycle and the count stay.
    pub fn clear(&mut self) {
        self.lanes.iter_mut().for_each(Turns::clear);
    }

    /// How often the starvation rule let a lower item pass.
    pub const fn low_starvation_count(&self) -> u64 {
        self.low_starvation_count
    }

    fn next_priority(&mut self) -> Option<Priority> {
        let waits = |priority: &Priority| !self.lanes[priority.index()].is_empty();
        let owner = Some(CYCLE[self.slot]).filter(waits);
        let priority = owner.or_else(|| Priority::ALL.into_iter().find(waits))?;
        let lower = [Priority::Low, Priority::Normal].into_iter().find(waits);
        match lower {
            Some(lower) if priority == Priority::High => {
                if self.high_run < self.max_consecutive_high {
                    self.high_run += 1;
                    return Some(priority);
                }
                self.high_run = 0;
                self.low_starvation_count += 1;
                Some(lower)
            }
            Some(_) | None => {
                self.high_run = 0;
                Some(priority)
            }
        }
    }
}

#[cfg(test)]
mod tests;
