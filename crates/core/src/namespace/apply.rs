//! One op on the row of its namespace.

use super::{ABOUT_CHARS_MAX, DEFAULT, body::Body, create, state::Namespace};
use crate::{
    id::NamespaceId,
    name::Name,
    op::{About, Scope},
    utc::Utc,
};

/// Why an op has no effect. It changed nothing; each says what was found.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// It was made before.
    #[error("the namespace already exists: {author} created it at {}", Utc(*.created_ms))]
    Exists {
        /// When.
        created_ms: u64,
        /// By whom.
        author: Name,
    },
    /// It is the one that nobody has to make.
    #[error("the namespace `{DEFAULT}` always exists")]
    AlwaysThere,
    /// Nobody made it.
    #[error("there is no such namespace")]
    NoNamespace,
    /// The namespace's name is not the one that the scope is derived from.
    #[error("the op is for {scope}, but the namespace that it names is {named}")]
    OtherNamespace {
        /// What the op is about.
        scope: Scope,
        /// What its name says.
        named: NamespaceId,
    },
    /// Too many words about it.
    #[error("the description of a namespace has {chars} characters; the maximum is {ABOUT_CHARS_MAX}")]
    TooLong {
        /// How many.
        chars: usize,
    },
    /// The words about it are more than a line of text.
    #[error("the description of a namespace must be one line of text, without {found:?}")]
    NotOneLine {
        /// The first character that is no text.
        found: char,
    },
    /// What lies in it carries its name.
    #[error("a namespace cannot be purged")]
    NeverPurged,
}

/// Applies `op` to the row of its namespace. Nothing has to be done about it besides; a refusal has changed nothing.
pub fn apply(row: &mut Option<Namespace>, op: &About<'_, NamespaceId, Body>) -> Result<(), Refusal> {
    let Body::CreateNamespace { about } = op.body;
    *row = Some(create::create(row.as_ref(), op.id, op.header, about)?);
    Ok(())
}

/// Never forgets a namespace, and says why.
pub fn purge(row: Option<&Namespace>) -> Result<(), Refusal> {
    Err(if row.is_none() { Refusal::NoNamespace } else { Refusal::NeverPurged })
}
