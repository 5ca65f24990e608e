//! Roles: what somebody is in a mesh, as of a time. They follow from the chain and are written down nowhere (L1).
//!
//! ```text
//!  owner        the owner's key itself, or who has (Mesh, Write) from it at first hand
//!  coordinator  whom the owner's newest designation names, while its chain holds
//!  worker       who may (Job, Claim) work of some kind
//!  peer         who is none of these
//! ```
//!
//! The tempting wrong answer makes an owner of everybody with `(Mesh, Write)`: then an owner who hands that on has made
//! another owner who can do the same. Here it ends with the first hand.

use super::{
    chain::Authority,
    error::Refusal,
    resource::{Action, Resource},
    revoke::Revocations,
};
use relaymesh_bus::sign::PublicKey;
use relaymesh_core::hlc::Hlc;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// What somebody is in a mesh.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Says who coordinates and where work goes.
    Owner,
    /// Says what follows from the log.
    Coordinator,
    /// Takes work.
    Worker,
    /// Receives the log.
    Peer,
}

/// The roles of whoever has the owner's key itself.
pub fn roles_of_root(root: PublicKey, coordinator: Option<PublicKey>) -> BTreeSet<Role> {
    let mut roles = BTreeSet::from([Role::Owner, Role::Worker]);
    roles.extend((coordinator == Some(root)).then_some(Role::Coordinator));
    roles
}

impl Authority {
    /// The roles of whoever has this chain. `coordinator` is whom the designation in force at `at` names. With a chain that
    /// does not hold nobody is anything, not even a peer.
    pub fn roles(
        &self,
        revoked: &Revocations,
        coordinator: Option<PublicKey>,
        at: Hlc,
    ) -> Result<BTreeSet<Role>, Refusal> {
        self.holds(revoked, at)?;
        let grants = |resource: Resource, action: Action| {
            self.grants().iter().any(|att| att.action == action && att.resource.covers(resource))
        };
        let mut roles = BTreeSet::new();
        roles.extend(self.is_owner().then_some(Role::Owner));
        roles.extend((coordinator == Some(self.holder())).then_some(Role::Coordinator));
        roles.extend(grants(Resource::Job, Action::Claim).then_some(Role::Worker));
        if roles.is_empty() {
            roles.insert(Role::Peer);
        }
        Ok(roles)
    }

    /// Whether whoever has this chain may do what is for the owner alone: route kinds, designate the coordinator.
    pub fn admit_owner(&self, revoked: &Revocations, at: Hlc) -> Result<(), Refusal> {
        self.holds(revoked, at)?;
        if self.is_owner() { Ok(()) } else { Err(Refusal::OwnerOnly) }
    }

    fn is_owner(&self) -> bool {
        let mesh = |att: &super::Att| att.action == Action::Write && att.resource.covers(Resource::Mesh);
        let whole = |att: &&super::Att| mesh(att) && att.caveats == super::Caveats::default();
        self.is_first_hand() && self.grants().iter().any(|att| whole(&att))
    }
}
