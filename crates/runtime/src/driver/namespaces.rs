//! Namespaces: made before they are used (R26).
//!
//! Which there are is kept in memory, because every submit asks: read at start, changed when a create is decided, and
//! changed back when the batch that it was decided in is rolled back. Whoever stands on such a batch is rolled back too.

use super::{caller::Caller, command::Answer, engine::Engine, error::Error};
use crate::world::World;
use relaymesh_core::{
    id::NamespaceId,
    kernel::Rows,
    name::Name,
    namespace::{self, DEFAULT},
    op::{Scope, Subject},
    suggest,
};
use relaymesh_store::Reader;
use std::collections::BTreeSet;

/// How many there may be: each stays for ever, in memory and in every snapshot.
pub const NAMESPACES_MAX: usize = 10_000;

const PAGE: usize = 256;

/// Every namespace that the store has, and the one that is always there. Scopes are in the order of their sorts, and
/// namespaces come right after the log: whatever comes after them is not read.
pub(crate) fn load<R: Reader>(reader: &mut R) -> Result<BTreeSet<Name>, relaymesh_store::Error> {
    let default = DEFAULT.parse::<Name>();
    let default = default.map_err(|error| relaymesh_store::Error::Unusable { detail: error.to_string() })?;
    let mut found = BTreeSet::from([default]);
    let mut last = Scope::Log;
    loop {
        let page = reader.scopes(Some(last), PAGE)?;
        let Some(newest) = page.last() else { return Ok(found) };
        last = *newest;
        for scope in page {
            let Scope::Namespace(_) = scope else { return Ok(found) };
            found.extend(reader.scope(scope)?.as_ref().and_then(Rows::namespace).map(|row| row.name.clone()));
        }
    }
}

impl<R: Reader, W: World> Engine<R, W> {
    /// Makes a namespace. One that is there stays as it is.
    pub(super) fn create_namespace(&mut self, caller: &Caller, name: Name, about: String) -> Result<Answer, Error> {
        if self.live.has_namespace(&name) {
            return Ok(Answer::Namespace { name, is_new: false });
        }
        let count = self.live.namespaces().len();
        if count >= NAMESPACES_MAX {
            return Err(Error::TooManyNamespaces { count });
        }
        let subject = Subject::Namespace(NamespaceId::of(&name), namespace::Body::CreateNamespace { about });
        self.write_about(subject, name.clone(), caller)?;
        self.live.note_namespace(name.clone(), &mut self.pipeline.after().live);
        Ok(Answer::Namespace { name, is_new: true })
    }

    /// Whether something new may be put there.
    pub(super) fn check_namespace(&self, name: &Name) -> Result<(), Error> {
        if self.live.has_namespace(name) {
            return Ok(());
        }
        let known = self.live.namespaces().iter().map(Name::as_str);
        let near = suggest::nearest(name.as_str(), known).and_then(|near| near.parse().ok());
        Err(Error::NoNamespace { name: name.clone(), near })
    }
}
