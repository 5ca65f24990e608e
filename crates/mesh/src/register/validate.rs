//! What is true of a register's row after every op. A broken rule is a bug here.

use super::{
    SETTING_BYTES_MAX, WORDS_MAX,
    history::History,
    state::{RegisterRow, Words},
};

/// A rule that does not hold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{rule}")]
pub struct Invalid {
    /// The rule.
    pub rule: &'static str,
}

/// Checks every rule; the first broken one is the answer.
pub fn validate(row: &RegisterRow) -> Result<(), Invalid> {
    let (in_order, grows, short) = match &row.words {
        Words::Routes(_) | Words::Delegations(_) => (true, true, true),
        Words::Coordinator(words) => (words.is_in_order(), true, true),
        Words::Freezes(nodes) => (nodes.values().all(History::is_in_order), true, true),
        Words::Settings(names) => {
            let values = names.values().flat_map(|history| history.words());
            let short = values.flat_map(|(_, value)| value).all(|value| value.len() <= SETTING_BYTES_MAX);
            (names.values().all(History::is_in_order), true, short)
        }
        Words::Level(words) => (words.is_in_order(), words.words().is_sorted_by(|one, next| one.1 < next.1), true),
        Words::Seals(seals) => {
            let all = seals.all();
            let grows =
                all.is_sorted_by(|one, next| one.upto < next.upto) && all.iter().all(|seal| seal.upto < seal.at);
            (all.is_sorted_by(|one, next| one.at < next.at), grows, true)
        }
    };
    let rules = [
        (in_order, "words stand in the order of their times"),
        (grows, "levels and seals only grow"),
        (short, "settings are short"),
        (row.words.len() <= WORDS_MAX, "there are no more words than allowed"),
        (usize::try_from(row.rev).is_ok_and(|rev| rev == row.words.len()), "each op that counted said one word"),
    ];
    match rules.into_iter().find(|(holds, _)| !holds) {
        Some((_, rule)) => Err(Invalid { rule }),
        None => Ok(()),
    }
}
