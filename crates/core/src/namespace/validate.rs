//! What is true of a namespace's row after every op. A broken rule is a bug here.

use super::{DEFAULT, create, state::Namespace};
use crate::id::NamespaceId;

/// A rule that does not hold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{rule}")]
pub struct Invalid {
    /// The rule.
    pub rule: &'static str,
}

/// Checks every rule; the first broken one is the answer.
pub fn validate(row: &Namespace) -> Result<(), Invalid> {
    let rules = [
        (row.id == NamespaceId::of(&row.name), "the id is the one of the name"),
        (row.name.as_str() != DEFAULT, "the default has no row"),
        (row.rev == 1 && row.created_ms == row.head.wall_ms, "nothing happens to a namespace after its creation"),
        (create::check(&row.about).is_ok(), "what is said about it is one short line"),
    ];
    match rules.into_iter().find(|(holds, _)| !holds) {
        Some((_, rule)) => Err(Invalid { rule }),
        None => Ok(()),
    }
}
