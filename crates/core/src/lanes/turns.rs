//! One lane, shared by namespaces: they take turns, and each gets as many items in its turn as it weighs.
//!
//! First in, first out is the tempting answer, and it is fair to items and not to people: one namespace that submits a
//! hundred thousand tasks makes everybody else wait for all of them. So each namespace has a queue of its own:
//!
//! ```text
//!   a: 1 2 3 4 5 6 …      b (weight 2): 7 8 9        c: 10
//!   served: 1 · 7 8 · 10 · 2 · 9 · 3 · 4 · 5 …
//! ```
//!
//! A namespace that has nothing is passed over and saves nothing up (work conserving): when it has something again, it stands
//! at the end of the round. With one namespace it is first in, first out.
//!
//! # The promise
//!
//! While a namespace of weight `w` has something, of any `n` items in a row that are served it gets at least `⌊n / W⌋ · w`, where
//! `W` is the weight of all namespaces that had something meanwhile. So its first item is served within `W` pops, however much others have.

use crate::name::Name;
use std::collections::{BTreeMap, VecDeque};

/// How much each namespace weighs; those that are not named weigh 1.
pub type Weights = BTreeMap<Name, u32>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Turns<T> {
    /// Also of namespaces that have nothing just now.
    queues: BTreeMap<Name, VecDeque<T>>,
    /// Namespaces that have something, the one whose turn it is first.
    order: VecDeque<Name>,
    /// What that one may still take in its turn; 0 when its turn has not begun.
    left: u32,
    len: usize,
}

impl<T> Default for Turns<T> {
    fn default() -> Self {
        Self { queues: BTreeMap::new(), order: VecDeque::new(), left: 0, len: 0 }
    }
}

impl<T> Turns<T> {
    /// Puts an item at the end of its namespace's queue.
    pub(super) fn push(&mut self, namespace: &Name, item: T) {
        self.queue(namespace).push_back(item);
    }

    /// Puts an item at the head of its namespace's queue, and the namespace at the head of the round.
    pub(super) fn push_front(&mut self, namespace: &Name, item: T) {
        self.queue(namespace).push_front(item);
        if self.order.front() != Some(namespace) {
            self.order.retain(|other| other != namespace);
            self.order.push_front(namespace.clone());
            self.left = 0;
        }
    }

    /// The queue into which something is about to be put.
    fn queue(&mut self, namespace: &Name) -> &mut VecDeque<T> {
        self.len += 1;
        let queue = self.queues.entry(namespace.clone()).or_default();
        if queue.is_empty() {
            self.order.push_back(namespace.clone());
        }
        queue
    }

    /// Takes the item whose turn it is.
    pub(super) fn pop(&mut self, weights: &Weights) -> Option<T> {
        let namespace = self.order.front()?;
        if self.left == 0 {
            self.left = weights.get(namespace).copied().unwrap_or(1).max(1);
        }
        let queue = self.queues.get_mut(namespace)?;
        let item = queue.pop_front()?;
        self.len -= 1;
        self.left -= 1;
        if queue.is_empty() {
            self.order.pop_front();
            self.left = 0;
        } else if self.left == 0 && self.order.len() > 1 {
            self.order.rotate_left(1);
        }
        Some(item)
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// How many items of this namespace wait.
    pub(super) fn len_in(&self, namespace: &Name) -> usize {
        self.queues.get(namespace).map_or(0, VecDeque::len)
    }

    pub(super) fn retain(&mut self, mut keep: impl FnMut(&T) -> bool) {
        self.queues.values_mut().for_each(|queue| queue.retain(&mut keep));
        self.len = self.queues.values().map(VecDeque::len).sum();
        let first = self.order.front().cloned();
        let queues = &self.queues;
        self.order.retain(|namespace| queues.get(namespace).is_some_and(|queue| !queue.is_empty()));
        if self.order.front() != first.as_ref() {
            self.left = 0;
        }
    }

    /// Takes everything out, in the order in which it would be served if all weighed the same.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = T> {
        std::iter::from_fn(|| self.pop(&Weights::new()))
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn name(text: &str) -> Name {
        text.parse().unwrap()
    }

    /// Lanes with so many items of each namespace, named by a letter and a number.
    fn filled(counts: &[(&str, usize)]) -> Turns<String> {
        let mut turns = Turns::default();
        for (namespace, count) in counts {
            (0..*count).for_each(|n| turns.push(&name(namespace), format!("{namespace}{n}")));
        }
        turns
    }

    fn served(turns: &mut Turns<String>, weights: &Weights, pops: usize) -> String {
        (0..pops).map_while(|_| turns.pop(weights)).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn namespaces_take_turns_and_each_is_first_in_first_out() {
        let equal = Weights::new();
        assert_eq!(served(&mut filled(&[("a", 5), ("b", 2), ("c", 1)]), &equal, 9), "a0 b0 c0 a1 b1 a2 a3 a4");
        let weights = Weights::from([(name("b"), 2), (name("c"), 0)]);
        assert_eq!(served(&mut filled(&[("a", 3), ("b", 5), ("c", 2)]), &weights, 20), "a0 b0 b1 c0 a1 b2 b3 c1 a2 b4");
        assert_eq!(served(&mut filled(&[("a", 4)]), &weights, 9), "a0 a1 a2 a3");
    }

    #[test]
    fn one_small_namespace_does_not_wait_behind_a_backlog() {
        let mut turns = filled(&[("big", 100_000)]);
        assert_eq!(served(&mut turns, &Weights::new(), 3), "big0 big1 big2");
        turns.push(&name("small"), "small0".to_owned());
        assert!(served(&mut turns, &Weights::new(), 2).contains("small0"));
    }

    #[test]
    fn who_comes_back_has_saved_nothing_up_and_stands_at_the_end() {
        let mut turns = filled(&[("a", 9), ("b", 1)]);
        assert_eq!(served(&mut turns, &Weights::new(), 5), "a0 b0 a1 a2 a3");
        for n in 1..4 {
            turns.push(&name("b"), format!("b{n}"));
        }
        assert_eq!(served(&mut turns, &Weights::new(), 5), "a4 b1 a5 b2 a6");
    }

    #[test]
    fn what_is_put_back_or_taken_away_loses_no_turn_of_others() {
        let mut turns = filled(&[("a", 2), ("b", 2)]);
        turns.push_front(&name("b"), "back".to_owned());
        assert_eq!((turns.len(), turns.len_in(&name("b"))), (5, 3));
        turns.retain(|item| item != "a0");
        assert_eq!(turns.drain().collect::<Vec<_>>(), ["back", "a1", "b0", "b1"]);
        assert!(turns.is_empty());
        turns.push(&name("a"), "a9".to_owned());
        turns.clear();
        assert_eq!((turns.len(), turns.pop(&Weights::new())), (0, None));
    }

    proptest! {
        /// The promise of this file's head, for namespaces that never run empty.
        #[test]
        fn each_gets_its_share_of_any_items_in_a_row(weights in prop::collection::vec(1..5u32, 1..6), n in 1..60usize) {
            let names: Vec<Name> = (0..weights.len()).map(|place| name(&format!("n{place}"))).collect();
            let map: Weights = names.iter().cloned().zip(weights.iter().copied()).collect();
            let mut turns = Turns::default();
            for namespace in &names {
                (0..400).for_each(|_| turns.push(namespace, namespace.clone()));
            }
            let all: usize = weights.iter().map(|weight| *weight as usize).sum();
            let order: Vec<Name> = (0..200).map(|_| turns.pop(&map).unwrap()).collect();
            for window in order.windows(n) {
                for (namespace, weight) in &map {
                    let got = window.iter().filter(|served| *served == namespace).count();
                    prop_assert!(got >= n / all * *weight as usize, "{} got {} of {} at {:?}", namespace, got, n, map);
                }
            }
        }
    }
}
