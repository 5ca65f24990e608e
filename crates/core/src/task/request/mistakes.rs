//! Everything that is wrong with a request, for people who mend it: told one mistake at a time, they try as often as there are mistakes.

use super::{Error, Request, references, terms, unknown_step};
use crate::{name::Name, task::graph};
use std::collections::BTreeSet;

impl Request {
    /// What [`Request::prepare`] would refuse: not only the first of it. What follows from another mistake is left out, so the graph is looked at once
    /// every name in it is known.
    pub fn mistakes(&self, namespace: &Name) -> Vec<Error> {
        if self.steps.len() > graph::STEPS_MAX {
            return vec![graph::Error::TooMany { found: self.steps.len() }.into()]; // before each is compared with all
        }
        let mut found = Vec::new();
        let ids: BTreeSet<&Name> = self.steps.iter().map(|step| &step.id).collect();
        for step in &self.steps {
            let named = step.depends_on.iter().map(|name| ("depends_on", name));
            let named = named.chain(step.compensate.iter().map(|name| ("compensate", name)));
            let unknown = named.filter(|(_, name)| !ids.contains(name));
            found.extend(unknown.map(|(field, name)| unknown_step(step, field, name)));
            references::check_step(self, step, &mut found);
            found.extend(terms::of(step).err());
        }
        if found.is_empty() {
            found.extend(self.prepare(namespace, None, 0).err());
        }
        found
    }
}
