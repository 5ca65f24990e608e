//! The caller of a request: its name, its scope and its namespaces.

use crate::error::{Code, Error};
use relaymesh_core::{name::Name, namespace::DEFAULT, task::TaskRows};
use relaymesh_runtime::{
    driver::{Caller, Within},
    token::{Bound, Grant, Scope},
};

/// The caller of a request, known by its token.
#[derive(Debug, Clone)]
pub(super) struct Principal {
    /// Who it is, as it stands on the log.
    pub(super) caller: Caller,
    /// What they may do.
    pub(super) grant: Grant,
    /// The attempt that they are, if they are one.
    pub(super) bound: Option<Bound>,
}

impl Principal {
    /// The namespace that is meant: the one that is named; otherwise the only one of the token; otherwise `default`.
    pub(super) fn namespace(&self, named: Option<Name>) -> Result<Name, Error> {
        let only = self.grant.namespaces.as_deref().and_then(|all| match all {
            [only] => Some(only.clone()),
            _ => None,
        });
        let default = || DEFAULT.parse().map_err(|error| Error::new(Code::Internal, format!("{error}")));
        let meant = named.or(only).map_or_else(default, Ok)?;
        self.check(&meant)?;
        Ok(meant)
    }

    /// Whether it may do anything in this namespace.
    pub(super) fn check(&self, namespace: &Name) -> Result<(), Error> {
        if self.grant.admits(namespace) {
            return Ok(());
        }
        Err(Error::new(Code::Forbidden, format!("the token is not for namespace `{namespace}`")))
    }

    /// Whether it may do what is about the whole root: `what` says what that is.
    pub(super) fn check_everywhere(&self, what: &str) -> Result<(), Error> {
        match &self.grant.namespaces {
            None => Ok(()),
            Some(_) => Err(Error::new(Code::Forbidden, format!("{what} needs a token for all namespaces"))),
        }
    }

    /// The steps whose leases it may renew; `None` when it may renew all.
    pub(super) fn within(&self) -> Option<Within> {
        let Grant { namespaces, agent, .. } = &self.grant;
        let is_narrow = namespaces.is_some() || agent.is_some();
        is_narrow.then(|| Within { namespaces: namespaces.clone(), agent: agent.clone() })
    }

    /// Whether it may see this task: an attempt sees its own, an agent those with a step for it. One that it may not see is not there:
    /// nobody learns which ids there are elsewhere.
    pub(super) fn check_task(&self, rows: &TaskRows) -> Result<(), Error> {
        let is_own = match (&self.bound, self.grant.scope) {
            (Some(bound), _) => bound.step.task == rows.task.id,
            (None, Scope::Agent) => rows.steps.iter().any(|step| self.grant.agent.as_ref() == Some(&step.spec.agent)),
            (None, Scope::Ro | Scope::Rw | Scope::Admin) => true,
        };
        if self.grant.admits(&rows.task.namespace) && is_own {
            return Ok(());
        }
        Err(Error::new(Code::NoTask, format!("there is no task {} in this root", rows.task.id)))
    }

    /// Whether it may act as this agent. An agent acts as itself alone.
    pub(super) fn check_agent(&self, agent: &Name) -> Result<(), Error> {
        let own = self.bound.as_ref().map(|bound| &bound.agent).or(self.grant.agent.as_ref());
        match (self.grant.scope, own) {
            (Scope::Agent, Some(own)) if own == agent => Ok(()),
            (Scope::Agent, _) => Err(Error::new(Code::Forbidden, format!("the token is not for agent `{agent}`"))),
            (Scope::Ro | Scope::Rw | Scope::Admin, _) => Ok(()),
        }
    }
}
