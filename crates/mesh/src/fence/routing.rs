//! Routing: which node orders a write about this scope (F18). A lookup, and the list of everything that it looks in.

use super::lease::Lease;
use relaymesh_core::{id::NodeId, name::Name, op::Scope};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, fmt};

/// A part of the mesh that has one coordinator.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Realm {
    /// Everything.
    Mesh,
    /// All of a namespace.
    Namespace(Name),
    /// One scope.
    Scope(Scope),
}

/// Where a write goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Route {
    /// To this node itself.
    Here {
        /// The realm that decided.
        realm: Realm,
        /// Under this epoch.
        epoch: u64,
    },
    /// To another node.
    To {
        /// The coordinator.
        node: NodeId,
        /// The realm that decided.
        realm: Realm,
        /// Under this epoch.
        epoch: u64,
    },
    /// Nobody coordinates: the write is queued, never made local.
    Nobody {
        /// The newest epoch that anybody had, of the narrowest realm that is known.
        last_epoch: u64,
    },
}

/// A line of the list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Holder {
    /// The part of the mesh.
    pub realm: Realm,
    /// The coordinator; none when the lease has run out or was given back.
    pub node: Option<NodeId>,
    /// The newest epoch.
    pub epoch: u64,
    /// Until when it is held.
    pub deadline_ms: Option<u64>,
}

/// Every realm that ever had a coordinator, with its lease.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Routing {
    leases: BTreeMap<Realm, Lease>,
}

impl Routing {
    /// The lease of a realm, to acquire, renew or give back.
    pub fn lease_mut(&mut self, realm: Realm) -> &mut Lease {
        self.leases.entry(realm).or_default()
    }

    /// Where `here` sends a write about `scope`: to the coordinator of the narrowest realm that has one.
    pub fn route(&self, here: NodeId, namespace: &Name, scope: Scope, now_ms: u64) -> Route {
        let realms = [Realm::Scope(scope), Realm::Namespace(namespace.clone()), Realm::Mesh];
        let known = realms.into_iter().filter_map(|realm| self.leases.get(&realm).map(|lease| (realm, lease)));
        let mut last_epoch = None;
        for (realm, lease) in known {
            if let Some(held) = lease.holder(now_ms) {
                let epoch = lease.epoch;
                let node = held.by;
                return if node == here { Route::Here { realm, epoch } } else { Route::To { node, realm, epoch } };
            }
            last_epoch.get_or_insert(lease.epoch);
        }
        Route::Nobody { last_epoch: last_epoch.unwrap_or(0) }
    }

    /// All realms with their holders, the widest first.
    pub fn list(&self, now_ms: u64) -> impl Iterator<Item = Holder> {
        self.leases.iter().map(move |(realm, lease)| {
            let held = lease.holder(now_ms);
            Holder {
                realm: realm.clone(),
                node: held.map(|held| held.by),
                epoch: lease.epoch,
                deadline_ms: held.map(|held| held.deadline_ms),
            }
        })
    }
}

impl fmt::Display for Realm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mesh => f.pad("mesh"),
            Self::Namespace(name) => write!(f, "namespace {name}"),
            Self::Scope(scope) => scope.fmt(f),
        }
    }
}
