//! Routes: the owner says which node alone may claim work of some kinds (L5, D26).
//!
//! ```text
//!  com.example.ocr      that kind alone                 an exact kind wins over every prefix,
//!  com.example.*        every kind below com.example    a longer prefix over a shorter one
//! ```
//!
//! For each pattern the newest word by HLC counts, and a word without a target takes the pattern away: then the next
//! longest one counts, or anybody may claim. The answer is as of a time, so a claim that was allowed when it was made
//! stays allowed when the route changes later. All words are kept, in whatever order they arrive (L12).
//!
//! Whether the author may say so is not asked here: only an owner may
//! ([`Authority::admit_owner`](crate::capability::Authority::admit_owner)), and whoever records asks first.

#[cfg(test)]
mod tests;

use relaymesh_core::{
    hlc::Hlc,
    id::NodeId,
    kind::{Kind, Pattern},
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Why a claim is refused: the work goes to another node.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("routed: {pattern} goes to {target}")]
pub struct Routed {
    /// The route that decides.
    pub pattern: Pattern,
    /// Where it leads.
    pub target: NodeId,
}

/// Every word about routes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Routes {
    words: BTreeMap<Pattern, BTreeMap<Hlc, Option<NodeId>>>,
}

impl Routes {
    /// Takes in an owner's word: from `at` on these kinds go to `target`, or to anybody again.
    pub fn record(&mut self, pattern: Pattern, target: Option<NodeId>, at: Hlc) {
        self.words.entry(pattern).or_default().insert(at, target);
    }

    /// How many words there are.
    pub fn len(&self) -> usize {
        self.words.values().map(BTreeMap::len).sum()
    }

    /// Whether nothing was said.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// The route of a kind that is in force at a time. A word counts from its own time on.
    pub fn route(&self, kind: &Kind, at: Hlc) -> Option<Routed> {
        let in_force = |(pattern, words): (&Pattern, &BTreeMap<Hlc, Option<NodeId>>)| {
            let (_, target) = words.range(..=at).next_back()?;
            target.map(|target| Routed { pattern: pattern.clone(), target })
        };
        let matching = self.words.iter().filter(|(pattern, _)| pattern.matches(kind)).filter_map(in_force);
        matching.max_by_key(|routed| routed.pattern.weight())
    }

    /// Whether a node may claim work of this kind at a time, as far as routes have a say.
    pub fn admit(&self, kind: &Kind, claimer: NodeId, at: Hlc) -> Result<(), Routed> {
        match self.route(kind, at) {
            Some(routed) if routed.target != claimer => Err(routed),
            Some(_) | None => Ok(()),
        }
    }
}
