//! What is true of a repository's rows after every op. A broken rule is a bug here.

use super::{LOCKS_MAX, state::RepositoryRows};
use crate::id::{LeaseToken, RepositoryId};
use std::collections::BTreeSet;

/// A rule that does not hold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{rule}{}", lock.map_or(String::new(), |lock| format!(" ({lock})")))]
pub struct Invalid {
    /// The rule.
    pub rule: &'static str,
    /// The lock that breaks it, if it is about one.
    pub lock: Option<LeaseToken>,
}

/// Checks every rule; the first broken one is the answer.
pub fn validate(rows: &RepositoryRows) -> Result<(), Invalid> {
    let repository = &rows.repository;
    let mut fences = BTreeSet::new();
    for (index, (token, lock)) in rows.locks.iter().enumerate() {
        let alone = |other: &super::Lock| !lock.conflicts(&other.key, other.mode, other.case);
        let rules = [
            (*token == lock.token, "a lock lies under its token"),
            ((1..=repository.fence).contains(&lock.fence), "no fence beyond the counter"),
            (fences.insert(lock.fence), "no two locks have one fence"),
            (lock.deadline_ms >= lock.acquired_ms, "no lock ends before it begins"),
            (rows.locks.values().skip(index + 1).all(alone), "no two locks conflict"),
        ];
        if let Some((_, rule)) = rules.into_iter().find(|(holds, _)| !holds) {
            return Err(Invalid { rule, lock: Some(*token) });
        }
    }
    let named = RepositoryId::of(&repository.namespace, repository.name.as_str());
    let rules = [
        (rows.locks.len() <= LOCKS_MAX, "no more locks than allowed"),
        (repository.id == named, "the id is the one of the names"),
        (repository.fence > 0, "a repository is there because something was locked"),
    ];
    match rules.into_iter().find(|(holds, _)| !holds) {
        Some((_, rule)) => Err(Invalid { rule, lock: None }),
        None => Ok(()),
    }
}
