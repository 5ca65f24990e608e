//! Words with their times, the oldest first.

use relaymesh_core::hlc::Hlc;
use serde::{Deserialize, Serialize};

/// What was said, and when. The newest word up to a time is the one in force then.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct History<T> {
    words: Vec<(Hlc, T)>,
}

impl<T> Default for History<T> {
    fn default() -> Self {
        Self { words: Vec::new() }
    }
}

impl<T> History<T> {
    /// Takes in the next word. Words come in the order of their times: that is the fold's doing.
    pub fn push(&mut self, at: Hlc, word: T) {
        self.words.push((at, word));
    }

    /// The word in force at a time, and since when. A word counts from its own time on.
    pub fn as_of(&self, at: Hlc) -> Option<(Hlc, &T)> {
        let end = self.words.partition_point(|(said, _)| *said <= at);
        end.checked_sub(1).map(|index| (self.words[index].0, &self.words[index].1))
    }

    /// The newest word.
    pub fn last(&self) -> Option<&(Hlc, T)> {
        self.words.last()
    }

    /// Every word, the oldest first.
    pub fn words(&self) -> &[(Hlc, T)] {
        &self.words
    }

    /// How many words there are.
    pub fn len(&self) -> usize {
        self.words.len()
    }

    /// Whether nothing was said.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Whether the words stand in the order of their times.
    pub(super) fn is_in_order(&self) -> bool {
        self.words.is_sorted_by(|one, next| one.0 < next.0)
    }
}
