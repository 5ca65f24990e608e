//! Create: a namespace is there from now on.

use super::{ABOUT_CHARS_MAX, DEFAULT, apply::Refusal, state::Namespace};
use crate::{
    id::NamespaceId,
    op::{Header, Kind, Scope},
};

pub(super) fn create(there: Option<&Namespace>, header: &Header, about: &str) -> Result<Namespace, Refusal> {
    let id = named(header)?;
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
fn named(header: &Header) -> Result<NamespaceId, Refusal> {
    let named = NamespaceId::of(&header.namespace);
    match header.scope {
        Scope::Namespace(id) if id == named => Ok(id),
        Scope::Namespace(_) => Err(Refusal::OtherNamespace { scope: header.scope, named }),
        Scope::Task(_) | Scope::Thread(_) | Scope::Repository(_) | Scope::Log | Scope::Plan(_) | Scope::Register(_) => {
            Err(Refusal::WrongScope { kind: Kind::CreateNamespace })
        }
    }
}
