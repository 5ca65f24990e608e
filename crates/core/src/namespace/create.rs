//! Create: a namespace is there from now on.

use super::{ABOUT_CHARS_MAX, DEFAULT, apply::Refusal, state::Namespace};
use crate::{
    id::NamespaceId,
    op::{Header, Scope},
};

pub(super) fn create(
    there: Option<&Namespace>,
    scope: NamespaceId,
    header: &Header,
    about: &str,
) -> Result<Namespace, Refusal> {
    let id = named(scope, header)?;
    check(about)?;
    if header.namespace.as_str() == DEFAULT {
        return Err(Refusal::AlwaysThere);
    }
    if let Some(there) = there {
        return Err(Refusal::Exists { created_ms: there.created_ms, author: there.author.clone() });
    }
    Ok(Namespace {
        rev: 1,
        id,
        name: header.namespace.clone(),
        author: header.author.clone(),
        about: about.to_owned(),
        created_ms: header.hlc.wall_ms,
        head: header.hlc,
    })
}

/// Whether that can be said about a namespace.
pub(super) fn check(about: &str) -> Result<(), Refusal> {
    let chars = about.chars().count();
    if chars > ABOUT_CHARS_MAX {
        return Err(Refusal::TooLong { chars });
    }
    match about.chars().find(|c| c.is_control()) {
        Some(found) => Err(Refusal::NotOneLine { found }),
        None => Ok(()),
    }
}

/// The namespace that the op names, if it is the one that the op is about.
fn named(scope: NamespaceId, header: &Header) -> Result<NamespaceId, Refusal> {
    let named = NamespaceId::of(&header.namespace);
    if named == scope { Ok(named) } else { Err(Refusal::OtherNamespace { scope: Scope::Namespace(scope), named }) }
}
